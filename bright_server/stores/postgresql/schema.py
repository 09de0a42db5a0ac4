"""The database's version: made, stepped forward, or refused.

The steps are files under `migrations/bright/postgresql/`, numbered without a gap. All
that are due run in one transaction, with the note that they ran, and one process at a
time. The database says which version it has and the oldest server that may open it; a
server that is older than that refuses.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

import psycopg
from psycopg import errors as server_says

from bright_server.clock import Clock
from bright_server.commit.schema_steps import SchemaState, SchemaStep
from bright_server.errors import SchemaRefused, StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.postgresql.connection import (
    StoreConnection,
    connected,
    worded,
)

SCHEMA_VERSION: Final = 1
# Raised only with a step after which older servers would read the data wrongly.
OLDEST_COMPATIBLE_VERSION: Final = 1

UNFINISHED_COPY: Final = "unfinished_copy"
"""The table that a store has while another is being copied into it."""

_STEP_NAME: Final = re.compile(r"^(\d{4})_\w+\.sql$")
# Held while steps are made; the number is this purpose's alone in the database.
_LOCK: Final = b"SELECT pg_advisory_xact_lock(6_011_760_001)"
_TABLES: Final = b"""
SELECT c.relname FROM pg_class AS c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One numbered file of statements."""

    version: int
    name: str
    statements: str


def steps() -> list[Step]:
    """Return all steps, in order."""
    folder = files("migrations") / "bright" / "postgresql"
    found = [
        Step(
            int(match[1]),
            entry.name.removesuffix(".sql"),
            entry.read_text(encoding="utf-8"),
        )
        for entry in folder.iterdir()
        if (match := _STEP_NAME.match(entry.name))
    ]
    return sorted(found, key=lambda step: step.version)


async def prepare(connection: StoreConnection, settings: Settings, now_ms: int) -> str:
    """Bring the database to this server's version and return its store id.

    Any number of processes may start at once: one makes the steps, the others wait and
    find them made.

    Raises:
        SchemaRefused: it belongs to a newer server, or to another program.
        StoreUnavailable: it could not be read or written.
    """
    where = str(settings.database)
    try:
        # A database that is as it should be is only read: it may be in use.
        if await stored_version(connection, where) != SCHEMA_VERSION:
            async with connection.transaction():
                await connection.execute(_LOCK)
                await _step_forward(connection, where, now_ms)
        rows = await connection.execute(b"SELECT store_id FROM store")
        (store_id,) = await rows.fetchone() or ("",)
    except psycopg.Error as error:
        advice = await _advice_on(connection, error)
        raise StoreUnavailable(f"prepare {where}", worded(error) + advice) from error
    return str(store_id)


async def schema_state(settings: Settings) -> SchemaState:
    """See `SchemaSteps.schema_state`."""
    where = str(settings.database)
    async with connected(settings) as connection:
        try:
            return _state(await stored_version(connection, where))
        except psycopg.Error as error:
            advice = await _advice_on(connection, error)
            raise StoreUnavailable(f"read {where}", worded(error) + advice) from error


async def step_forward(settings: Settings, clock: Clock) -> SchemaState:
    """See `SchemaSteps.step_forward`."""
    async with connected(settings) as connection:
        await prepare(connection, settings, clock.now_ms())
    return await schema_state(settings)


async def _step_forward(connection: StoreConnection, where: str, now_ms: int) -> None:
    await make_steps(connection, await stored_version(connection, where), now_ms)


async def make_steps(connection: StoreConnection, version: int, now_ms: int) -> None:
    """Make the steps behind a version, inside the caller's transaction."""
    for step in steps():
        if step.version > version:
            await connection.execute(step.statements.encode())
    if version == 0:
        await connection.execute(
            b"INSERT INTO store VALUES (1, %s, %s, %s, %s)",
            (uuid.uuid4().hex, SCHEMA_VERSION, OLDEST_COMPATIBLE_VERSION, now_ms),
        )
    elif version < SCHEMA_VERSION:
        await connection.execute(
            b"UPDATE store SET schema_version = %s, oldest_compatible_version = %s",
            (SCHEMA_VERSION, OLDEST_COMPATIBLE_VERSION),
        )


async def table_names(connection: StoreConnection) -> set[str]:
    """Return the names of all tables in the schema that is used."""
    return {name for (name,) in await _rows(connection, _TABLES)}


async def stored_version(connection: StoreConnection, where: str) -> int:
    """Return the version that the database has; 0: it is empty.

    Raises:
        SchemaRefused: it belongs to a newer server, or to another program.
    """
    names = await table_names(connection)
    if not names:
        return 0
    if UNFINISHED_COPY in names:
        raise SchemaRefused(
            where,
            "a copy into it was begun and is not finished: run `bright store copy`"
            " again, or empty it",
        )
    if "store" not in names:
        raise SchemaRefused(
            where, "it is a database of another program: make one for Bright alone"
        )
    ((version, oldest),) = await _rows(
        connection, b"SELECT schema_version, oldest_compatible_version FROM store"
    )
    if oldest > SCHEMA_VERSION:
        raise SchemaRefused(
            where,
            f"its schema {version} needs a server that knows schema {oldest}, this one"
            f" knows {SCHEMA_VERSION}: upgrade Bright, or restore an older copy",
        )
    return int(version)


async def _rows(connection: StoreConnection, query: bytes) -> list[tuple[Any, ...]]:
    return await (await connection.execute(query)).fetchall()


def _state(version: int) -> SchemaState:
    due = [
        SchemaStep(step.version, step.name)
        for step in steps()
        if step.version > version
    ]
    return SchemaState(version, due)


async def _advice_on(connection: StoreConnection, error: psycopg.Error) -> str:
    """Say what to do about an error that has ended its transaction."""
    if isinstance(error, server_says.ReadOnlySqlTransaction):
        return "; this is a standby, or the role may not write: give the primary"
    if isinstance(error, server_says.InvalidSchemaName):
        return (
            "; let the role own the database, or GRANT USAGE, CREATE ON SCHEMA public"
        )
    if isinstance(error, server_says.InsufficientPrivilege):
        if await table_names(connection):
            return (
                "; its tables are another role's: connect as their owner, or let it"
                " GRANT ALL ON ALL TABLES IN SCHEMA public to this role"
            )
        return "; let the role own the database, or GRANT CREATE ON SCHEMA public"
    return ""
