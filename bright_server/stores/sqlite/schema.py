"""The database's version: made, stepped forward, or refused.

The steps are files under `migrations/bright/sqlite/`, numbered without a gap. Each runs
in a transaction together with the note that it ran. The file says which version it has
and the oldest server that may open it; a server that is older than that refuses.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import uuid
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final

from bright_server.clock import Clock
from bright_server.commit.schema_steps import SchemaState, SchemaStep
from bright_server.errors import SchemaRefused, StoreMissing
from bright_server.settings import Settings
from bright_server.stores.sqlite.connection import (
    StoreConnection,
    connected,
    patiently,
    scalar,
    translated,
)
from bright_server.stores.sqlite.queries import SQL
from bright_server.stores.sqlite.reading import opened_for_reading

SCHEMA_VERSION: Final = 3
# Raised only with a step after which older servers would read the data wrongly.
OLDEST_COMPATIBLE_VERSION: Final = 3

UNFINISHED_COPY: Final = "unfinished_copy"
"""The table that a store has while another is being copied into it."""

_STEP_NAME: Final = re.compile(r"^(\d{4})_\w+\.sql$")


@dataclass(frozen=True, slots=True)
class Step:
    """One numbered file of statements."""

    version: int
    name: str
    statements: str


def steps() -> list[Step]:
    """Return all steps, in order."""
    folder = files("migrations") / "bright" / "sqlite"
    found = [
        Step(int(match[1]), entry.name, entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if (match := _STEP_NAME.match(entry.name))
    ]
    return sorted(found, key=lambda step: step.version)


async def schema_state(settings: Settings) -> SchemaState:
    """See `SchemaSteps.schema_state`."""
    return await asyncio.to_thread(_state, _existing(settings))


async def step_forward(settings: Settings, clock: Clock) -> SchemaState:
    """See `SchemaSteps.step_forward`."""
    database = _existing(settings)
    async with connected(database, settings.busy_timeout_ms) as connection:
        await prepare(connection, database, clock.now_ms())
    return await schema_state(settings)


def _existing(settings: Settings) -> Path:
    database = settings.database_path
    if not database.is_file():
        raise StoreMissing(database)
    return database


def _state(path: Path) -> SchemaState:
    with translated(f"read {path}"), opened_for_reading(path) as database:
        version = stored_version(database, path)
    due = [step for step in steps() if step.version > version]
    return SchemaState(
        version,
        [SchemaStep(each.version, each.name.removesuffix(".sql")) for each in due],
    )


async def prepare(connection: StoreConnection, database: Path, now_ms: int) -> str:
    """Bring the database to this server's version and return its store id.

    Two processes that start at once do not disturb each other: the second waits and
    finds the work done.

    Raises:
        SchemaRefused: the file belongs to a newer server, or to another program.
        StoreUnavailable: the file could not be read or written.
    """
    with translated(f"prepare {database}"):
        return await connection.do(partial(_prepare, path=database, now_ms=now_ms))


def step_all(database: sqlite3.Connection, now_ms: int) -> None:
    """Make every step in an empty file, inside the caller's transaction."""
    _make_steps(database, 0, now_ms)


def _prepare(database: sqlite3.Connection, path: Path, now_ms: int) -> str:
    # A database that is as it should be is only read: it may be in use.
    if stored_version(database, path) != SCHEMA_VERSION:
        patiently(lambda: database.execute(SQL["begin"]))
        try:
            _step_forward(database, path, now_ms)
        except BaseException:
            database.execute(SQL["rollback"])
            raise
        database.execute(SQL["commit"])
    return str(scalar(database, "SELECT store_id FROM store"))


def _step_forward(database: sqlite3.Connection, path: Path, now_ms: int) -> None:
    _make_steps(database, stored_version(database, path), now_ms)


def _make_steps(database: sqlite3.Connection, version: int, now_ms: int) -> None:
    for step in steps():
        if step.version <= version:
            continue
        for statement in split_statements(step.statements):
            database.execute(statement)
    if version == 0:
        database.execute(
            "INSERT INTO store VALUES (1, ?, ?, ?, ?)",
            (uuid.uuid4().hex, SCHEMA_VERSION, OLDEST_COMPATIBLE_VERSION, now_ms),
        )
    elif version < SCHEMA_VERSION:
        database.execute(
            "UPDATE store SET schema_version = ?, oldest_compatible_version = ?",
            (SCHEMA_VERSION, OLDEST_COMPATIBLE_VERSION),
        )


def stored_version(database: sqlite3.Connection, path: Path) -> int:
    """Return the version that a database has, 0 where it is empty.

    Raises:
        SchemaRefused: it is another program's, needs a newer Bright, or is a copy that
            is not finished.
        sqlite3.Error: it cannot be read.
    """
    names = {
        row[0]
        for row in database.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table'"
        )
    }
    if not names:
        return 0
    if UNFINISHED_COPY in names:
        raise SchemaRefused(
            path,
            "a copy into it was begun and is not finished: run `bright store copy`"
            " again, or remove it",
        )
    if "store" not in names:
        raise SchemaRefused(
            path, "it is a database of another program: choose another path"
        )
    version, oldest = database.execute(
        "SELECT schema_version, oldest_compatible_version FROM store"
    ).fetchone()
    if oldest > SCHEMA_VERSION:
        raise SchemaRefused(
            path,
            f"its schema {version} needs a server that knows schema {oldest}, this one"
            f" knows {SCHEMA_VERSION}: upgrade Bright, or restore an older copy",
        )
    return int(version)


def split_statements(text: str) -> list[str]:
    """Split a step into statements; a step may hold no semicolon inside one.

    `executescript` would commit the open transaction first, so steps go one by one.
    """
    code = "\n".join(
        line for line in text.splitlines() if not line.lstrip().startswith("--")
    )
    return [part.strip() for part in code.split(";") if part.strip()]
