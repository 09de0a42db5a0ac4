"""Opens SQLite files for a whole copy; see `Exporter` and `Importer`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bright_server.clock import Clock
from bright_server.commit.transfer import StoreFacts
from bright_server.errors import SchemaRefused, StoreMissing
from bright_server.settings import Settings
from bright_server.stores.sqlite import lock, schema
from bright_server.stores.sqlite.connection import (
    StoreConnection,
    connected,
    make_folder,
    refuse_foreign,
    translated,
)
from bright_server.stores.sqlite.exporting import SQL, SqliteExport
from bright_server.stores.sqlite.importing import SqliteImport
from bright_server.stores.sqlite.reading import connected_for_reading


@asynccontextmanager
async def exporting(settings: Settings, clock: Clock) -> AsyncIterator[SqliteExport]:
    """See `Exporter`; the file is held against servers meanwhile.

    Where no lock can be made it is not held, see `lock.held_for_reading`.
    """
    path = settings.database_path
    if not path.is_file():
        raise StoreMissing(path)
    with lock.held_for_reading(path):
        async with connected_for_reading(path) as connection:
            yield SqliteExport(connection, await _facts(connection, settings))


@asynccontextmanager
async def importing(settings: Settings, clock: Clock) -> AsyncIterator[SqliteImport]:
    """See `Importer`; the file is held against servers meanwhile."""
    path = settings.database_path
    refuse_foreign(path)
    make_folder(path)
    with lock.held(path):
        async with connected(path, settings.busy_timeout_ms) as connection:
            yield SqliteImport(connection, path, clock)


async def _facts(connection: StoreConnection, settings: Settings) -> StoreFacts:
    path = settings.database_path
    state = await schema.schema_state(settings)
    if not state.version:
        raise StoreMissing(path)
    if state.due:
        raise SchemaRefused(
            path, "its schema is older than this Bright's: run `bright migrate` first"
        )
    with translated(f"read {path}"):
        row = await connection.do(
            lambda database: database.execute(SQL["facts_of_store"]).fetchone()
        )
    store_id, created_at_ms, _ = row
    return StoreFacts(store_id, created_at_ms)
