"""Bright's disk: one SQLite database in memory that outlives every server.

What a server wants written is a job that waits until the scheduler lets it happen, and
its outcome waits until the scheduler lets it be told: so a server can die before a
transaction, inside it at any statement, at its COMMIT, and between the COMMIT and the
word of it. The statements and the transactions are SQLite's own.
"""

from __future__ import annotations

import sqlite3
from asyncio import Future
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, cast

from bright_server.stores.sqlite.connection import StoreConnection
from bright_server.stores.sqlite.queries import SQL
from bright_server.stores.sqlite.schema import SCHEMA_VERSION, split_statements, steps
from extension_harness.simulation.errors import SimulationFaultError
from extension_harness.simulation.server.loop import VirtualLoop

Work: TypeAlias = Callable[[sqlite3.Connection], Any]
Scope: TypeAlias = tuple[str, str, str]

IN_MEMORY = Path("simulated.db")


class PowerCutError(BaseException):
    """The server's process ends here, inside a transaction.

    Nothing that a program may catch: like the signal, it is no `Exception`.
    """


@dataclass(slots=True)
class Job:
    """Work for the writer; `result` or `error` is set once it was done."""

    work: Work
    told: Future[Any]
    is_done: bool = False
    result: Any = None
    error: BaseException | None = None


class _Statements:
    """The database as a job sees it; dies, or fails, at a chosen statement."""

    def __init__(
        self,
        database: sqlite3.Connection,
        dies_at: int | None,
        fails: sqlite3.Error | None,
    ) -> None:
        self._database = database
        self._dies_at = dies_at
        self._fails = fails
        self._statements = 0

    @property
    def in_transaction(self) -> bool:
        return self._database.in_transaction

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        self._count(sql)
        return self._database.execute(sql, parameters)

    def executemany(self, sql: str, rows: Iterable[Any]) -> sqlite3.Cursor:
        self._count(sql)
        return self._database.executemany(sql, rows)

    def _count(self, sql: str) -> None:
        if sql == SQL["rollback"]:
            return
        self._statements += 1
        if self._statements == self._dies_at:
            raise PowerCutError
        if self._fails is not None and sql == SQL["commit"]:
            raise self._fails


class ServerDisk:
    """The database, and what the server of the moment wants of it."""

    def __init__(self, store_id: str) -> None:
        self.database = _opened(_template(), store_id)
        self.store_id = store_id
        self.writes: deque[Job] = deque()
        self.is_reachable = True
        """False: reads are not answered, as of an authority that is down."""
        self._held_reads: deque[Job] = deque()
        self.commits_late = False
        """A planted bug: an outcome is told before it is on the disk."""
        self._late: bytes | None = None

    # For the server: what aiosqlite's connections give it.

    def writer(self, loop: VirtualLoop) -> StoreConnection:
        """Return the connection on which groups are committed."""
        return cast("StoreConnection", _Writer(self, loop))

    def reader(self, loop: VirtualLoop) -> StoreConnection:
        """Return the connection on which bindings are read."""
        return cast("StoreConnection", _Reader(self, loop))

    # For the scheduler.

    def write(
        self, *, dies_at: int | None = None, fails: sqlite3.Error | None = None
    ) -> None:
        """Do the oldest job that was not done yet; its outcome is not told.

        Raises:
            PowerCutError: it died at the statement `dies_at`; nothing is committed.
        """
        job = next(each for each in self.writes if not each.is_done)
        statements = _Statements(self.database, dies_at, fails)
        before = self.copy() if self.commits_late else None
        try:
            job.result = job.work(cast("sqlite3.Connection", statements))
        except PowerCutError:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
            raise
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            job.error = error
        job.is_done = True
        if before is not None:
            self._late = self.copy()
            self._put(before)

    def catch_up(self) -> None:
        """Commit what was told too early, if the server has lived so long."""
        late, self._late = self._late, None
        if late is not None:
            self._put(late)

    def tell(self) -> None:
        """Tell the outcome of the oldest job that was done."""
        job = self.writes.popleft()
        if not job.is_done:
            raise SimulationFaultError("a job that was not done was told of")
        if not job.told.done():
            _settle(job)

    def forget_jobs(self) -> None:
        """The server is dead: what it wanted is nobody's any more."""
        self.writes.clear()
        self._held_reads.clear()
        self._late = None
        if self.database.in_transaction:
            self.database.execute("ROLLBACK")

    def read(self, job: Job) -> None:
        """Do a read at once, or hold it while nothing is answered."""
        if not self.is_reachable:
            self._held_reads.append(job)
            return
        try:
            job.result = job.work(self.database)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            job.error = error
        if not job.told.done():
            _settle(job)

    def reach(self, *, is_reachable: bool) -> None:
        """Say whether reads are answered; those that were held are, late."""
        self.is_reachable = is_reachable
        while is_reachable and self._held_reads:
            self.read(self._held_reads.popleft())

    def copy(self) -> bytes:
        """Return a copy of what is committed."""
        return self.database.serialize()

    def restore(self, content: bytes, store_id: str) -> None:
        """Put an older copy in the place of the database; it is another store now."""
        self.forget_jobs()
        self.store_id = store_id
        self._put(content)

    def _put(self, content: bytes) -> None:
        self.database.close()
        self.database = _opened(content, self.store_id)


class _Writer:
    def __init__(self, disk: ServerDisk, loop: VirtualLoop) -> None:
        self._disk = disk
        self._loop = loop

    async def do(self, work: Work) -> Any:  # noqa: ANN401 - whatever the work gives
        job = Job(work, self._loop.create_future())
        self._disk.writes.append(job)
        return await job.told


class _Reader:
    def __init__(self, disk: ServerDisk, loop: VirtualLoop) -> None:
        self._disk = disk
        self._loop = loop

    async def do(self, work: Work) -> Any:  # noqa: ANN401 - whatever the work gives
        job = Job(work, self._loop.create_future())
        self._disk.read(job)
        return await job.told

    async def execute_fetchall(
        self, sql: str, parameters: Sequence[Any] = ()
    ) -> list[Any]:
        rows: list[Any] = await self.do(
            lambda database: database.execute(sql, parameters).fetchall()
        )
        return rows


def _settle(job: Job) -> None:
    if job.error is not None:
        job.told.set_exception(job.error)
    else:
        job.told.set_result(job.result)


def _opened(content: bytes, store_id: str) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.deserialize(content)
    database.execute("UPDATE store SET store_id = ?", (store_id,))
    return database


@cache
def _template() -> bytes:
    """An empty database at today's version, made by the server's own steps."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    for step in steps():
        for statement in split_statements(step.statements):
            database.execute(statement)
    database.execute(
        "INSERT INTO store VALUES (1, ?, ?, ?, ?)", ("", SCHEMA_VERSION, 1, 0)
    )
    content = database.serialize()
    database.close()
    return content
