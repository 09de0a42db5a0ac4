"""The dump: all that a database holds, in the words of the script format."""

from __future__ import annotations

from storage_schema.connection import Connection
from storage_schema.key_decoding import decode
from storage_schema.key_generator import LIMIT
from storage_schema.key_paths import KeyPath
from storage_schema.object_store import ObjectStore
from storage_schema.script.reading import Json, Tagged
from storage_schema.script.writing import form_of, text_form


def dump_of(connection: Connection | None, *, final: bool) -> Json:
    """The dump over a connection; the ``final`` one tells of the key generators too."""
    if connection is None:
        return None
    dump: Tagged = {"version": connection.version, "stores": []}
    names = connection.object_store_names
    if names:
        with connection.transaction(names) as tx:
            dump["stores"] = [
                _store(tx.object_store(name), final=final) for name in names
            ]
    return dump


def _store(store: ObjectStore, *, final: bool) -> Tagged:
    dump: Tagged = {
        "name": text_form(store.name),
        "keyPath": _path(store.key_path),
        "autoIncrement": store.auto_increment,
        "records": [
            [form_of(key), form_of(value)]
            for key, value in zip(
                store.get_all_keys().result, store.get_all().result, strict=True
            )
        ],
        "indexes": [_index(store, name) for name in store.index_names],
    }
    generator = store.records.generator
    if final and generator is not None:
        current = generator.current
        dump["next"] = current if current <= LIMIT else None
    return dump


def _index(store: ObjectStore, name: str) -> Tagged:
    index = store.index(name)
    pairs = (index.split(entry) for entry in index.entries)
    return {
        "name": text_form(name),
        "keyPath": _path(index.key_path),
        "unique": index.unique,
        "multiEntry": index.multi_entry,
        "entries": [[form_of(decode(part)) for part in pair] for pair in pairs],
    }


def _path(path: KeyPath | None) -> Json:
    if path is None or isinstance(path, str):
        return form_of(path)
    return [text_form(part) for part in path]
