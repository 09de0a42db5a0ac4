"""The embedded back end: everything in one SQLite file.

One connection writes, another reads; each has a thread of its own, so the event loop
never waits for the disk, but in a process that does nothing else than write. Groups and
single commits take turns on the one that writes.
Another process that holds the write lock is waited for, patiently and within a bound,
one short try after the other; what it has changed is looked up again.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, Self

from bright_server.clock import Clock
from bright_server.commit.contract import NOBODY, Membership
from bright_server.commit.groups import NotStored, Outcome, Probe, Work
from bright_server.errors import StoreUnavailable
from bright_server.logs.sqlite import SqliteOutbox
from bright_server.settings import Settings
from bright_server.stores.sqlite import lock, schema
from bright_server.stores.sqlite.bindings import SqliteBindings
from bright_server.stores.sqlite.commits import SqliteCommits
from bright_server.stores.sqlite.connection import (
    StoreConnection,
    connected,
    is_busy,
    scalar,
    translated,
)
from bright_server.stores.sqlite.group import GroupResult, GroupWriter
from bright_server.stores.sqlite.queries import SQL
from bright_server.stores.sqlite.reader import SqliteMessages
from bright_server.stores.sqlite.transactions import (
    StepWriter,
    Transactions,
    transact,
)
from bright_server.stores.sqlite.writer_memory import WriterMemory

logger = logging.getLogger(__name__)

_STEPS_OF_A_COMMIT: Final = 4


class SqliteStore:
    """See `Backend`; it is the `ObservationStore` itself. Made by `opened`."""

    def __init__(
        self,
        writer: StoreConnection,
        reader: StoreConnection,
        store_id: str,
        settings: Settings,
        clock: Clock,
        membership: Membership = NOBODY,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._store_id = store_id
        self._settings = settings
        self._clock = clock
        self._membership = membership
        self._memory = WriterMemory(settings.max_cached_conversations)
        self._transactions = Transactions(
            writer, clock, settings.commit_patience_seconds
        )
        self._steps = StepWriter(
            self._transactions,
            settings.max_group_items,
            _STEPS_OF_A_COMMIT * settings.max_commits_under_way,
            self._memory.forget,
        )

    @property
    def observations(self) -> Self:
        """See `Backend.observations`."""
        return self

    @property
    def commits(self) -> SqliteCommits:
        """See `Backend.commits`."""
        return SqliteCommits(
            self._steps,
            self._reader,
            self._transactions,
            self._membership,
            self._settings,
            self._clock,
        )

    @property
    def publisher(self) -> SqliteOutbox:
        """See `Backend.publisher`."""
        return SqliteOutbox(self._steps)

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
        outcomes = await self._commit_together(group)
        probes = [i for i, work in enumerate(group) if isinstance(work, Probe)]
        if probes and (fault := await self._room_fault()) is not None:
            return [fault if i in probes else each for i, each in enumerate(outcomes)]
        return outcomes

    async def _room_fault(self) -> NotStored | None:
        """Say why there may be no room for messages, though there was for a probe."""
        try:
            await self._transactions.prove_room(self._settings.readiness_room_bytes)
        except StoreUnavailable as error:
            return NotStored(error.reason)
        return None

    async def _commit_together(self, group: Sequence[Work]) -> list[Outcome]:
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
        result = await self._transactions.do(partial(self._transact, group=group))
        return [result.outcomes[index] for index in range(len(group))]

    def _transact(
        self, database: sqlite3.Connection, group: Sequence[Work]
    ) -> GroupResult:
        """Do a group from BEGIN to COMMIT, on the writer's thread."""
        memory = self._memory
        try:
            result = transact(database, partial(self._write, group=group))
        except BaseException:
            memory.forget()
            raise
        # On disk: only now may anything be remembered of it.
        memory.conversations.put(result.states)
        memory.last_position = result.last_position
        return result

    def _write(
        self, database: sqlite3.Connection, group: Sequence[Work]
    ) -> GroupResult:
        self._memory.refresh(database)
        writer = GroupWriter(
            database,
            self._memory,
            self._clock.now_ms(),
            judges_grants=self._settings.authority is None,
        )
        return writer.write(group)

    async def close(self) -> None:
        """Refuse what waits, and wait for what is under way, within a bound."""
        await self._steps.close(self._settings.close_deadline_seconds)


def _rewrite_probe(database: sqlite3.Connection) -> None:
    transact(database, lambda within: within.execute(SQL["rewrite_probe"]))


def _is_about_the_data(cause: BaseException | None) -> bool:
    return not isinstance(cause, sqlite3.OperationalError | OSError)


@asynccontextmanager
async def opened(
    settings: Settings,
    clock: Clock,
    membership: Membership = NOBODY,
    *,
    holds_loop: bool = False,
) -> AsyncIterator[SqliteStore]:
    """Open the store of these settings, made anew where there is none.

    With `holds_loop` its writer works on the event loop's thread, see `connected`.

    Raises:
        StoreUnavailable: the file cannot be opened.
        SchemaRefused: the file is not for this server.
    """
    database = settings.database_path
    async with (
        connected(database, settings.busy_timeout_ms, holds_loop=holds_loop) as writer,
        connected(database, settings.busy_timeout_ms) as reader,
    ):
        store_id = await schema.prepare(writer, database, clock.now_ms())
        if writer.file is not None and not holds_loop:
            # So that a writer's process, whenever it starts, opens no other one.
            lock.note_opened(database, writer.file.identity)
        store = SqliteStore(writer, reader, store_id, settings, clock, membership)
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def bindings_opened(
    database: Path, clock: Clock, busy_timeout_ms: int = 5_000
) -> AsyncIterator[SqliteBindings]:
    """Open only the bindings, beside a running server or without one."""
    async with connected(database, busy_timeout_ms) as connection:
        await schema.prepare(connection, database, clock.now_ms())
        yield SqliteBindings(connection)
