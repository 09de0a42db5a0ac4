"""What object stores and indexes have in common: "retrieval operations" and cursors.

Both are an ordered list of entries that lead to records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from storage_schema.conversions import enforce_range, to_text
from storage_schema.cursor import DIRECTIONS, Cursor
from storage_schema.errors import InvalidStateError, JsTypeError
from storage_schema.key_decoding import decode
from storage_schema.key_ranges import Query, query_for
from storage_schema.ordered import Ordered
from storage_schema.reads import Read
from storage_schema.requests import BulkRequest, Request
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

T = TypeVar("T")
_MOST: Final = 2**32 - 1
_NO_KEYS: Final = (dict, Map, Set, RegExp, Boxed, Function)


class Source(ABC):
    """A store's or an index's handle: everything that reads.

    Each method raises ``InvalidStateError`` if the thing was deleted,
    ``TransactionInactiveError`` if the transaction is over, and ``DataError`` for a
    query that is not a valid key or range. A query of None is everything, where
    allowed.
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
        return self._read(self._get, self._asked(query, required=True))

    def get_key(self, query: object) -> Request[JsKey | Undefined]:
        """The primary key of the first match, or UNDEFINED."""
        return self._read(self._get_key, self._asked(query, required=True))

    def get_all(
        self, query: object = None, count: object = None
    ) -> Request[list[JsValue]]:
        """The matching values in order, at most ``count``; 0 or None: no limit.

        A plain object in place of a key is read as ``{query, count, direction}``.
        """
        return self._read_all(self._get_all, self._selection(query, count))

    def get_all_keys(
        self, query: object = None, count: object = None
    ) -> Request[list[JsKey]]:
        """The primary keys of the matching records; see ``get_all``."""
        return self._read_all(self._get_all_keys, self._selection(query, count))

    def count(self, query: object = None) -> Request[int]:
        """How many entries match."""
        return self._read(self._count, self._asked(query))

    def open_cursor(
        self, query: object = None, direction: object = "next"
    ) -> Request[Cursor | None]:
        """A cursor at the first match, or None; ``JsTypeError`` for a direction."""
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
        self, operation: str, records: int, query: Query, limit: int | None = None
    ) -> None:
        """Tell of a read that ran. For the model alone."""
        if self._report is not None:
            store, index = self._names
            bounded = query.is_bounded
            self._report(Read(store, index, operation, bounded, limit, records))

    def _read(self, work: Callable[..., object], *arguments: object) -> Request[Any]:
        request: Request[Any] = Request(self.transaction, work, *arguments)
        self.transaction.add(request)
        return request

    def _read_all(
        self, work: Callable[[_Selection], list[T]], selection: _Selection
    ) -> Request[list[T]]:
        request = BulkRequest(self.transaction, work, selection)
        self.transaction.add(request)
        return request

    def _asked(self, query: object, *, required: bool = False) -> Query:
        self.check()
        return query_for(query, required=required)

    def _open(self, operation: str, query: object, direction: object) -> Request[Any]:
        way = _direction(direction)
        cursor = Cursor(self, self._asked(query), way, operation)
        return self._read(cursor.begin)

    def _selection(self, query: object, count: object) -> _Selection:
        direction: object = "next"
        if isinstance(query, _NO_KEYS):
            options = query if isinstance(query, dict) else {}
            direction = options.get("direction", UNDEFINED)
            direction = "next" if direction is UNDEFINED else direction
            query, count = options.get("query"), options.get("count")
        limit = None
        if count is not None and count is not UNDEFINED:
            limit = enforce_range(count, _MOST, "count") or None
        way = _direction(direction)
        return _Selection(self._asked(query), limit, way)

    def _get(self, query: Query) -> JsValue:
        entry = self.entries.first(query.start, query.stop)
        self.report("get", int(entry is not None), query)
        if entry is None:
            return UNDEFINED
        value, copier = self.records.records[self.split(entry)[1]]
        return copier(value)

    def _get_key(self, query: Query) -> JsKey | Undefined:
        entry = self.entries.first(query.start, query.stop)
        self.report("get_key", int(entry is not None), query)
        return UNDEFINED if entry is None else decode(self.split(entry)[1])

    def _select(self, operation: str, selection: _Selection) -> list[bytes]:
        """The encoded primary keys of what is asked for."""
        (start, stop, _), limit, direction = selection
        if direction == "next":
            entries = self.entries.between(start, stop, limit)
        else:
            entries = self.entries.between(start, stop)
            if direction.endswith("unique"):
                first = {self.split(entry)[0]: entry for entry in reversed(entries)}
                entries = sorted(first.values())
            if direction.startswith("prev"):
                entries.reverse()
            entries = entries[:limit]
        self.report(operation, len(entries), selection.query, limit)
        return self.primary_keys(entries)

    def _get_all(self, selection: _Selection) -> list[JsValue]:
        found = self._select("get_all", selection)
        stored = map(self.records.records.__getitem__, found)
        return [copier(value) for value, copier in stored]

    def _get_all_keys(self, selection: _Selection) -> list[JsKey]:
        return [decode(key) for key in self._select("get_all_keys", selection)]

    def _count(self, query: Query) -> int:
        self.report("count", 0, query)
        return self.entries.count(query.start, query.stop)


class _Selection(NamedTuple):
    query: Query
    limit: int | None
    direction: str


def _direction(direction: object) -> str:
    way = to_text(direction)
    if way not in DIRECTIONS:
        raise JsTypeError(f"{way!r} is no direction; use one of {DIRECTIONS}")
    return way
