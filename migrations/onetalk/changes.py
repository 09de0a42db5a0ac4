"""The two things that a step may add, a store and an index, and when it must refuse.

Neither touches a record. What is there already under a name is kept if it is the same
and fails the step if it is not: a store that cannot hold today's records, or an index
that gives other answers, would be found out much later (docs/store.md).
"""

from __future__ import annotations

from storage_schema import Connection, ObjectStore, Transaction
from storage_schema.onetalk.names import key_path_of


class AnotherShapeError(Exception):
    """A store or an index of this name is there and is another."""


def add_store(connection: Connection, transaction: Transaction, name: str) -> None:
    """Creates a store where it is missing; one that is there keeps every record.

    Raises:
        AnotherShapeError: it is there with another key.
    """
    if name not in connection.object_store_names:
        connection.create_object_store(name, key_path_of(name))
    elif not has_own_key(transaction.object_store(name)):
        msg = f"{name} is there with another key"
        raise AnotherShapeError(msg)


def has_own_key(store: ObjectStore) -> bool:
    """Whether a store has the key path of its name and no key generator."""
    return store.key_path == key_path_of(store.name) and not store.auto_increment


def add_index(
    transaction: Transaction, store: str, name: str, key_path: str | tuple[str, ...]
) -> None:
    """Creates an index where it is missing; never unique.

    A unique one over old duplicates would abort every start.

    Raises:
        AnotherShapeError: an index of this name is there and is another.
    """
    opened = transaction.object_store(store)
    if name not in opened.index_names:
        opened.create_index(name, key_path)
        return
    index = opened.index(name)
    path = index.key_path
    is_same = (path if isinstance(path, str) else tuple(path)) == key_path
    if not is_same or index.unique or index.multi_entry:
        msg = f"{store} has another index under the name {name}"
        raise AnotherShapeError(msg)
