"""Opening the database file: the one door, for every connection that Bright makes.

Each connection is in WAL mode with `synchronous=FULL`, and this is read back: an ACK
means that the message survives a power cut. Statements are left to autocommit, so that
every transaction is opened and closed in so many words.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import aiosqlite

from bright_server.errors import SchemaRefused, StoreUnavailable
from bright_server.stores.sqlite.opened_file import OpenedFile

T = TypeVar("T")

logger = logging.getLogger(__name__)

NO_DATABASE: Final = "it is not a SQLite database: choose another path"

_FULL = 2
_NEEDED_SQLITE = (3, 37, 0)  # STRICT tables
_ROWS_AT_ONCE = 64
# A log that a long reader has made grow is cut back to this after a checkpoint.
_WAL_BYTES = 67_108_864
_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.01
_ENDING_SECONDS = 5.0
_HEADER = b"SQLite format 3\0"


class StoreConnection(aiosqlite.Connection):
    """A connection that also does several statements in one turn of its thread.

    One that holds the loop does them on the event loop's thread instead.
    """

    holds_loop = False
    file: OpenedFile | None = None
    """What has to stand at the path before and after each work; None: whatever does."""

    async def open(self) -> None:
        """Open the file; after a failure, wait until the thread has ended.

        The driver would leave it to end by itself, at times after the event loop.
        """
        try:
            await self
        except BaseException:
            await asyncio.to_thread(self._thread.join, _ENDING_SECONDS)
            raise

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on the connection's thread and return what it returns.

        A group's statements then cost one change of threads, not one each, and the
        event loop's other business cannot come between them.

        Raises:
            StoreUnavailable: it is closed, or being closed; or another file stands at
                its path, or does now: then what was done is worth nothing.
        """
        if self._connection is None or not self._running:
            raise StoreUnavailable("use its file", "it is closed")
        if self.holds_loop:
            return self._watched(work)
        result: T = await self._execute(self._watched, work)  # type: ignore[no-untyped-call]
        return result

    def _watched(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self.file is None:
            return work(self._conn)
        self.file.check()
        result = work(self._conn)
        # Before anybody answers for it: it may have gone into a file without a name.
        self.file.check()
        return result


@asynccontextmanager
async def connected(
    database: Path, busy_timeout_ms: int, *, holds_loop: bool = False
) -> AsyncIterator[StoreConnection]:
    """Hold one connection; its thread ends with the block, whatever happens in it.

    With `holds_loop` the event loop stands still while the connection works. That is
    for a process in which the loop has nothing else to do: there two threads would only
    take turns, at a fifth more CPU.

    A file that is not there is made, for its owner alone to read; one that is there
    keeps its mode.

    Raises:
        StoreUnavailable: the file cannot be opened, or not durably.
        SchemaRefused: the file is not a SQLite database, or SQLite is too old.
    """
    if sqlite3.sqlite_version_info < _NEEDED_SQLITE:
        raise SchemaRefused(
            database, f"SQLite 3.37 is needed, this Python has {sqlite3.sqlite_version}"
        )
    opening = partial(
        sqlite3.connect,
        database,
        isolation_level=None,
        timeout=busy_timeout_ms / 1000,
        # It is opened and closed on a thread of its own in any case.
        check_same_thread=not holds_loop,
    )
    with translated(f"open {database}"):
        _make_file(database)
        connection = StoreConnection(opening, _ROWS_AT_ONCE)
        connection.holds_loop = holds_loop
        await connection.open()
    # From here on the connection's thread runs, and would keep the process alive.
    try:
        await _make_durable(connection, database)
        with translated(f"open {database}"):
            # What is read opens the log, too.
            await connection.do(partial(scalar, sql="SELECT 1 FROM sqlite_schema"))
            connection.file = OpenedFile(database)
        yield connection
    finally:
        await connection.close()


def _make_file(database: Path) -> None:
    """Make the file where there is none; SQLite gives its log the file's own mode."""
    # Exclusively, so that a file which is there is never opened and closed here: that
    # would drop the locks which SQLite holds on it in this process.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        # The real file, for a link may point to one that is yet to be made.
        descriptor = os.open(os.path.realpath(database), flags, 0o600)
    except FileExistsError:
        return
    os.close(descriptor)
    logger.info("made a new database at %s", database)


async def _make_durable(connection: StoreConnection, database: Path) -> None:
    try:
        with translated(f"open {database}"):
            mode, level = await connection.do(_set_pragmas)
    except StoreUnavailable as error:
        cause = error.__cause__
        if isinstance(cause, sqlite3.DatabaseError) and not isinstance(
            cause, sqlite3.OperationalError
        ):
            raise SchemaRefused(database, NO_DATABASE) from error
        raise
    if not is_durable((mode, level)):
        raise StoreUnavailable(
            f"open {database} durably",
            f"journal_mode={mode}, synchronous={level}; it takes a file system on which"
            " SQLite's write-ahead log works",
        )


def _set_pragmas(database: sqlite3.Connection) -> tuple[object, object]:
    # Turning a new file to WAL does not wait for another process that does the same.
    patiently(lambda: database.execute("PRAGMA journal_mode=WAL"))
    database.execute("PRAGMA synchronous=FULL")
    database.execute(f"PRAGMA journal_size_limit={_WAL_BYTES}")
    database.execute("PRAGMA trusted_schema=OFF")
    return durability(database)


def durability(database: sqlite3.Connection) -> tuple[object, object]:
    """Return the connection's journal mode and level of synchronisation."""
    return scalar(database, "PRAGMA journal_mode"), scalar(
        database, "PRAGMA synchronous"
    )


def is_durable(kept: tuple[object, object]) -> bool:
    """Say whether what is committed so survives a power cut."""
    return kept == ("wal", _FULL)


def patiently(work: Callable[[], object]) -> None:
    """Do work again for as long as another process holds the lock, within a bound."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            work()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)  # on the connection's own thread
        else:
            return


def scalar(database: sqlite3.Connection, sql: str) -> object:
    """Return the first column of the first row, or None."""
    row = database.execute(sql).fetchone()
    return row[0] if row else None


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn the driver's errors into the store's, the cause kept (MS-30)."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeError, OverflowError) as error:
        # The last two: text or a number that SQLite cannot hold.
        raise StoreUnavailable(doing, str(error)) from error


def make_folder(database: Path) -> None:
    """Make the folder of a database's file, where there is none.

    Raises:
        StoreUnavailable: it cannot be made.
    """
    folder = database.parent
    with translated(f"make the folder of {database}"):
        missing = [each for each in (folder, *folder.parents) if not each.is_dir()]
        if missing:
            folder.mkdir(parents=True, exist_ok=True)
            # SQLite syncs the folder that its files stand in, and none above it: a
            # power cut would take the new folder and every message in it.
            for each in missing:
                _sync_folder(each.parent)
            logger.info("made the folder %s", folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_foreign(database: Path) -> None:
    """Refuse a file that is plainly no database, before anything is put beside it.

    Only for the start of a process, before it opens the database: closing the file
    would drop the locks which SQLite holds on it.

    Raises:
        SchemaRefused: the file has content, and not SQLite's.
        StoreUnavailable: it cannot be read.
    """
    with translated(f"read {database}"):
        if not database.is_file():
            return
        with database.open("rb") as file:
            beginning = file.read(len(_HEADER))
    if beginning not in (b"", _HEADER):
        raise SchemaRefused(database, NO_DATABASE)


def is_full(error: BaseException | None) -> bool:
    """Say whether there was no room: on the disk, or in the file as it is bounded."""
    return isinstance(error, sqlite3.OperationalError) and (
        getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    )


def is_busy(error: BaseException | None) -> bool:
    """Say whether another process held the database's lock."""
    return isinstance(error, sqlite3.OperationalError) and (
        getattr(error, "sqlite_errorcode", 0) & 0xFF
        in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
    )
