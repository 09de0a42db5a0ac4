"""The same old databases in the model of IndexedDB, and its picture in equal words."""

from __future__ import annotations

from e2e.old_databases.values import from_model, key_from_model, to_model
from extension_harness.storage import (
    DatabaseDump,
    Index,
    IndexEntry,
    ObjectStore,
    Record,
)
from storage_schema import Connection, Factory, Transaction
from storage_schema import Index as ModelIndex
from storage_schema import ObjectStore as ModelStore


def build_in_model(factory: Factory, database: DatabaseDump) -> None:
    """Make the database in the model, as the harness does in a browser."""

    def make(connection: Connection, _: Transaction, __: int, ___: int) -> None:
        for store in database.stores.values():
            made = connection.create_object_store(
                store.name, _path(store.key_path), store.auto_increment
            )
            for index in store.indexes:
                made.create_index(
                    index.name, _path(index.key_path), index.unique, index.multi_entry
                )

    connection = factory.open(database.name, database.version, upgrade=make).result
    for store in database.stores.values():
        with connection.transaction([store.name], "readwrite") as transaction:
            opened = transaction.object_store(store.name)
            for record in store.records:
                value = to_model(record.value)
                if store.key_path is None:
                    opened.put(value, to_model(record.key))
                else:
                    opened.put(value)
    connection.close()


def model_dump(connection: Connection) -> DatabaseDump:
    """The whole of an open database with what each index holds."""
    stores = {}
    for name in connection.object_store_names:
        with connection.transaction([name]) as transaction:
            stores[name] = _store(transaction.object_store(name))
    return DatabaseDump(
        connection.name, present=True, version=connection.version, stores=stores
    )


def _store(store: ModelStore) -> ObjectStore:
    keys, values = store.get_all_keys().result, store.get_all().result
    return ObjectStore(
        name=str(store.name),
        key_path=_told(store.key_path),
        auto_increment=store.auto_increment,
        indexes=tuple(_index(store.index(name)) for name in store.index_names),
        records=tuple(
            Record(key_from_model(key), from_model(value))
            for key, value in zip(keys, values, strict=True)
        ),
    )


def _index(index: ModelIndex) -> Index:
    entries = []
    cursor = index.open_key_cursor().result
    while cursor is not None:
        key, primary_key = cursor.key, cursor.primary_key
        entries.append(IndexEntry(key_from_model(key), key_from_model(primary_key)))
        cursor = cursor.continue_().result
    return Index(
        name=str(index.name),
        key_path=_told(index.key_path) or "",
        unique=index.unique,
        multi_entry=index.multi_entry,
        entries=tuple(entries),
    )


def _path(path: str | tuple[str, ...] | None) -> object:
    return list(path) if isinstance(path, tuple) else path


def _told(path: object) -> str | tuple[str, ...] | None:
    if path is None or isinstance(path, str):
        return path
    assert isinstance(path, list | tuple)
    return tuple(path)
