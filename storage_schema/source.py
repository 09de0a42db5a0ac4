"""What object stores and indexes have in common: "retrieval operations" and cursors.

Both are an ordered list of entries that lead to records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from storage_schema.conversions import enforce_range, to_text
from storage_schema.cursor import DIRECTIONS, Cursor
from storage_schema.errors import InvalidStateError, JsTypeError
from storage_schema.key_decoding import decode
from storage_schema.key_ranges import Span, span_of
from storage_schema.ordered import Ordered
from storage_schema.reads import Read
from storage_schema.requests import Request
from storage_schema.store_records import StoreRecords
from storage_schema.values import (
    UNDEFINED,
    Boxed,
    Function,
    JsKey,
    JsValue,
    Map,
    RegExp,
    Set,
    Undefined,
)

if TYPE_CHECKING:
    from storage_schema.object_store import ObjectStore
    from storage_schema.transaction import Transaction

_MOST: Final = 2**32 - 1
_NO_KEYS: Final = (dict, Map, Set, RegExp, Boxed, Function)


class Source(ABC):
    """A store's or an index's handle: everything that reads.

    Each method raises ``InvalidStateError`` if the thing was deleted,
    ``TransactionInactiveError`` if the transaction is over, and ``DataError`` for a
    query that is not a valid key or range. A query of None is everything, where allowed.
    """

    __slots__ = ("_report", "transaction")

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self._report = transaction.connection.database.hooks.on_read

    @property
    @abstractmethod
    def records(self) -> StoreRecords:
        """The store that the entries lead into. For the model alone."""

    @property
    @abstractmethod
    def entries(self) -> Ordered:
        """The entries in order. For the model alone."""

    @property
    @abstractmethod
    def is_deleted(self) -> bool:
        """Whether the store or the index is gone."""

    @property
    @abstractmethod
    def store(self) -> ObjectStore:
        """The store that a cursor here writes to."""

    @property
    def is_index(self) -> bool:
        """Whether this is an index."""
        return self.store is not self

    @abstractmethod
    def split(self, entry: bytes) -> tuple[bytes, bytes]:
        """The encoded key and primary key of an entry. For the model alone."""

    @abstractmethod
    def primary_keys(self, entries: list[bytes]) -> list[bytes]:
        """The encoded primary keys of entries. For the model alone."""

    @property
    @abstractmethod
    def _names(self) -> tuple[str, str | None]:
        """The names of the store and, in an index, of the index."""

    def get(self, query: object) -> Request[JsValue]:
        """The first matching value, or UNDEFINED."""
        return self._read(self._get, *self._span(query, required=True))

    def get_key(self, query: object) -> Request[JsKey | Undefined]:
        """The primary key of the first match, or UNDEFINED."""
        return self._read(self._get_key, *self._span(query, required=True))

    def get_all(self, query: object = None, count: object = None) -> Request[list[Any]]:
        """The matching values in order, at most ``count``; 0 or None: no limit.

        A plain object in place of a key is read as ``{query, count, direction}``.
        """
        return self._read(self._get_all, *self._selection(query, count))

    def get_all_keys(
        self, query: object = None, count: object = None
    ) -> Request[list[JsKey]]:
        """The primary keys of the matching records; see ``get_all``."""
        return self._read(self._get_all_keys, *self._selection(query, count))

    def count(self, query: object = None) -> Request[int]:
        """How many entries match."""
        return self._read(self._count, *self._span(query))

    def open_cursor(
        self, query: object = None, direction: object = "next"
    ) -> Request[Cursor | None]:
        """A cursor at the first match, or None; raises ``JsTypeError`` for a direction."""
        return self._open("open_cursor", query, direction)

    def open_key_cursor(
        self, query: object = None, direction: object = "next"
    ) -> Request[Cursor | None]:
        """As ``open_cursor``, but the cursor has no values."""
        return self._open("open_key_cursor", query, direction)

    def walk(
        self, query: object = None, direction: object = "next"
    ) -> Iterator[Cursor]:
        """All positions of a cursor; it continues by itself where the loop did not."""
        cursor = self.open_cursor(query, direction).result
        while cursor is not None:
            yield cursor
            cursor = cursor.next_for_walk()

    def check(self) -> None:
        """Raises unless requests may be made here. For the model alone."""
        if self.is_deleted:
            raise InvalidStateError("the object store or index was deleted")
        self.transaction.check_active()

    def report(
        self, operation: str, records: int, *, bounded: bool, limit: int | None = None
    ) -> None:
        """Tell of a read that ran. For the model alone."""
        if self._report is not None:
            store, index = self._names
            self._report(Read(store, index, operation, bounded, limit, records))

    def _read(self, work: Callable[..., object], *arguments: object) -> Request[Any]:
        request: Request[Any] = Request(self.transaction, work, *arguments)
        self.transaction.add(request)
        return request

    def _span(self, query: object, *, required: bool = False) -> tuple[Span, bool]:
        self.check()
        return span_of(query, required=required)

    def _open(self, operation: str, query: object, direction: object) -> Request[Any]:
        way = to_text(direction)
        if way not in DIRECTIONS:
            raise JsTypeError(f"{way!r} is no direction; use one of {DIRECTIONS}")
        span, bounded = self._span(query)
        cursor = Cursor(self, span, way, operation, is_bounded=bounded)
        return self._read(cursor.begin)

    def _selection(
        self, query: object, count: object
    ) -> tuple[Span, bool, int | None, str]:
        direction: object = "next"
        if isinstance(query, _NO_KEYS):
            options = query if isinstance(query, dict) else {}
            direction = options.get("direction", "next")
            query, count = options.get("query"), options.get("count")
        limit = None
        if count is not None and count is not UNDEFINED:
            limit = enforce_range(count, _MOST, "count") or None
        way = to_text(direction)
        if way not in DIRECTIONS:
            raise JsTypeError(f"{way!r} is no direction; use one of {DIRECTIONS}")
        return (*self._span(query), limit, way)

    def _get(self, span: Span, bounded: bool) -> JsValue:
        entry = self.entries.first(*span)
        self.report("get", int(entry is not None), bounded=bounded)
        if entry is None:
            return UNDEFINED
        value, copier = self.records.records[self.split(entry)[1]]
        return copier(value)

    def _get_key(self, span: Span, bounded: bool) -> JsKey | Undefined:
        entry = self.entries.first(*span)
        self.report("get_key", int(entry is not None), bounded=bounded)
        return UNDEFINED if entry is None else decode(self.split(entry)[1])

    def _select(self, span: Span, limit: int | None, direction: str) -> list[bytes]:
        if direction == "next":
            return self.primary_keys(self.entries.between(*span, limit))
        entries = self.entries.between(*span)
        if direction.endswith("unique"):
            first_of = {self.split(entry)[0]: entry for entry in reversed(entries)}
            entries = sorted(first_of.values())
        if direction.startswith("prev"):
            entries.reverse()
        return self.primary_keys(entries[:limit])

    def _get_all(
        self,
        span: Span,
        bounded: bool,
        limit: int | None,
        direction: str,
    ) -> list[JsValue]:
        records = self.records.records
        found = self._select(span, limit, direction)
        self.report("get_all", len(found), bounded=bounded, limit=limit)
        return [copier(value) for value, copier in map(records.__getitem__, found)]

    def _get_all_keys(
        self,
        span: Span,
        bounded: bool,
        limit: int | None,
        direction: str,
    ) -> list[JsKey]:
        found = self._select(span, limit, direction)
        self.report("get_all_keys", len(found), bounded=bounded, limit=limit)
        return [decode(key) for key in found]

    def _count(self, span: Span, bounded: bool) -> int:
        self.report("count", 0, bounded=bounded)
        return self.entries.count(*span)
