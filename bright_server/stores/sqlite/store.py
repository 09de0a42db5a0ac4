"""The embedded `ObservationStore`: group commit into one SQLite file.

One connection writes, another reads; each has a thread of its own, so the event loop
never waits for the disk. Another process that holds the write lock is waited for,
patiently and within a bound, one short try after the other.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from bright_server.clock import Clock
from bright_server.commit.groups import NotStored, Outcome, Work
from bright_server.errors import StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.sqlite import schema
from bright_server.stores.sqlite.bindings import SqliteBindings
from bright_server.stores.sqlite.connection import (
    StoreConnection,
    connected,
    is_busy,
    scalar,
    translated,
)
from bright_server.stores.sqlite.group import (
    ConversationCache,
    GroupResult,
    GroupWriter,
)
from bright_server.stores.sqlite.queries import SQL
from bright_server.stores.sqlite.reader import SqliteMessages

logger = logging.getLogger(__name__)


class SqliteStore:
    """See `ObservationStore`; made by `opened`."""

    def __init__(
        self,
        writer: StoreConnection,
        reader: StoreConnection,
        store_id: str,
        last_position: int,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._store_id = store_id
        self._last_position = last_position
        self._settings = settings
        self._clock = clock
        self._cache = ConversationCache(settings.max_cached_conversations)

    @property
    def store_id(self) -> str:
        """See `ObservationStore.store_id`."""
        return self._store_id

    @property
    def bindings(self) -> SqliteBindings:
        """Return the bindings, read apart from the writer."""
        return SqliteBindings(self._reader)

    @property
    def messages(self) -> SqliteMessages:
        """Return the committed messages, read apart from the writer."""
        return SqliteMessages(self._reader)

    async def commit_group(self, group: Sequence[Work]) -> Sequence[Outcome]:
        """See `ObservationStore.commit_group`."""
        try:
            return await self._commit(group)
        except StoreUnavailable as error:
            if len(group) == 1 or not _is_about_the_data(error.__cause__):
                raise
            logger.warning("a group of %d is done one by one: %s", len(group), error)
        return [await self._commit_alone(work) for work in group]

    async def read_probe(self) -> int:
        """See `ObservationStore.read_probe`."""
        with translated("read the probe"):
            probe = await self._reader.do(partial(scalar, sql=SQL["read_probe"]))
        return int(str(probe))

    async def prove_writable(self) -> None:
        """Write once, changing nothing, so that a server need not find out later.

        A database that another process has locked now counts as writable.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        database = self._settings.database_path
        try:
            with translated(f"write to {database}"):
                await self._writer.do(_rewrite_probe)
        except StoreUnavailable as error:
            if is_busy(error.__cause__):
                logger.warning("%s is locked by another process for now", database)
                return
            raise StoreUnavailable(
                error.doing,
                f"{error.reason}: let this user write the file and its folder, with"
                " room on the disk, or give another --database",
            ) from error.__cause__

    async def _commit_alone(self, work: Work) -> Outcome:
        try:
            return (await self._commit([work]))[0]
        except StoreUnavailable as error:
            logger.warning("work of a group was not stored: %s", error)
            return NotStored(error.reason)

    async def _commit(self, group: Sequence[Work]) -> list[Outcome]:
        # BEGIN IMMEDIATE: a transaction that read first and wrote later would not wait
        # for the lock but fail at once. Each try waits for the driver's busy timeout
        # only, so that a server that goes down is not held up by a locked database.
        deadline = self._clock.steady_seconds() + self._settings.commit_patience_seconds
        while True:
            try:
                with translated("commit"):
                    result = await self._writer.do(partial(self._transact, group=group))
            except StoreUnavailable as error:
                if not is_busy(error.__cause__):
                    raise
                if self._clock.steady_seconds() > deadline:
                    raise
            else:
                return [result.outcomes[index] for index in range(len(group))]

    def _transact(
        self, database: sqlite3.Connection, group: Sequence[Work]
    ) -> GroupResult:
        """Do a group from BEGIN to COMMIT, on the writer's thread."""
        database.execute(SQL["begin"])
        try:
            writer = GroupWriter(
                database,
                self._cache,
                self._last_position,
                self._clock.now_ms(),
                judges_grants=self._settings.authority is None,
            )
            result = writer.write(group)
            database.execute(SQL["commit"])
        except BaseException as error:
            self._cache.clear()
            # A failed COMMIT may have rolled back by itself already.
            if database.in_transaction:
                database.execute(SQL["rollback"])
            if isinstance(error, UnicodeError | OverflowError):
                raise StoreUnavailable("commit", str(error)) from error
            raise
        # On disk: only now may anything be remembered of it.
        self._cache.put(result.states)
        self._last_position = result.last_position
        return result


def _rewrite_probe(database: sqlite3.Connection) -> None:
    database.execute(SQL["begin"])
    try:
        database.execute(SQL["rewrite_probe"])
        database.execute(SQL["commit"])
    except BaseException:
        # A failed COMMIT may have rolled back by itself already.
        if database.in_transaction:
            database.execute(SQL["rollback"])
        raise


def _is_about_the_data(cause: BaseException | None) -> bool:
    return not isinstance(cause, sqlite3.OperationalError | OSError)


@asynccontextmanager
async def opened(settings: Settings, clock: Clock) -> AsyncIterator[SqliteStore]:
    """Open the store of these settings, made anew where there is none.

    Raises:
        StoreUnavailable: the file cannot be opened.
        SchemaRefused: the file is not for this server.
    """
    database = settings.database_path
    async with (
        connected(database, settings.busy_timeout_ms) as writer,
        connected(database, settings.busy_timeout_ms) as reader,
    ):
        store_id = await schema.prepare(writer, database, clock.now_ms())
        with translated("read the last position"):
            last = await writer.do(partial(scalar, sql=SQL["last_position"]))
            last_position = int(str(last))
        yield SqliteStore(writer, reader, store_id, last_position, settings, clock)


@asynccontextmanager
async def bindings_opened(
    database: Path, clock: Clock, busy_timeout_ms: int = 5_000
) -> AsyncIterator[SqliteBindings]:
    """Open only the bindings, beside a running server or without one."""
    async with connected(database, busy_timeout_ms) as connection:
        await schema.prepare(connection, database, clock.now_ms())
        yield SqliteBindings(connection)
