"""The one door to the server: commands out, replies in, and what is known of the rest.

The driver repeats nothing: an answer that was lost is an unknown outcome, and whoever
asked decides what to do (every script may be repeated). A durable exchange ends with
the server's word, on the very connection that wrote, that it keeps what it answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final, TypeAlias

from redis.asyncio import BlockingConnectionPool
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import NoScriptError, ResponseError

from bright_server.errors import StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.redis.answers import translated, unavailable
from bright_server.stores.redis.confirming import Confirming
from bright_server.stores.redis.conveyor import Carried, Command, Conveyor, Reply
from bright_server.stores.redis.keys import STORE
from bright_server.stores.redis.pool import pool_of
from bright_server.stores.redis.scripts import Call
from bright_server.stores.storable import storable

Decide: TypeAlias = Callable[[Reply], Sequence[Command]]

_MOST_ATTEMPTS: Final = 200
"""Of a transaction whose grounds change meanwhile; more than a few are never seen."""
_WHOSE: Final[Command] = ("HGET", STORE, "id")
_FOREIGN: Final = (
    "the database there is not the one that was opened: the server has lost its data,"
    " or the address leads to another one; restore it, then start Bright again"
)


class _ForeignDatabase(Exception):  # noqa: N818 - it ends in this module
    """An answer was another database's."""


