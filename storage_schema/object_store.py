"""Object stores as a transaction sees them: checks, and "store a record"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from storage_schema.clone import Stored, clone, take_in
from storage_schema.conversions import is_truthy, to_text
from storage_schema.errors import (
    ConstraintError,
    DataError,
    InvalidAccessError,
    InvalidStateError,
    NotFoundError,
    ReadOnlyError,
)
from storage_schema.index import Index
from storage_schema.index_records import IndexRecords
from storage_schema.key_decoding import decode
from storage_schema.key_paths import (
    KeyPath,
    can_inject,
    converted,
    evaluate,
    extract,
    inject,
    parse,
)
from storage_schema.key_ranges import Span, query_for
from storage_schema.keys import NEGATIVE, NUMBER, STRING, encode, plain_key
from storage_schema.names import in_order
from storage_schema.ordered import Ordered
from storage_schema.requests import KeyRequest, Request, SchemaRequest
from storage_schema.source import Source
from storage_schema.store_records import StoreRecords, UndoLog
from storage_schema.values import UNDEFINED, JsKey, JsValue, Undefined

if TYPE_CHECKING:
    from storage_schema.transaction import Transaction


Keyed: TypeAlias = Callable[..., JsKey]
Storing: TypeAlias = Callable[[bytes, Stored, UndoLog], bytes]


class ObjectStore(Source):
    """A store's handle in one transaction; see ``Source`` for what reads.

    What writes raises ``ReadOnlyError`` in a read-only transaction; what changes the
    schema raises ``InvalidStateError`` outside an upgrade.
    """

    __slots__ = ("_handles", "_records")

    def __init__(self, transaction: Transaction, records: StoreRecords) -> None:
        super().__init__(transaction)
        self._records = records
        self._handles: dict[IndexRecords, Index] = {}

    @property
    def records(self) -> StoreRecords:
        """The store's records. For the model alone."""
        return self._records

    @property
    def store(self) -> ObjectStore:
        """The store itself: what a cursor here writes to."""
        return self

    @property
    def entries(self) -> Ordered:
        """The encoded keys in order. For the model alone."""
        return self._records.keys

    @property
    def is_deleted(self) -> bool:
        """Whether the store is gone."""
        return self._records.is_deleted

    def split(self, entry: bytes) -> tuple[bytes, bytes]:
        """An entry is the primary key itself. For the model alone."""
        return entry, entry

    def primary_keys(self, entries: list[bytes]) -> list[bytes]:
        """An entry is the primary key itself. For the model alone."""
        return entries

    @property
    def _names(self) -> tuple[str, str | None]:
        return self._records.name, None

    @property
    def key_path(self) -> KeyPath | None:
        """The key path: a text, several, or None."""
        return self._records.key_path

    @property
    def auto_increment(self) -> bool:
        """Whether the store makes keys."""
        return self._records.generator is not None

    @property
    def index_names(self) -> tuple[str, ...]:
        """The names of the indexes, in order."""
        return in_order(self._records.indexes)

    @property
    def name(self) -> str:
        """The name. Setting it in an upgrade renames the store."""
        return self._records.name

    @name.setter
    def name(self, name: object) -> None:
        new, records = to_text(name), self._records
        self.check_upgrade()
        if new == records.name:
            return
        self.transaction.connection.database.rename_store(
            records, new, self.transaction.undo
        )

    def put(self, value: object, key: object = UNDEFINED) -> Request[JsKey]:
        """Store a value, in place of the one that is there; gives the key.

        Raises ``DataCloneError`` and, where the store's key rules are not met,
        ``DataError``. The request fails with ``ConstraintError``.
        """
        return self._write(value, key, self._records.put)

    def add(self, value: object, key: object = UNDEFINED) -> Request[JsKey]:
        """As ``put``, but a key that is taken fails with ``ConstraintError``."""
        return self._write(value, key, self._records.add)

    def delete(self, query: object) -> Request[Undefined]:
        """Delete the records that match a key or a range."""
        self.check_writable()
        start, stop, _ = query_for(query, required=True)
        return self._queue_delete((start, stop))

    def clear(self) -> Request[Undefined]:
        """Delete all records; the key generator goes on where it was."""
        self.check_writable()
        request = Request(self.transaction, self._clear)
        self.transaction.add(request)
        return request

    def index(self, name: object) -> Index:
        """The handle of an index; raises ``NotFoundError``."""
        text = to_text(name)
        if self.is_deleted or self.transaction.is_finished:
            raise InvalidStateError("the object store or its transaction is gone")
        records = self._records.indexes.get(text)
        if records is None:
            raise NotFoundError(f"{self.name!r} has no index {name!r}")
        handle = self._handles.get(records)
        if handle is None:
            handle = self._handles[records] = Index(self, records)
        return handle

    def create_index(
        self,
        name: object,
        key_path: object,
        unique: object = False,
        multi_entry: object = False,
    ) -> Index:
        """Make an index over what is and what will be stored. Upgrades only.

        Raises ``ConstraintError`` for a name that is taken, ``SyntaxError_`` for a bad
        key path, ``InvalidAccessError`` for a multi-entry index of several paths.
        Duplicates under a unique index abort the upgrade when it is filled.
        """
        text, given, records = to_text(name), converted(key_path), self._records
        self.check_upgrade()
        if text in records.indexes:
            raise ConstraintError(f"{self.name!r} has an index {text!r} already")
        path, several = parse(given), is_truthy(multi_entry)
        if several and isinstance(path, tuple):
            raise InvalidAccessError("a multi-entry index takes one key path")
        index = IndexRecords(
            text,
            path,
            unique=is_truthy(unique),
            multi_entry=several,
            made=records.key_path if self.auto_increment else None,
        )
        tx = self.transaction
        records.indexes[text] = index
        tx.undo.append((records.indexes.pop, text))
        tx.undo.append((setattr, index, "is_deleted", True))
        tx.add(SchemaRequest(tx, records.fill, index, tx.undo))
        return self.index(text)

    def delete_index(self, name: object) -> None:
        """Remove an index; raises ``NotFoundError``. Upgrades only."""
        text, records, tx = to_text(name), self._records, self.transaction
        self.check_upgrade()
        index = records.indexes.pop(text, None)
        if index is None:
            raise NotFoundError(f"{self.name!r} has no index {text!r}")
        index.is_deleted = True
        tx.undo.append((records.indexes.__setitem__, text, index))
        tx.undo.append((setattr, index, "is_deleted", False))
        tx.add(SchemaRequest(tx, self._drop_index, index))

    def check_writable(self) -> None:
        """Raises unless writes may be made here. For the model alone."""
        if self._records.is_deleted or self.transaction.state != "active":
            self.check()
        if self.transaction.mode == "readonly":
            raise ReadOnlyError("the transaction is read-only")

    def check_upgrade(self) -> None:
        """Raises unless the schema may be changed here. For the model alone."""
        if self.transaction.mode != "versionchange":
            raise InvalidStateError("the schema changes in an upgrade only")
        self.check()

    def put_at(self, key: bytes, value: object) -> Request[JsKey]:
        """The algorithm "update" of a cursor at this key. For the cursor alone."""
        stored = take_in(value)
        path = self._records.key_path
        if path is not None:
            if extract(stored[0], path) != key:
                raise DataError("the value at a cursor must keep its in-line key")
            stored = self._with_own_key(stored, key)
        return self._queue_put(key, stored, self._records.put)

    def delete_at(self, key: bytes) -> Request[Undefined]:
        """The algorithm "delete" of a cursor at this key. For the cursor alone."""
        return self._queue_delete((key, key + b"\xff"))

    def _write(self, value: object, key: object, work: Storing) -> Request[JsKey]:
        self.check_writable()
        stored = take_in(value)
        path = self._records.key_path
        encoded: bytes | None
        if path is None:
            encoded = self._key_beside(key)
        elif key is not UNDEFINED:
            raise DataError(f"{self.name!r} has its keys in line: give none")
        else:
            encoded = self._records.extract_key(stored[0])
            if encoded is None:
                self._check_generated(stored, path)
            elif self._records.generator is not None:
                stored = self._with_own_key(stored, encoded)
        return self._queue_put(encoded, stored, work)

    def _key_beside(self, key: object) -> bytes | None:
        """The out-of-line key, None if it is to be generated."""
        if key is not UNDEFINED:
            return encode(key)
        if self._records.generator is None:
            raise DataError(f"{self.name!r} has no key path: give a key")
        return None

    def _check_generated(self, stored: Stored, path: KeyPath) -> None:
        if self._records.generator is None or isinstance(path, tuple):
            raise DataError(f"the value has nothing under the key path {path!r}")
        if not can_inject(stored[0], path):
            raise DataError(f"no key can be put under {path!r} of this value")

    def _with_own_key(self, stored: Stored, key: bytes) -> Stored:
        """As in Chromium, a store with a generator keeps the key it understood."""
        path = self._records.key_path
        if self._records.generator is None or not isinstance(path, str):
            return stored
        if key[0] in (NEGATIVE, NUMBER, STRING):
            return stored
        return _injected(stored, path, plain_key(evaluate(stored[0], path)))

    def _queue_put(
        self, key: bytes | None, stored: Stored, work: Storing
    ) -> Request[JsKey]:
        tx = self.transaction
        if self._records.generator is None:
            request = KeyRequest(tx, cast("Keyed", work), key, stored, tx.undo)
        else:
            request = KeyRequest(tx, cast("Keyed", self._make), key, stored, work)
        tx.queue.append(request)
        return request

    def _make(self, key: bytes | None, stored: Stored, work: Storing) -> bytes:
        """Store into a store with a generator: make the key if there is none."""
        records, undo = self._records, self.transaction.undo
        generator = records.generator
        if key is None and generator is not None:
            number = generator.generate()
            key = encode(number)
            if isinstance(records.key_path, str):
                stored = _injected(stored, records.key_path, number)
        encoded = work(cast("bytes", key), stored, undo)
        records.follow(decode(encoded), undo)
        return encoded

    def _queue_delete(self, span: Span) -> Request[Undefined]:
        request = Request(self.transaction, self._delete, span)
        self.transaction.add(request)
        return request

    def _drop_index(self, index: IndexRecords) -> None:
        self._records.drop(index, self.transaction.undo)
        self.transaction.ran -= 1  # no cursor takes notice of this one

    def _delete(self, span: Span) -> Undefined:
        self._records.delete(span, self.transaction.undo)
        return UNDEFINED

    def _clear(self) -> Undefined:
        self._records.clear(self.transaction.undo)
        return UNDEFINED


def _injected(stored: Stored, path: str, key: JsValue) -> Stored:
    """A stored value with a key in it."""
    value, copier = stored
    whole = inject(value, path, key)
    if isinstance(whole, dict) and "." not in path:
        return whole, copier
    return whole, clone
