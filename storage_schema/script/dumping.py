"""The dump: a picture of a database in the words of the script format."""

from __future__ import annotations

from storage_schema.connection import Connection
from storage_schema.key_generator import LIMIT
from storage_schema.key_paths import KeyPath
from storage_schema.shape import IndexShape, StoreShape, picture
from storage_schema.tagged import Json, Tagged, form_of, text_form


def dump_of(connection: Connection | None, *, final: bool) -> Json:
    """The dump over a connection; the ``final`` one tells of the key generators too."""
    if connection is None:
        return None
    shape = picture(connection)
    stores = [_store(store, final=final) for store in shape.stores]
    return {"version": shape.version, "stores": stores}


def _store(store: StoreShape, *, final: bool) -> Tagged:
    dump: Tagged = {
        "name": text_form(store.name),
        "keyPath": _path(store.key_path),
        "autoIncrement": store.auto_increment,
        "records": [[form_of(key), form_of(value)] for key, value in store.records],
        "indexes": [_index(index) for index in store.indexes],
    }
    if final and store.next_key is not None:
        dump["next"] = store.next_key if store.next_key <= LIMIT else None
    return dump


def _index(index: IndexShape) -> Tagged:
    return {
        "name": text_form(index.name),
        "keyPath": _path(index.key_path),
        "unique": index.unique,
        "multiEntry": index.multi_entry,
        "entries": [[form_of(key), form_of(primary)] for key, primary in index.entries],
    }


def _path(path: KeyPath | None) -> Json:
    if path is None or isinstance(path, str):
        return form_of(path)
    return [text_form(part) for part in path]
