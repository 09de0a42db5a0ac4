"""The algorithm "Upgrade a database": the versionchange transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from storage_schema.connection import Connection
from storage_schema.errors import AbortError, DomError
from storage_schema.transaction import Transaction

Upgrade: TypeAlias = Callable[[Connection, Transaction, int, int], object]


def run_upgrade(
    connection: Connection, version: int, upgrade: Upgrade | None
) -> DomError | None:
    """Run an upgrade on a connection that is alone; gives why opening failed, if so.

    Whatever the upgrade did is undone then, the version too, and the connection is
    closed.
    """
    database = connection.database
    old = database.version
    transaction = connection.begin(database.stores, "versionchange")
    connection.upgrade = transaction
    database.version = version
    transaction.undo.append((setattr, database, "version", old))
    cause: BaseException | None = None
    try:
        if upgrade is not None:
            upgrade(connection, transaction, old, version)
        transaction.finish()
    except Exception as error:  # noqa: BLE001 - becomes the cause
        cause = error
        transaction.end_with(AbortError("the upgrade raised an exception"))
    finally:
        if not transaction.is_finished:
            transaction.end_with(AbortError("the upgrade was interrupted"))
        connection.upgrade = None
    if database.version == version:
        database.committed_version = version
        if connection.is_open:
            return None
        connection.freeze()
        return AbortError(f"the connection to {database.name!r} was closed on the way")
    connection.close()
    failure = AbortError(f"the upgrade of {database.name!r} to {version} was aborted")
    failure.__cause__ = cause or transaction.error
    return failure
