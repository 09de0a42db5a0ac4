"""Open and delete requests as a program holds them."""

from __future__ import annotations

from typing import Generic, Literal, TypeAlias, TypeVar

from storage_schema.errors import DomError, StillBlockedError

T = TypeVar("T")
OpenState: TypeAlias = Literal["pending", "blocked", "done", "failed"]


class OpenRequest(Generic[T]):
    """A request to open or delete a database.

    "pending" while others of the same database come first, "blocked" while other
    connections are open, then "done" or "failed". It goes on by itself.
    """

    __slots__ = ("_outcome", "name", "opens", "state")

    def __init__(self, name: str, *, opens: bool = False) -> None:
        self.name = name
        self.opens = opens
        self.state: OpenState = "pending"
        self._outcome: T | DomError | None = None

    @property
    def result(self) -> T:
        """The connection, or the deleted database's old version.

        Raises ``VersionError``, ``AbortError`` (its cause says what made the upgrade
        fail), and ``StillBlockedError`` while it waits.
        """
        if isinstance(self._outcome, DomError):
            raise self._outcome
        if self._outcome is None:
            raise StillBlockedError(
                f"{self.name!r} is {self.state}: other connections have to close first"
            )
        return self._outcome

    @property
    def error(self) -> DomError | None:
        """What made it fail."""
        return self._outcome if isinstance(self._outcome, DomError) else None

    def succeed(self, result: T) -> None:
        """For ``Factory`` alone."""
        self._outcome, self.state = result, "done"

    def fail(self, error: DomError) -> None:
        """For ``Factory`` alone."""
        self._outcome, self.state = error, "failed"
