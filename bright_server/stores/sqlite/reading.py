"""Opening a database file that is only read: nothing is made, nothing is turned.

It may be in use, or lie where nothing can be written. There SQLite cannot put its
shared memory beside the file, so a file without a log is read as one that nobody
changes, and that is looked at again in the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from bright_server.errors import SchemaRefused, StoreMissing, StoreUnavailable
from bright_server.stores.sqlite.connection import (
    NO_DATABASE,
    StoreConnection,
    scalar,
    translated,
)
from bright_server.stores.sqlite.lock import is_writable

_PATIENCE_SECONDS: Final = 30
_ROWS_AT_ONCE: Final = 64
_UNWRITABLE: Final = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})


@contextmanager
def opened_for_reading(database: Path) -> Iterator[sqlite3.Connection]:
    """Hold a connection that only reads.

    Raises:
        StoreMissing: there is no such file.
        SchemaRefused: it is not a SQLite database.
        StoreUnavailable: it cannot be read, or was written where nobody could.
    """
    with _unchanged(database), closing(_connect(database)) as reader:
        yield reader


@asynccontextmanager
async def connected_for_reading(database: Path) -> AsyncIterator[StoreConnection]:
    """Hold one with a thread of its own; raises as `opened_for_reading`."""
    with _unchanged(database):
        connection = StoreConnection(partial(_connect, database), _ROWS_AT_ONCE)
        await connection.open()
        try:
            yield connection
        finally:
            await connection.close()


def _connect(database: Path) -> sqlite3.Connection:
    if not database.is_file():
        raise StoreMissing(database)
    with translated(f"read {database}"):
        try:
            return _opened(database, "mode=rw")
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code not in _UNWRITABLE or not _is_sealed(database):
                raise
            if _log_bytes(database):
                # Without its log it would lack messages, and nobody would notice.
                raise StoreUnavailable(
                    f"read {database}",
                    f"{_log_of(database)} holds what is not in it yet, and is of no use"
                    " where nothing can be written: copy both into a folder that can"
                    " be written, and read them there",
                ) from error
        except sqlite3.DatabaseError as error:
            raise SchemaRefused(database, NO_DATABASE) from error
        return _opened(database, "immutable=1")


def _opened(database: Path, how: str) -> sqlite3.Connection:
    # The real path: SQLite looks for the log beside it.
    address = f"{database.resolve().as_uri()}?{how}"
    reader = sqlite3.connect(
        address, uri=True, timeout=_PATIENCE_SECONDS, isolation_level=None
    )
    try:
        reader.execute("PRAGMA query_only=ON")
        reader.execute("PRAGMA trusted_schema=OFF")
        scalar(reader, "SELECT 1 FROM sqlite_schema")
    except BaseException:
        reader.close()
        raise
    return reader


@contextmanager
def _unchanged(database: Path) -> Iterator[None]:
    """Find that somebody wrote a file which was read as one that nobody changes."""
    before = _facts(database) if _is_sealed(database) else None
    yield
    if before is not None and before[-1] == 0 and _facts(database) != before:
        raise StoreUnavailable(
            f"read {database}",
            "it was written meanwhile, and its folder does not let this user see that"
            " in time: read it again while nobody writes, or as its owner",
        )


def _is_sealed(database: Path) -> bool:
    return not is_writable(database.resolve().parent)


def _facts(database: Path) -> tuple[int, ...]:
    with translated(f"read {database}"):
        found = database.stat()
    return (
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        _log_bytes(database),
    )


def _log_bytes(database: Path) -> int:
    try:
        return _log_of(database).stat().st_size
    except FileNotFoundError:
        return 0


def _log_of(database: Path) -> Path:
    real = database.resolve()
    return real.with_name(real.name + "-wal")
