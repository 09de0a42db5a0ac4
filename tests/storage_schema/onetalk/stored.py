"""What a store holds, as plain dicts by key."""

from __future__ import annotations

from typing import Any, cast

from storage_schema import Connection

Record = dict[str, Any]


def records(connection: Connection, store: str) -> list[Record]:
    """All records of a store in key order."""
    with connection.transaction([store], "readonly") as transaction:
        found = transaction.object_store(store).get_all().result
    return cast("list[Record]", found)


def only(connection: Connection, store: str) -> Record:
    """The one record of a store."""
    (record,) = records(connection, store)
    return record


def put(connection: Connection, store: str, *given: object) -> None:
    """Writes records past the verbs, as another version may have left them."""
    with connection.transaction([store], "readwrite") as transaction:
        for record in given:
            transaction.object_store(store).put(record)
