"""IndexedDB as a pure model: one algorithm of the W3C text a file.

Synchronous and deterministic, standard library only: no clock, no thread, no I/O. It
behaves as Chromium does.
"""

from storage_schema.connection import Connection
from storage_schema.cursor import Cursor
from storage_schema.errors import (
    AbortError,
    ConstraintError,
    DataCloneError,
    DataError,
    DomError,
    FormatError,
    InvalidAccessError,
    InvalidStateError,
    JsTypeError,
    NotFoundError,
    QuotaExceededError,
    ReadOnlyError,
    StillBlockedError,
    StillWaitingError,
    StorageModelError,
    SyntaxError_,
    TransactionInactiveError,
    UnknownError,
    VersionError,
)
from storage_schema.factory import Factory
from storage_schema.index import Index
from storage_schema.key_ranges import KeyRange
from storage_schema.keys import compare
from storage_schema.object_store import ObjectStore
from storage_schema.opening import OpenRequest
from storage_schema.reads import Read
from storage_schema.requests import Request
from storage_schema.shape import IndexShape, Shape, StoreShape, difference, picture
from storage_schema.transaction import Transaction
from storage_schema.values import (
    UNDEFINED,
    Array,
    BigInt,
    Binary,
    Boxed,
    Date,
    Detached,
    Function,
    JsKey,
    JsValue,
    Map,
    RegExp,
    Set,
    Symbol,
    Undefined,
)

__all__ = [
    "UNDEFINED",
    "AbortError",
    "Array",
    "BigInt",
    "Binary",
    "Boxed",
    "Connection",
    "ConstraintError",
    "Cursor",
    "DataCloneError",
    "DataError",
    "Date",
    "Detached",
    "DomError",
    "Factory",
    "FormatError",
    "Function",
    "Index",
    "IndexShape",
    "InvalidAccessError",
    "InvalidStateError",
    "JsKey",
    "JsTypeError",
    "JsValue",
    "KeyRange",
    "Map",
    "NotFoundError",
    "ObjectStore",
    "OpenRequest",
    "QuotaExceededError",
    "Read",
    "ReadOnlyError",
    "RegExp",
    "Request",
    "Set",
    "Shape",
    "StillBlockedError",
    "StillWaitingError",
    "StorageModelError",
    "StoreShape",
    "Symbol",
    "SyntaxError_",
    "Transaction",
    "TransactionInactiveError",
    "Undefined",
    "UnknownError",
    "VersionError",
    "compare",
    "difference",
    "picture",
]
