"""Transactions over a pool: begun, committed, given up, and tried again within a bound.

A transaction that a server has certainly rolled back is tried again. One whose COMMIT
was not answered may be on disk or not: that is never guessed, and `StoreUnavailable`
says so.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from typing import Final, TypeAlias, TypeVar

import psycopg
from psycopg import errors as server_says
from psycopg.pq import TransactionStatus
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from bright_server.errors import MessageStoreError, StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.postgresql.connection import (
    Pool,
    Row,
    StoreConnection,
    is_unfit,
    worded,
)
from bright_server.stores.postgresql.durability import fault_of, refusal_of
from bright_server.stores.postgresql.queries import SQL

T = TypeVar("T")
Statement: TypeAlias = tuple[str, Sequence[object] | Mapping[str, object]]

logger = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 0.01
_READINESS_PATIENCE: Final = 0.75
_ROOM_ROW_BYTES: Final = 1_000  # below what is compressed
# What the server says of a transaction that it has rolled back for no fault of its own.
_TRANSIENT: Final = (
    server_says.SerializationFailure,
    server_says.DeadlockDetected,
    server_says.LockNotAvailable,
)


class Transaction:
    """One transaction on one connection; made by `Database.write`."""

    def __init__(self, connection: StoreConnection, store_id: str) -> None:
        self.connection = connection
        self.may_be_committed = False
        self._may_commit: Statement = ("may_commit", (store_id,))

    async def begin(self, *statements: Statement) -> list[list[Row]]:
        """Begin with these statements, in one round trip; return the rows of each."""
        return (await self.run(("begin", ()), *statements))[1:]

    async def run(self, *statements: Statement) -> list[list[Row]]:
        """Run statements in one round trip; return the rows of each."""
        return await run_all(self.connection, statements)

    async def copy(self, name: str, rows: Iterable[Sequence[object]]) -> None:
        """Add rows by COPY."""
        async with (
            self.connection.cursor() as cursor,
            cursor.copy(SQL[name]) as copy,
        ):
            for row in rows:
                await copy.write_row(row)

    async def commit(self, *statements: Statement) -> list[list[Row]]:
        """Run the last statements and commit, in one round trip.

        In the same one the server says that it has the store that was opened, and
        that it is set up durably; else nothing is committed (MS-27).

        Raises:
            StoreUnavailable: it is not on disk, or not where it has to be besides.
        """
        self.connection.warnings.clear()
        self.may_be_committed = True
        rows = await self.run(*statements, self._may_commit, ("commit", ()))
        if self.connection.warnings:
            # A wait for a standby that was called off: it is on this disk alone.
            raise StoreUnavailable(
                "commit durably", "; ".join(self.connection.warnings)
            )
        return rows[:-2]


class Database:
    """A pool, and how it is used.

    Nothing is read from, or written to, another store than the one that was opened,
    whatever has come to be under its address.
    """

    def __init__(self, pool: Pool, store_id: str, settings: Settings) -> None:
        self._pool = pool
        self._store_id = store_id
        self._same_store: Statement = ("same_store", (store_id,))
        self._settings = settings
        # How often there was reason to doubt that there is room, and the last doubt
        # that was cleared: a server that has just started has proven nothing.
        self._doubts = 1
        self._cleared = 0

    async def write(self, doing: str, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Do work in a transaction, which it begins and commits.

        What was surely rolled back is done again, from its beginning.

        Raises:
            StoreUnavailable: it was not done, or nobody knows.
        """
        return await self._patiently(doing, work)

    async def read(self, doing: str, *statements: Statement) -> list[list[Row]]:
        """Run statements of which each is a transaction; return the rows of each.

        Raises:
            StoreUnavailable: they could not be run, or nobody knows.
        """
        return (await self.read_for_ack(doing, *statements))[1]

    async def read_for_ack(
        self, doing: str, *statements: Statement
    ) -> tuple[bool, list[list[Row]]]:
        """Do as `read` does; say also whether a standby has to have what is ACKed.

        Raises:
            StoreUnavailable: they could not be run, or nobody knows.
        """

        async def work(transaction: Transaction) -> list[list[Row]]:
            return await transaction.run(self._same_store, *statements)

        ((standbys,),), *rows = await self._patiently(doing, work)
        return bool(standbys), rows

    async def run(self, doing: str, name: str, *parameters: object) -> list[Row]:
        """Run one statement as a transaction of its own; return its rows.

        Raises:
            StoreUnavailable: it was not run, or nobody knows.
        """
        (rows,) = await self.read(doing, (name, parameters))
        return rows

    async def run_named(
        self, doing: str, statement: str, /, **parameters: object
    ) -> list[Row]:
        """Run one statement as `run` does; its parameters have names.

        Raises:
            StoreUnavailable: it was not run, or nobody knows.
        """
        (rows,) = await self.read(doing, (statement, parameters))
        return rows

    async def prove_writable(self) -> None:
        """Write once, changing nothing, and read it; the server must be set up durably.

        Raises:
            StoreUnavailable: it is not, or cannot be written; and what to do.
        """
        doing = f"write to {self._settings.database}"
        # In time to say within the deadline why there is no connection.
        patience = self._settings.readiness_deadline_seconds * _READINESS_PATIENCE
        async with self._held(doing, patience):
            pass
        (row,) = await self.run(doing, "durability")
        fault = fault_of(row)
        if fault is not None:
            raise StoreUnavailable(doing, fault)
        (written,) = await self.write_at_once(doing, ("rewrite_probe", ()))
        read = await self.run(doing, "read_probe")
        if not written or read[0][0] < written[0][0]:
            raise StoreUnavailable(doing, "what was written is not what is read")
        await self.prove_room()

    async def prove_room(self) -> None:
        """Prove that there is room for messages, where that is in doubt (MS-15).

        It is in doubt at the start, and since a write failed for lack of room or with
        its connection. A probe that is written over itself finds room on a full disk,
        where no message does; what is written here is rolled back.

        Raises:
            StoreUnavailable: there is none, or nobody knows.
        """
        doubts = self._doubts
        if doubts == self._cleared:
            return
        rows = -(-self._settings.readiness_room_bytes // _ROOM_ROW_BYTES)

        async def work(transaction: Transaction) -> None:
            await transaction.begin(
                ("use_room_of_the_database", ()),
                ("make_room", ()),
                ("fill_room", (rows, _ROOM_ROW_BYTES)),
            )

        try:
            await self.write("write as much as a message takes", work)
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, server_says.InsufficientPrivilege):
                raise
            logger.warning(
                "whether there is room on the disk is not proven: GRANT TEMPORARY ON"
                " DATABASE to this role"
            )
        # A write that has failed meanwhile is a doubt of its own.
        self._cleared = doubts

    async def write_at_once(
        self, doing: str, *statements: Statement
    ) -> list[list[Row]]:
        """Run statements as one transaction in one round trip; return their rows.

        Raises:
            StoreUnavailable: it was not done, or nobody knows.
        """

        async def work(transaction: Transaction) -> list[list[Row]]:
            return (await transaction.commit(("begin", ()), *statements))[1:]

        return await self.write(doing, work)

    async def _patiently(
        self, doing: str, work: Callable[[Transaction], Awaitable[T]]
    ) -> T:
        attempts = self._settings.max_database_attempts
        for attempt in range(1, attempts + 1):
            try:
                return await self._attempt(doing, work)
            except _RolledBack as again:
                cause = again.cause
                if attempt == attempts:
                    raise StoreUnavailable(doing, worded(cause)) from cause
                logger.info("to %s is tried again: %s", doing, worded(cause))
            # Not all at once: whoever met here would meet again.
            await asyncio.sleep(_PAUSE_SECONDS * 2**attempt * random.random())  # noqa: S311
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(
        self, doing: str, work: Callable[[Transaction], Awaitable[T]]
    ) -> T:
        async with self._held(doing) as connection:
            return await self._on(connection, doing, work)

    @asynccontextmanager
    async def _held(
        self, doing: str, patience_seconds: float | None = None
    ) -> AsyncIterator[StoreConnection]:
        """Hold a connection of the pool that is not known to be unfit."""
        try:
            # A server that was started again has left as many as there are. The pool's
            # own check would pause after each, for seconds altogether.
            for _ in range(self._settings.database_connections):
                async with self._pool.connection(patience_seconds) as connection:
                    if not is_unfit(connection):
                        yield connection
                        return
                    await connection.close()
            async with self._pool.connection(patience_seconds) as connection:
                yield connection
        except (PoolTimeout, PoolClosed, TooManyRequests) as error:
            fault = self._pool.connection_class.last_fault
            raise StoreUnavailable(
                doing,
                f"{worded(error)}{f' ({fault})' if fault else ''}; is PostgreSQL up at"
                f" {self._settings.database}, and are BRIGHT_DATABASE_CONNECTIONS"
                " enough?",
            ) from error

    async def _on(
        self,
        connection: StoreConnection,
        doing: str,
        work: Callable[[Transaction], Awaitable[T]],
    ) -> T:
        transaction = Transaction(connection, self._store_id)
        try:
            async with asyncio.timeout(self._settings.database_transaction_seconds):
                result = await self._done(transaction, work)
                await self._end(connection)
                return result
        except TimeoutError as error:
            await connection.close()
            raise StoreUnavailable(
                doing, "no answer in time: it may or may not have been done"
            ) from error
        except psycopg.Error as error:
            await self._give_up(connection)
            raise await self._judged(doing, transaction, error) from error
        except (UnicodeError, OverflowError) as error:
            await self._give_up(connection)
            raise StoreUnavailable(doing, str(error)) from error
        except BaseException:
            await self._give_up(connection)
            raise

    async def _done(
        self, transaction: Transaction, work: Callable[[Transaction], Awaitable[T]]
    ) -> T:
        try:
            return await work(transaction)
        except MessageStoreError:
            # What another store has, or has not, is no reason to refuse anything.
            if not transaction.may_be_committed:
                await transaction.run(self._same_store)
            raise

    async def _judged(
        self, doing: str, transaction: Transaction, error: psycopg.Error
    ) -> Exception:
        """Return what to raise: whether it is certain that nothing was done."""
        if isinstance(error, server_says.DiskFull) or transaction.connection.closed:
            # A server that has no room for its log ends.
            self._doubts += 1
        if isinstance(error, _TRANSIENT):
            return _RolledBack(error)
        if isinstance(error, server_says.ReadOnlySqlTransaction):
            # The primary has become a standby: whoever is the primary now is found.
            await transaction.connection.close()
            await self._pool.check()
            return _RolledBack(error)
        if not transaction.connection.closed:
            return StoreUnavailable(doing, refusal_of(error) or worded(error))
        # Others of the pool may be as dead as this one was.
        await self._pool.check()
        if transaction.may_be_committed:
            return StoreUnavailable(
                doing, f"{worded(error)}: it may or may not have been done"
            )
        return _RolledBack(error)

    @staticmethod
    async def _end(connection: StoreConnection) -> None:
        """Roll back what was begun and not committed; its driver would commit it."""
        if connection.info.transaction_status != TransactionStatus.IDLE:
            await connection.rollback()

    async def _give_up(self, connection: StoreConnection) -> None:
        if connection.closed:
            return
        try:
            async with asyncio.timeout(self._settings.database_connect_seconds):
                await connection.rollback()
        except (psycopg.Error, TimeoutError):
            await connection.close()


class _RolledBack(Exception):  # noqa: N818 - caught where it is raised
    """Nothing of it was done, and it may be done again."""

    def __init__(self, cause: psycopg.Error) -> None:
        super().__init__()
        self.cause = cause


async def run_all(
    connection: StoreConnection, statements: Sequence[Statement]
) -> list[list[Row]]:
    """Run statements in one round trip; return the rows of each."""
    if not statements:
        return []
    async with connection.pipeline():
        cursors = [
            await connection.execute(SQL[name], parameters)
            for name, parameters in statements
        ]
    return [await cursor.fetchall() if cursor.description else [] for cursor in cursors]


def is_about_the_data(cause: BaseException | None) -> bool:
    """Say whether it is the data that a statement cannot store, whoever tries."""
    state = cause.sqlstate if isinstance(cause, psycopg.Error) else None
    # Data, integrity and limits; what the driver refuses itself has no state.
    return isinstance(
        cause, psycopg.DataError | psycopg.IntegrityError | UnicodeError | OverflowError
    ) or (state is not None and state[:2] in {"22", "23", "54"})
