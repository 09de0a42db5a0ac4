"""Requests: "asynchronously execute a request", driven by who asks for results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from storage_schema.errors import DomError
from storage_schema.key_decoding import decode
from storage_schema.values import JsKey

if TYPE_CHECKING:
    from storage_schema.transaction import Transaction

T = TypeVar("T")

PENDING, DONE, FAILED = range(3)
_NOTHING: Final = cast("Any", None)


class Request(Generic[T]):
    """One operation of a transaction. It runs when its turn comes: see ``result``."""

    __slots__ = (
        "_arguments",
        "_value",
        "_work",
        "error",
        "is_prevented",
        "state",
        "tx",
    )

    def __init__(
        self, tx: Transaction, work: Callable[..., T], *arguments: object
    ) -> None:
        self.tx = tx
        self.state = PENDING
        self.error: DomError | None = None
        self.is_prevented = False
        self._work = work
        self._arguments = arguments
        self._value: T = _NOTHING

    def run(self) -> DomError | None:
        """Do the operation; gives what made it fail. For the transaction alone."""
        try:
            self._value = self._work(*self._arguments)
        except DomError as error:
            self.fail(error)
            return error
        self.state = DONE
        return None

    def fail(self, error: DomError) -> None:
        """The request ends with this error. For the transaction alone."""
        self.error = error
        self.state = FAILED

    def prevent_default(self) -> Request[T]:
        """If this request fails, the transaction lives on; gives the request back."""
        self.is_prevented = True
        return self

    @property
    def result(self) -> T:
        """What the operation gives: runs the transaction up to it.

        Raises the operation's ``DomError`` (and unless prevented the transaction
        aborts), ``AbortError`` if the transaction aborted before it,
        ``StillWaitingError`` if the transaction may not start yet.
        """
        return self._ended()

    @property
    def caught(self) -> DomError | None:
        """The operation's error or None; its failing does not abort the transaction."""
        if self.state == PENDING:
            self.is_prevented = True
            self.tx.run_to(self)
        return self.error

    def _ended(self) -> T:
        if self.state == PENDING:
            self.tx.run_to(self)
        if self.error is not None:
            raise self.error
        return self._value


class SchemaRequest(Request[None]):
    """A request that nobody holds: filling or dropping an index."""

    __slots__ = ()


class BulkRequest(Request[T]):
    """A ``get_all`` or ``get_all_keys``."""

    __slots__ = ()


class KeyRequest(Request[JsKey]):
    """A request that gives a key; its work gives the encoded one, decoded if asked."""

    __slots__ = ()

    @property
    def result(self) -> JsKey:
        """The key; see ``Request.result``."""
        return decode(cast("bytes", self._ended()))
