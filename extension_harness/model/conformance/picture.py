"""What is on a disk, as JSON: to compare, and to make a disk of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from extension_harness.model.disk import Disk
from extension_harness.model.steps import Json, Value
from migrations.onetalk import open_store
from storage_schema import UNDEFINED, Connection
from storage_schema.onetalk.names import ALL_STORES, key_path_of

Picture: TypeAlias = Mapping[str, Iterable[Json]]
"""The records of each store."""


def picture(disk: Disk) -> Picture:
    """All that is on a disk."""
    return {store: disk.records(store) for store in ALL_STORES}


def restored(records: Picture) -> Disk:
    """A disk with these records."""
    disk = Disk()
    connection = open_store(disk.factory)
    stores = list(ALL_STORES)
    with connection.transaction(stores, "readwrite") as transaction:
        for store in stores:
            for record in records.get(store, ()):
                transaction.object_store(store).put(record)
    connection.close()
    return disk


def copy_of(disk: Disk) -> Disk:
    """Another disk with the same records."""
    return restored(picture(disk))


def twin_of(disk: Disk) -> Disk:
    """Another disk with the same records, and the same beside them."""
    twin = copy_of(disk)
    twin.local, twin.session = deepcopy(disk.local), deepcopy(disk.session)
    twin.has_alarm, twin.tabs = disk.has_alarm, list(disk.tabs)
    return twin


def difference(ours: Picture, real: Picture, limit: int = 5) -> str | None:
    """What a model's disk has otherwise than the real one; None if nothing."""
    lines = []
    for store in ALL_STORES:
        mine, other = _by_key(store, ours), _by_key(store, real)
        lines += [
            f"{store} {key}: {mine.get(key)} instead of {other.get(key)}"
            for key in sorted(mine.keys() | other.keys())
            if mine.get(key) != other.get(key)
        ]
    return "\n".join(lines[:limit]) if lines else None


def record_at(store: str, key: str) -> Value:
    """A verb that reads one record; None where there is none."""

    def read(connection: Connection) -> Value:
        with connection.transaction([store], "readonly") as transaction:
            found: Value = transaction.object_store(store).get(key).result
            return None if found is UNDEFINED else as_json(found)

    return read


def as_json(value: Value) -> Value:
    """A value as JSON has it: what is absent is null."""
    return json.loads(json.dumps(value, default=_absent))


def _absent(value: object) -> None:
    if value is not UNDEFINED:
        msg = f"{value!r} is no JSON value"
        raise TypeError(msg)


def _by_key(store: str, of: Picture) -> dict[str, Any]:
    path = key_path_of(store)
    return {record[path]: as_json(record) for record in of.get(store, ())}
