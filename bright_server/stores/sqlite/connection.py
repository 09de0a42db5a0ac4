"""Opening the database file: the one door, for every connection that Bright makes.

Each connection is in WAL mode with `synchronous=FULL`, and this is read back: an ACK
means that the message survives a power cut. Statements are left to autocommit, so that
every transaction is opened and closed in so many words.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiosqlite

from bright_server.errors import SchemaRefused, StoreUnavailable

_FULL = 2
_NEEDED_SQLITE = (3, 37, 0)  # STRICT tables


async def open_connection(
    database: Path, *, busy_timeout_ms: int
) -> aiosqlite.Connection:
    """Open the file; the caller closes the connection.

    Raises:
        StoreUnavailable: the file cannot be opened, or not durably.
        SchemaRefused: the file is not a SQLite database, or SQLite is too old.
    """
    if sqlite3.sqlite_version_info < _NEEDED_SQLITE:
        raise SchemaRefused(
            database, f"SQLite 3.37 is needed, this Python has {sqlite3.sqlite_version}"
        )
    with translated(f"open {database}"):
        connection = await aiosqlite.connect(
            database, isolation_level=None, timeout=busy_timeout_ms / 1000
        )
    # From here on the connection's thread runs: whatever fails, it must be ended, or it
    # keeps the process alive.
    try:
        await _make_durable(connection, database, busy_timeout_ms)
    except BaseException:
        await connection.close()
        raise
    return connection


async def _make_durable(
    connection: aiosqlite.Connection, database: Path, busy_timeout_ms: int
) -> None:
    try:
        with translated(f"open {database}"):
            await connection.execute_fetchall(
                f"PRAGMA busy_timeout={busy_timeout_ms:d}"
            )
            mode = await scalar(connection, "PRAGMA journal_mode=WAL")
            await connection.execute_fetchall("PRAGMA synchronous=FULL")
            await connection.execute_fetchall("PRAGMA trusted_schema=OFF")
            level = await scalar(connection, "PRAGMA synchronous")
    except StoreUnavailable as error:
        if isinstance(error.__cause__, sqlite3.DatabaseError) and not isinstance(
            error.__cause__, sqlite3.OperationalError
        ):
            raise SchemaRefused(database, "it is not a SQLite database") from error
        raise
    if mode != "wal" or level != _FULL:
        raise StoreUnavailable(
            f"open {database} durably",
            f"journal_mode={mode}, synchronous={level}; it takes a file system on which"
            " SQLite's write-ahead log works",
        )


async def scalar(connection: aiosqlite.Connection, sql: str) -> object:
    """Return the first column of the first row, or None."""
    rows = list(await connection.execute_fetchall(sql))
    return rows[0][0] if rows else None


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn the driver's errors into the store's, the cause kept (MS-30)."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreUnavailable(doing, str(error)) from error


def is_busy(error: BaseException | None) -> bool:
    """Say whether another process held the database's lock."""
    return isinstance(error, sqlite3.OperationalError) and (
        getattr(error, "sqlite_errorcode", 0) & 0xFF
        in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
    )
