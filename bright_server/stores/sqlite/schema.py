"""The database's version: made, stepped forward, or refused.

The steps are files under `migrations/bright/sqlite/`, numbered without a gap. Each runs
in a transaction together with the note that it ran. The file says which version it has
and the oldest server that may open it; a server that is older than that refuses.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import aiosqlite

from bright_server.errors import SchemaRefused
from bright_server.stores.sqlite.connection import is_busy, scalar, translated
from bright_server.stores.sqlite.queries import SQL

SCHEMA_VERSION: Final = 1
# Raised only with a step after which older servers would read the data wrongly.
OLDEST_COMPATIBLE_VERSION: Final = 1

_STEP_NAME: Final = re.compile(r"^(\d{4})_\w+\.sql$")
_WAIT_SECONDS: Final = 30.0


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


async def prepare(connection: aiosqlite.Connection, database: Path, now_ms: int) -> str:
    """Bring the database to this server's version and return its store id.

    Two processes that start at once do not disturb each other: the second waits and
    finds the work done.

    Raises:
        SchemaRefused: the file belongs to a newer server, or to another program.
        StoreUnavailable: the file could not be read or written.
    """
    with translated(f"prepare {database}"):
        await _begin(connection)
        try:
            store_id = await _step_forward(connection, database, now_ms)
        except BaseException:
            await connection.execute_fetchall(SQL["rollback"])
            raise
        await connection.execute_fetchall(SQL["commit"])
        return store_id


async def _begin(connection: aiosqlite.Connection) -> None:
    deadline = asyncio.get_running_loop().time() + _WAIT_SECONDS
    while True:
        try:
            await connection.execute_fetchall("BEGIN EXCLUSIVE")
        except aiosqlite.OperationalError as error:
            if not is_busy(error) or asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.05)  # another process prepares the same file
        else:
            return


async def _step_forward(
    connection: aiosqlite.Connection, database: Path, now_ms: int
) -> str:
    version = await _stored_version(connection, database)
    for step in steps():
        if step.version <= version:
            continue
        for statement in split_statements(step.statements):
            await connection.execute_fetchall(statement)
    if version == 0:
        await connection.execute_fetchall(
            "INSERT INTO store VALUES (1, ?, ?, ?, ?)",
            (uuid.uuid4().hex, SCHEMA_VERSION, OLDEST_COMPATIBLE_VERSION, now_ms),
        )
    elif version < SCHEMA_VERSION:
        await connection.execute_fetchall(
            "UPDATE store SET schema_version = ?, oldest_compatible_version = ?",
            (SCHEMA_VERSION, OLDEST_COMPATIBLE_VERSION),
        )
    return str(await scalar(connection, "SELECT store_id FROM store"))


async def _stored_version(connection: aiosqlite.Connection, database: Path) -> int:
    tables = await connection.execute_fetchall(
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
    )
    names = {row[0] for row in tables}
    if not names:
        return 0
    if "store" not in names:
        raise SchemaRefused(
            database, "it is a database of another program: choose another path"
        )
    rows = list(
        await connection.execute_fetchall(
            "SELECT schema_version, oldest_compatible_version FROM store"
        )
    )
    version, oldest = rows[0]
    if oldest > SCHEMA_VERSION:
        raise SchemaRefused(
            database,
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
