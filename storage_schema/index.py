"""Indexes as a transaction sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from storage_schema.conversions import to_text
from storage_schema.errors import ConstraintError
from storage_schema.index_records import IndexRecords, primary_keys, split
from storage_schema.key_paths import KeyPath
from storage_schema.ordered import Ordered
from storage_schema.source import Source
from storage_schema.store_records import StoreRecords

if TYPE_CHECKING:
    from storage_schema.object_store import ObjectStore


class Index(Source):
    """An index's handle in one transaction; see ``Source`` for what it can do."""

    __slots__ = ("_index", "_store")

    def __init__(self, store: ObjectStore, index: IndexRecords) -> None:
        super().__init__(store.transaction)
        self._store = store
        self._index = index

    @property
    def records(self) -> StoreRecords:
        """The records that the entries lead to. For the model alone."""
        return self._store.records

    @property
    def store(self) -> ObjectStore:
        """The store that the index belongs to."""
        return self._store

    @property
    def entries(self) -> Ordered:
        """The entries in order. For the model alone."""
        return self._index.entries

    @property
    def is_deleted(self) -> bool:
        """Whether the index or its store is gone."""
        return self._index.is_deleted or self._store.is_deleted

    def split(self, entry: bytes) -> tuple[bytes, bytes]:
        """The encoded key and primary key of an entry. For the model alone."""
        return split(entry)

    def primary_keys(self, entries: list[bytes]) -> list[bytes]:
        """The encoded primary keys of entries. For the model alone."""
        return primary_keys(entries)

    @property
    def _names(self) -> tuple[str, str | None]:
        return self._store.name, self._index.name

    @property
    def key_path(self) -> KeyPath:
        """The key path: a text, or several."""
        return self._index.key_path

    @property
    def unique(self) -> bool:
        """Whether no two records may share a key here."""
        return self._index.unique

    @property
    def multi_entry(self) -> bool:
        """Whether an array gives an entry for each member."""
        return self._index.multi_entry

    @property
    def name(self) -> str:
        """The name. Setting it in an upgrade renames the index."""
        return self._index.name

    @name.setter
    def name(self, name: object) -> None:
        new, old = to_text(name), self._index.name
        self._store.check_upgrade()
        self.check()
        if new == old:
            return
        indexes, undo = self._store.records.indexes, self.transaction.undo
        if new in indexes:
            raise ConstraintError(f"{self._store.name!r} has an index {new!r} already")
        indexes[new] = indexes.pop(old)
        self._index.name = new
        undo.append((setattr, self._index, "name", old))
        undo.append((indexes.__setitem__, old, self._index))
        undo.append((indexes.pop, new))
