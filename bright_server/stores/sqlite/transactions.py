"""Transactions on the connection that writes, and many callers' steps in one of them.

`Transactions` opens, commits and rolls back, and waits for another process that holds
the lock. `StepWriter` lets single commits share the price of a durable transaction:
while one is on its way to the disk, the steps of all other callers gather; then all of
them become the next.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from bright_server.clock import Clock
from bright_server.errors import StoreUnavailable
from bright_server.stores.sqlite.connection import (
    StoreConnection,
    is_busy,
    is_full,
    scalar,
    translated,
)
from bright_server.stores.sqlite.queries import SQL

T = TypeVar("T")

_ABOUT_THE_DATA = (
    UnicodeError,
    OverflowError,
    sqlite3.DataError,
    sqlite3.IntegrityError,
)


class Transactions:
    """Does work in durable transactions, one after the other, on one connection."""

    def __init__(
        self, connection: StoreConnection, clock: Clock, patience_seconds: float
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._patience_seconds = patience_seconds
        # How often there was reason to doubt that there is room, and the last doubt
        # that was cleared: a server that has just started has proven nothing.
        self._doubts = 1
        self._cleared = 0

    async def prove_room(self, size_bytes: int) -> None:
        """Prove that so much could be written, where that is in doubt (MS-15).

        It is in doubt at the start, and since a write failed for lack of room: a probe
        that is written over itself, into what the log has of room already, finds some
        where no message does. What is written here is rolled back.

        Raises:
            StoreUnavailable: it could not.
        """
        doubts = self._doubts
        if doubts != self._cleared:
            await self.do(partial(_fill, size_bytes=size_bytes))
            # A write that has failed meanwhile is a doubt of its own.
            self._cleared = doubts

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work`, which opens and closes its transaction itself, see `transact`.

        Raises:
            StoreUnavailable: it may or may not be on disk.
        """
        # BEGIN IMMEDIATE: a transaction that read first and wrote later would not wait
        # for the lock but fail at once. Each try waits for the driver's busy timeout
        # only, so that a server that goes down is not held up by a locked database.
        deadline = self._clock.steady_seconds() + self._patience_seconds
        while True:
            try:
                with translated("commit"):
                    return await self._connection.do(work)
            except StoreUnavailable as error:
                if is_full(error.__cause__):
                    self._doubts += 1
                if not is_busy(error.__cause__):
                    raise
                if self._clock.steady_seconds() > deadline:
                    raise
                # A connection that holds the loop lets nobody else in by itself.
                await asyncio.sleep(0)


def transact(
    database: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]
) -> T:
    """Do work from BEGIN to COMMIT; what it returns is on disk then."""
    database.execute(SQL["begin"])
    try:
        result = work(database)
        database.execute(SQL["commit"])
    except BaseException:
        # A failed COMMIT may have rolled back by itself already.
        if database.in_transaction:
            database.execute(SQL["rollback"])
        raise
    return result


def _fill(database: sqlite3.Connection, size_bytes: int) -> None:
    """Write more than is kept in memory, so that it reaches the disk; roll back."""
    kept = scalar(database, SQL["cache_size"])
    database.execute(SQL["small_cache"])
    try:
        database.execute(SQL["begin"])
        try:
            database.execute(SQL["fill_room"], (size_bytes,))
        finally:
            if database.in_transaction:
                database.execute(SQL["rollback"])
    finally:
        # The number is SQLite's own, and a pragma takes no parameter.
        database.execute(f"PRAGMA cache_size={int(str(kept))}")


