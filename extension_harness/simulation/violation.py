"""A broken promise: what was seen, and which promise it breaks."""

from __future__ import annotations

from typing import NoReturn


class Violation(Exception):  # noqa: N818 - the result of a history, not an error of it
    """A promise that was broken at some step of a history.

    `promise` is a stable name (docs/simulation.md lists them), `what` a sentence with
    ids and no contents.
    """

    def __init__(self, promise: str, what: str) -> None:
        super().__init__(f"{promise}: {what}")
        self.promise = promise
        self.what = what

    def __reduce__(self) -> tuple[type[Violation], tuple[str, str]]:
        """Be taken from one process to another as it is."""
        return (Violation, (self.promise, self.what))


def broken(promise: str, what: str) -> NoReturn:
    """Say that a promise is broken.

    Raises:
        Violation: always.
    """
    raise Violation(promise, what)
