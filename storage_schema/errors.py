"""The errors of the model, in one tree.

``DomError`` and the classes below it are the DOMExceptions of IndexedDB, told apart by
``name`` as JavaScript does. The rest are the model's own: a program that meets
one of those asked for something that a browser would have made it wait for.
"""

from __future__ import annotations

from typing import ClassVar


class StorageModelError(Exception):
    """Anything that the model raises."""

    name: ClassVar[str] = "StorageModelError"


class DomError(StorageModelError):
    """A DOMException: ``name`` is the one that JavaScript would see."""

    name: ClassVar[str] = "Error"


class DataError(DomError):
    """A key or key range is not valid, or not allowed here."""

    name = "DataError"


class ConstraintError(DomError):
    """A key or a unique index value is taken, or the key generator is spent."""

    name = "ConstraintError"


class NotFoundError(DomError):
    """There is no object store or index of that name in reach."""

    name = "NotFoundError"


class InvalidStateError(DomError):
    """The object is closed, deleted, finished or between two positions."""

    name = "InvalidStateError"


class InvalidAccessError(DomError):
    """The call makes no sense for these arguments."""

    name = "InvalidAccessError"


class ReadOnlyError(DomError):
    """A write was tried in a read-only transaction."""

    name = "ReadOnlyError"


class TransactionInactiveError(DomError):
    """The transaction takes no more requests."""

    name = "TransactionInactiveError"


class VersionError(DomError):
    """The database is newer than the version that was asked for."""

    name = "VersionError"


class AbortError(DomError):
    """The transaction was aborted; ``__cause__`` says why where that is known."""

    name = "AbortError"


class DataCloneError(DomError):
    """The value cannot be cloned, so it cannot be stored."""

    name = "DataCloneError"


class QuotaExceededError(DomError):
    """There is no room left for this origin."""

    name = "QuotaExceededError"


class UnknownError(DomError):
    """The browser failed for a reason of its own."""

    name = "UnknownError"


class SyntaxError_(DomError):  # noqa: N801, N818 - Python has its own
    """A key path is not one."""

    name = "SyntaxError"


class JsTypeError(StorageModelError):
    """JavaScript's TypeError: an argument could not be converted."""

    name = "TypeError"


class StillBlockedError(StorageModelError):
    """The open or delete request still waits for other connections to close."""

    name = "StillBlockedError"


class StillWaitingError(StorageModelError):
    """The transaction still waits for an earlier one with overlapping scope."""

    name = "StillWaitingError"


class FormatError(StorageModelError):
    """A script or a tagged value is not in the format that the model knows."""

    name = "FormatError"