class StepRunner(Protocol):
    """Does a step in a durable transaction."""

    async def __call__(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Return what the step returned, once it is on disk.

        Raises:
            StoreUnavailable: it may or may not be on disk.
        """
        ...


@dataclass(slots=True)
class _Waiting:
    step: Callable[[sqlite3.Connection], Any]
    told: asyncio.Future[Any]


class StepWriter:
    """Does the steps of many callers in few transactions; see `StepRunner`.

    Args:
        transactions: where they are done.
        most_together: bounds a transaction.
        most_waiting: one step more is refused.
        committed: is called on the connection's thread after each transaction.
    """

    def __init__(
        self,
        transactions: Transactions,
        most_together: int,
        most_waiting: int,
        committed: Callable[[], None],
    ) -> None:
        self._transactions = transactions
        self._most_together = most_together
        self._most_waiting = most_waiting
        self._committed = committed
        self._waiting: deque[_Waiting] = deque()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """See `StepRunner`; a step that fails changes nothing, and spoils no other."""
        if len(self._waiting) >= self._most_waiting:
            raise StoreUnavailable(
                "commit", f"{len(self._waiting)} steps wait already: try again later"
            )
        told: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(step, told))
        if self._running is None:
            self._running = asyncio.create_task(self._run(), name="step writer")
        return await told

    async def close(self, patience_seconds: float) -> None:
        """Refuse what waits; what is under way is waited for, within this bound."""
        waiting, self._waiting = self._waiting, deque()
        for each in waiting:
            _fail(each, _closing())
        if self._running is not None:
            running = self._running
            await asyncio.wait({running}, timeout=patience_seconds)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while self._waiting:
                most = min(len(self._waiting), self._most_together)
                group = [self._waiting.popleft() for _ in range(most)]
                await self._do(group)
        finally:
            self._running = None

    async def _do(self, group: Sequence[_Waiting]) -> None:
        # A step whose caller has gone is done all the same: it was asked for.
        steps = [each.step for each in group]
        try:
            results = await self._transactions.do(partial(self._transact, steps=steps))
        except asyncio.CancelledError:
            for each in group:
                _fail(each, _closing())
            raise
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            for each in group:
                _fail(each, error)
            return
        for each, result in zip(group, results, strict=True):
            if isinstance(result, _Failed):
                _fail(each, result.error)
            elif not each.told.done():
                each.told.set_result(result)

    def _transact(
        self,
        database: sqlite3.Connection,
        steps: Sequence[Callable[[sqlite3.Connection], Any]],
    ) -> list[Any]:
        try:
            return transact(database, partial(_each_alone, steps=steps))
        finally:
            self._committed()


@dataclass(frozen=True, slots=True)
class _Failed:
    error: Exception


def _each_alone(
    database: sqlite3.Connection, steps: Sequence[Callable[[sqlite3.Connection], Any]]
) -> list[Any]:
    """Do each step as if it were alone: one that fails leaves no trace."""
    results: list[Any] = []
    for step in steps:
        database.execute(SQL["savepoint"])
        try:
            results.append(step(database))
        except sqlite3.Error as error:
            # A disk that is full or fails: it is the same for all of them.
            if not isinstance(error, _ABOUT_THE_DATA):
                raise
            results.append(_failed(error))
            database.execute(SQL["rollback_to"])
        except Exception as error:  # noqa: BLE001 - handed to its caller
            results.append(_failed(error))
            database.execute(SQL["rollback_to"])
        database.execute(SQL["release"])
    return results


def _closing() -> StoreUnavailable:
    return StoreUnavailable("commit", "it is being closed")


def _failed(error: Exception) -> _Failed:
    if isinstance(error, _ABOUT_THE_DATA):
        unavailable = StoreUnavailable("commit", str(error))
        unavailable.__cause__ = error
        return _Failed(unavailable)
    return _Failed(error)


def _fail(waiting: _Waiting, error: Exception) -> None:
    if waiting.told.done():
        return
    # One error of many callers: each gets its own, for a traceback grows on it.
    if isinstance(error, StoreUnavailable):
        own = StoreUnavailable(error.doing, error.reason)
        own.__cause__ = error.__cause__
        waiting.told.set_exception(own)
    else:
        waiting.told.set_exception(error)
