"""Opens databases of PostgreSQL for a whole copy; see `Exporter` and `Importer`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import psycopg

from bright_server.clock import Clock
from bright_server.commit.transfer import StoreFacts
from bright_server.errors import (
    SchemaRefused,
    StoreInUse,
    StoreMissing,
    StoreUnavailable,
)
from bright_server.settings import Settings
from bright_server.stores.postgresql import schema
from bright_server.stores.postgresql.connection import (
    StoreConnection,
    connected,
    worded,
)
from bright_server.stores.postgresql.exporting import SQL, PostgresqlExport
from bright_server.stores.postgresql.importing import PostgresqlImport

# A server that has ended is in the list of sessions for a moment still.
_LOOKS: Final = 50
_PAUSE_SECONDS: Final = 0.1


@asynccontextmanager
async def exporting(
    settings: Settings, clock: Clock
) -> AsyncIterator[PostgresqlExport]:
    """See `Exporter`; servers are seen by their sessions as the copy begins."""
    state = await schema.schema_state(settings)
    where = str(settings.database)
    if not state.version:
        raise StoreMissing(where)
    if state.due:
        raise SchemaRefused(
            where, "its schema is older than this Bright's: run `bright migrate` first"
        )
    async with _alone(settings) as connection:
        row = await (await connection.execute(SQL["facts_of_store"])).fetchone()
        assert row is not None  # noqa: S101 - its version was just read
        yield PostgresqlExport(connection, StoreFacts(row[0], row[1]))


@asynccontextmanager
async def importing(
    settings: Settings, clock: Clock
) -> AsyncIterator[PostgresqlImport]:
    """See `Importer`; two copies into one database keep out of each other's way."""
    async with _alone(settings) as connection:
        yield PostgresqlImport(connection, str(settings.database))


@asynccontextmanager
async def _alone(settings: Settings) -> AsyncIterator[StoreConnection]:
    where = str(settings.database)
    async with connected(settings) as connection:
        try:
            await connection.execute(SQL["endless"])
            await _lock_copies(connection, where)
            await _refuse_servers(connection, where)
        except psycopg.Error as error:
            raise StoreUnavailable(f"open {where}", worded(error)) from error
        yield connection


async def _lock_copies(connection: StoreConnection, where: str) -> None:
    # One that was killed has its session, and with it the lock, for a moment still.
    for _ in range(_LOOKS):
        row = await (await connection.execute(SQL["lock_copy"])).fetchone()
        if row and row[0]:
            return
        await asyncio.sleep(_PAUSE_SECONDS)
    raise StoreInUse(where, " (another copy)")


async def _refuse_servers(connection: StoreConnection, where: str) -> None:
    sessions = 0
    for _ in range(_LOOKS):
        row = await (await connection.execute(SQL["other_sessions"])).fetchone()
        sessions = row[0] if row else 0
        if not sessions:
            return
        await asyncio.sleep(_PAUSE_SECONDS)
    raise StoreInUse(where, f" ({sessions} sessions of Bright)")