class RedisLink:
    """Connections to one server; made by `linked`."""

    def __init__(self, pool: BlockingConnectionPool, settings: Settings) -> None:
        self._pool = pool
        self._conveyor = Conveyor(self._carry, max(1, settings.redis_connections // 2))
        self._confirming = Confirming(settings)
        self._is_closed = False
        self._store_id: bytes | None = None

    def expect(self, store_id: str) -> None:
        """From now on take no answer of a database that is another one, or is empty.

        A server that comes back without its data, or a name that leads to another one,
        would else number conversations anew, and its answers would be no ACKs.
        """
        self._store_id = store_id.encode()

    async def talk(
        self, doing: str, commands: Sequence[Command], *, durable: bool = False
    ) -> list[Reply]:
        """Send commands over one connection, and return a reply to each.

        They are no transaction, and go together with those of other callers. With
        `durable`, all that was written on this server before the replies is on its disk
        and on the configured replicas', whoever wrote it: the replies may become ACKs.

        Raises:
            StoreUnavailable: an error reply, or none; the outcome is unknown. Or a text
                of it cannot be kept, and nothing was sent.
        """
        with storable(doing):
            # Here, for what cannot be sent would fail those that it travels with.
            for command in commands:
                _check_texts(command)
        with translated(doing), _in_own_words(doing):
            carried = await self._conveyor.send(commands, durable=durable)
        if carried.fault:
            raise StoreUnavailable(doing, carried.fault)
        return list(_checked(doing, carried.replies))

    async def run(self, doing: str, command: Command, *, durable: bool = True) -> Reply:
        """Send one command and return its reply; see `talk`."""
        return (await self.talk(doing, [command], durable=durable))[0]

    async def transact(
        self,
        doing: str,
        watched: str,
        read: Command,
        decide: Decide,
    ) -> list[Reply]:
        """Read, decide, and do what was decided in one isolated transaction, durably.

        `watched` is the key that was read: if it changes meanwhile, all begins anew. In
        another database than is expected nothing is done.
        Replies are as the commands' own, errors of single ones among them.

        Raises:
            StoreUnavailable: the outcome is unknown.
        """
        with storable(doing), translated(doing), _in_own_words(doing):
            async with self._connection() as connection:
                for _ in range(_MOST_ATTEMPTS):
                    done = await self._attempt(connection, doing, watched, read, decide)
                    if done is not None:
                        break
                else:
                    reason = f"{watched} changes all the time: nothing was done"
                    raise StoreUnavailable(doing, reason)
        if done.fault:
            raise StoreUnavailable(doing, done.fault)
        return list(done.replies)

    async def close(self) -> None:
        """Close every connection; who still waits is told, and who comes later."""
        self._is_closed = True
        await self._conveyor.close()
        await self._pool.disconnect(inuse_connections=True)

    async def _carry(self, commands: Sequence[Command], durable: bool) -> Carried:  # noqa: FBT001 - see `Carry`
        async with self._connection() as connection:
            words = self._confirming.words() if durable else []
            confirmed = self._confirming.confirmed
            size = len(commands)
            found = await _exchange(connection, [*commands, _WHOSE, *words])
            replies, whose, proof = found[:size], found[size], found[size + 1 :]
            self._refuse_foreign(whose)
            if await _repeat_unknown_scripts(connection, commands, replies):
                proof = await _exchange(connection, words)
        fault = self._confirming.fault(proof, confirmed) if durable else None
        return Carried(replies, fault)

    def _refuse_foreign(self, whose: Reply) -> None:
        if self._store_id is None:
            return
        if isinstance(whose, ResponseError):
            raise whose
        if whose != self._store_id:
            raise _ForeignDatabase

    async def _attempt(
        self,
        connection: AbstractConnection,
        doing: str,
        watched: str,
        read: Command,
        decide: Decide,
    ) -> Carried | None:
        """Return what became of it; None: what was read has changed meanwhile."""
        confirmed = self._confirming.confirmed
        looking = self._confirming.looking()
        reading: list[Command] = [("WATCH", watched, STORE), read, _WHOSE, looking]
        *read_now, whose, count = await _exchange(connection, reading)
        self._refuse_foreign(whose)
        refusal = self._confirming.refusal(count, confirmed)
        if refusal:
            raise StoreUnavailable(doing, refusal)
        _, found = _checked(doing, read_now)
        commands = decide(found)
        await _load_missing(connection, doing, commands)
        words = self._confirming.words()
        whole: list[Command] = [("MULTI",), *commands, ("EXEC",), *words]
        told = await _exchange(connection, whole)
        *queued, replies = told[: -len(words)]
        if isinstance(replies, ResponseError):
            # What was wrong with a command says more than that it was not done.
            errors = (each for each in queued if isinstance(each, ResponseError))
            error = next(errors, replies)
            raise unavailable(doing, error) from error
        if replies is None:
            return None
        return Carried(replies, self._confirming.fault(told[-len(words) :], confirmed))

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AbstractConnection]:
        if self._is_closed:
            # The driver would connect anew, and nobody would close that.
            raise ConnectionError("it is closed")
        asked_before = _asked_to_end()
        # The driver has no types for it.
        connection: AbstractConnection = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        try:
            _end_if_asked_since(asked_before)
            yield connection
        except BaseException:
            # Replies may be under way that nobody would read.
            await connection.disconnect(nowait=True)
            raise
        finally:
            await self._pool.release(connection)


@asynccontextmanager
async def linked(settings: Settings) -> AsyncIterator[RedisLink]:
    """Hold the connections to the server of these settings; none is made yet.

    Raises:
        ConfigurationError: the address is not one server of Redis.
    """
    link = RedisLink(pool_of(settings), settings)
    try:
        yield link
    finally:
        await link.close()


@contextmanager
def _in_own_words(doing: str) -> Iterator[None]:
    try:
        yield
    except _ForeignDatabase as error:
        raise StoreUnavailable(doing, _FOREIGN) from error


def _check_texts(command: Command) -> None:
    words = (
        (*command.keys, *command.arguments) if isinstance(command, Call) else command
    )
    for word in words:
        if isinstance(word, str) and not word.isascii():
            word.encode()


def _asked_to_end() -> int:
    """Return how often this task was cancelled; see `_end_if_asked_since`."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def _end_if_asked_since(asked_before: int) -> None:
    """End here if the driver has lost that this task was cancelled.

    It writes through `wait_for`, which in Python 3.11 forgets that when the write is
    done by then: who waits for the task's end would wait for ever.
    """
    if _asked_to_end() > asked_before:
        raise asyncio.CancelledError


async def _exchange(
    connection: AbstractConnection, commands: Sequence[Command]
) -> list[Reply]:
    asked_before = _asked_to_end()
    words = [each.words() if isinstance(each, Call) else each for each in commands]
    await connection.send_packed_command(connection.pack_commands(words))
    _end_if_asked_since(asked_before)
    replies: list[Reply] = []
    for _ in commands:
        try:
            replies.append(await connection.read_response())
        except ResponseError as error:
            replies.append(error)
    return replies


def _checked(doing: str, replies: Sequence[Reply]) -> Sequence[Reply]:
    for reply in replies:
        if isinstance(reply, ResponseError):
            raise unavailable(doing, reply) from reply
    return replies


async def _repeat_unknown_scripts(
    connection: AbstractConnection, commands: Sequence[Command], replies: list[Reply]
) -> bool:
    """Send scripts again, in full, that a restarted server has never seen.

    Return whether there were any.
    """
    unknown = [i for i, each in enumerate(replies) if isinstance(each, NoScriptError)]
    if unknown:
        again = [commands[index] for index in unknown]
        whole = [each.whole() for each in again if isinstance(each, Call)]
        for index, reply in zip(
            unknown, await _exchange(connection, whole), strict=True
        ):
            replies[index] = reply
    return bool(unknown)


async def _load_missing(
    connection: AbstractConnection, doing: str, commands: Sequence[Command]
) -> None:
    """Load scripts before a transaction begins: in it, one would be left out."""
    scripts = {each.script for each in commands if isinstance(each, Call)}
    ordered = sorted(scripts, key=lambda script: script.sha)
    if not ordered:
        return
    names = [script.sha for script in ordered]
    asked = await _exchange(connection, [("SCRIPT", "EXISTS", *names)])
    (there,) = _checked(doing, asked)
    missing = [
        ("SCRIPT", "LOAD", script.body)
        for script, exists in zip(ordered, there, strict=True)
        if not exists
    ]
    if missing:
        _checked(doing, await _exchange(connection, missing))
