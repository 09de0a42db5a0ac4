"""Pictures of a database: all that it holds, comparable and printable.

A picture reads what is stored at that moment without making requests: nobody who counts
reads hears of it, and what open transactions have changed so far is in it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from storage_schema.connection import Connection
from storage_schema.errors import NotFoundError
from storage_schema.factory import Factory
from storage_schema.index_records import IndexRecords, split
from storage_schema.key_decoding import decode
from storage_schema.key_paths import KeyPath
from storage_schema.names import in_order
from storage_schema.shape_difference import Lines, compare_entries, compare_records
from storage_schema.store_records import StoreRecords
from storage_schema.tagged import form_of
from storage_schema.values import JsKey, JsValue


@dataclass(frozen=True, slots=True)
class IndexShape:
    """An index: its definition and its entries in order."""

    name: str
    key_path: KeyPath
    unique: bool
    multi_entry: bool
    entries: tuple[tuple[JsKey, JsKey], ...]


@dataclass(frozen=True, slots=True)
class StoreShape:
    """An object store: its definition, its records in order, its indexes by name.

    ``next_key`` is the key that the generator would give now, None without a generator.
    """

    name: str
    key_path: KeyPath | None
    auto_increment: bool
    records: tuple[tuple[JsKey, JsValue], ...]
    indexes: tuple[IndexShape, ...]
    next_key: int | None

    def record(self, key: object) -> JsValue:
        """The value under a key; raises KeyError if there is none."""
        wanted = form_of(key)
        for known, value in self.records:
            if form_of(known) == wanted:
                return value
        raise KeyError(key)

    def index(self, name: str) -> IndexShape:
        """An index by name; raises KeyError."""
        return {index.name: index for index in self.indexes}[name]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A database at one moment. Two are equal when ``difference`` finds nothing."""

    version: int
    stores: tuple[StoreShape, ...]

    def store(self, name: str) -> StoreShape:
        """A store by name; raises KeyError."""
        return {store.name: store for store in self.stores}[name]

    __hash__ = object.__hash__  # by identity: what it holds can be changed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape):
            return NotImplemented
        return difference(self, other) is None

    def __str__(self) -> str:
        lines = [f"version {self.version}"]
        for store in self.stores:
            lines.append(
                f"store {store.name!r}: key path {store.key_path!r}, "
                f"generator {store.next_key or 'none'}, {len(store.records)} records"
            )
            lines += [f"  {_line(key)}: {_line(value)}" for key, value in store.records]
            for index in store.indexes:
                lines.append(
                    f"  index {index.name!r}: key path {index.key_path!r}, "
                    f"unique {index.unique}, multi-entry {index.multi_entry}"
                )
                lines += [f"    {_line(key)} -> {_line(p)}" for key, p in index.entries]
        return "\n".join(lines)


def picture(source: Connection | Factory, name: str | None = None) -> Shape:
    """The picture of a connection's database, or of a factory's by name.

    Raises ``NotFoundError`` if the factory has no such database.
    """
    if isinstance(source, Connection):
        database = source.database
    else:
        found = source.database(name or "")
        if found is None:
            raise NotFoundError(f"there is no database {name!r}")
        database = found
    stores = (_store(database.stores[name]) for name in in_order(database.stores))
    return Shape(database.version, tuple(stores))


def difference(expected: Shape, found: Shape) -> str | None:
    """What differs, a line each (the first ones), or None if nothing does."""
    lines = Lines()
    lines.compare("version", expected.version, found.version)
    pairs = lines.pairs(
        "store",
        {store.name: store for store in expected.stores},
        {store.name: store for store in found.stores},
    )
    for name, one, other in pairs:
        place = f"store {name!r}"
        lines.compare(f"{place}: key path", one.key_path, other.key_path)
        lines.compare(f"{place}: next key", one.next_key, other.next_key)
        compare_records(lines, place, one.records, other.records)
        _compare_indexes(lines, place, one, other)
    return lines.text()


def _compare_indexes(
    lines: Lines, place: str, expected: StoreShape, found: StoreShape
) -> None:
    pairs = lines.pairs(
        f"{place}: index",
        {index.name: index for index in expected.indexes},
        {index.name: index for index in found.indexes},
    )
    for name, one, other in pairs:
        inside = f"{place}, index {name!r}"
        lines.compare(f"{inside}: key path", one.key_path, other.key_path)
        lines.compare(f"{inside}: unique", one.unique, other.unique)
        lines.compare(f"{inside}: multi-entry", one.multi_entry, other.multi_entry)
        compare_entries(lines, inside, one.entries, other.entries)


def _store(records: StoreRecords) -> StoreShape:
    generator = records.generator
    values = ((key, records.records[key]) for key in records.keys)
    return StoreShape(
        name=records.name,
        key_path=records.key_path,
        auto_increment=generator is not None,
        records=tuple((decode(key), copier(value)) for key, (value, copier) in values),
        indexes=tuple(
            _index(records.indexes[name]) for name in in_order(records.indexes)
        ),
        next_key=None if generator is None else generator.current,
    )


def _index(index: IndexRecords) -> IndexShape:
    pairs = (split(entry) for entry in index.entries)
    return IndexShape(
        name=index.name,
        key_path=index.key_path,
        unique=index.unique,
        multi_entry=index.multi_entry,
        entries=tuple((decode(key), decode(primary)) for key, primary in pairs),
    )


def _line(value: object) -> str:
    return json.dumps(form_of(value))
