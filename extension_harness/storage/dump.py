"""A database as data: what a reading gives, and what a build is given.

Keys and values are JSON. What JSON lacks is an object with ``$`` names:

| JavaScript | here |
|---|---|
| undefined | ``{"$undefined": true}`` |
| NaN, ±Infinity, -0 (a key is never -0) | ``{"$number": "NaN"}`` |
| BigInt | ``{"$bigint": "10"}`` |
| Date | ``{"$date": ms}`` |
| ArrayBuffer; a view of one | ``{"$bytes": hex}``; with ``"$view": "Uint8Array"`` |
| Map, Set | ``{"$map": [[key, value]]}``, ``{"$set": [value]}`` |
| RegExp | ``{"$regexp": source, "$flags": "gi"}`` |
| an array with holes or names | ``{"$array": length, "$own": [[name, value]]}`` |
| an object that has names with ``$`` | ``{"$object": [[name, value]]}`` |
| anything else (read only) | ``{"$other": kind}`` |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from extension_harness.errors import StorageAccessError

KeyPath = str | tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """One record: its primary key and its value."""

    key: Any
    value: Any


@dataclass(frozen=True)
class IndexEntry:
    """One entry of an index: its key and the primary key that it leads to."""

    key: Any
    primary_key: Any


@dataclass(frozen=True)
class Index:
    """An index of an object store; entries in order, where they were asked for."""

    name: str
    key_path: KeyPath
    unique: bool = False
    multi_entry: bool = False
    entries: tuple[IndexEntry, ...] = ()


@dataclass(frozen=True)
class ObjectStore:
    """An object store: its shape and its records in key order."""

    name: str
    key_path: KeyPath | None
    auto_increment: bool = False
    indexes: tuple[Index, ...] = ()
    records: tuple[Record, ...] = ()

    def values(self) -> tuple[Any, ...]:
        """The records' values, in key order."""
        return tuple(record.value for record in self.records)

    def index(self, name: str) -> Index:
        """The index of this name. Raises StorageAccessError when there is none."""
        for index in self.indexes:
            if index.name == name:
                return index
        there = ", ".join(index.name for index in self.indexes) or "none"
        raise StorageAccessError(
            f"store {self.name} has no index {name}; it has: {there}"
        )


@dataclass(frozen=True)
class DatabaseDump:
    """A database as one moment had it, or the statement that there is none.

    Each store is read in one transaction per chunk: dump a database that rests, or take
    the picture of each store for itself.
    """

    name: str
    present: bool
    version: int
    stores: Mapping[str, ObjectStore]

    def records(self, store: str) -> tuple[Any, ...]:
        """The values of a store; raises StorageAccessError when it is not there."""
        if store not in self.stores:
            there = ", ".join(self.stores) or (
                "none" if self.present else "no database"
            )
            raise StorageAccessError(
                f"database {self.name} has no store {store}; it has: {there}"
            )
        return self.stores[store].values()


@dataclass(frozen=True)
class IndexDigest:
    """All of an index in two words: how many entries, and a digest over them."""

    count: int
    digest: str


@dataclass(frozen=True)
class StoreDigests:
    """A store by digests: 128 bits of SHA-256 over each record's canonical text.

    Equal records have equal digests in every database, whatever the order of their
    properties.

    Attributes:
        records: The digest of each record, by its key as JSON text.
        indexes: Of each index, by name.
    """

    records: Mapping[str, str]
    indexes: Mapping[str, IndexDigest]
