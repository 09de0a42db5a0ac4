"""The one door to the server: commands out, replies in, and what is known of the rest.

The driver repeats nothing: an answer that was lost is an unknown outcome, and whoever
asked decides what to do (every script may be repeated). Where replicas are configured,
a durable exchange ends with waiting for them on the very connection that wrote.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from redis.asyncio import BlockingConnectionPool
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import NoScriptError, ResponseError

from bright_server.errors import StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.redis.answers import translated, unavailable
from bright_server.stores.redis.keys import WAITED
from bright_server.stores.redis.pool import pool_of
from bright_server.stores.redis.scripts import Call

Word: TypeAlias = str | bytes | int
Command: TypeAlias = tuple[Word, ...] | Call
Reply: TypeAlias = Any
"""What the server's protocol has: bytes, int, None, lists of these, and error replies
as `ResponseError`. Each caller knows what its command answers."""


class RedisLink:
    """Connections to one server; made by `linked`."""

    def __init__(self, pool: BlockingConnectionPool, settings: Settings) -> None:
        self._pool = pool
        self._replicas = settings.redis_replicas
        self._wait_ms = settings.redis_wait_ms

    async def talk(
        self, doing: str, commands: Sequence[Command], *, durable: bool = False
    ) -> list[Reply]:
        """Send commands over one connection, and return a reply to each.

        They are no transaction. With `durable`, all that was written on this server
        before the replies is also on the configured replicas' disks, whoever wrote it:
        the replies may become ACKs.

        Raises:
            StoreUnavailable: an error reply, or none; the outcome is unknown.
        """
        async with self._connection(doing) as connection:
            replies = await _exchange(connection, commands)
            await _repeat_unknown_scripts(connection, commands, replies)
            if durable:
                await self._await_replicas(connection, doing)
        for reply in replies:
            if isinstance(reply, ResponseError):
                raise unavailable(doing, reply) from reply
        return replies

    async def run(self, doing: str, command: Command, *, durable: bool = True) -> Reply:
        """Send one command and return its reply; see `talk`."""
        return (await self.talk(doing, [command], durable=durable))[0]

    async def transact(
        self,
        doing: str,
        watched: str,
        read: Command,
        decide: Callable[[Reply], Sequence[Command]],
    ) -> list[Reply]:
        """Read, decide, and do what was decided in one isolated transaction, durably.

        `watched` is the key that was read: if it changes meanwhile, all begins anew.
        Replies are as the commands' own, errors of single ones among them.

        Raises:
            StoreUnavailable: the outcome is unknown.
        """
        async with self._connection(doing) as connection:
            while True:
                *_, found = await _checked(
                    connection, doing, [("WATCH", watched), read]
                )
                commands = decide(found)
                if not commands:
                    await _checked(connection, doing, [("UNWATCH",)])
                    return []
                await _load_missing(connection, doing, commands)
                whole: list[Command] = [("MULTI",), *commands, ("EXEC",)]
                *queued, replies = await _exchange(connection, whole)
                if isinstance(replies, ResponseError):
                    # What was wrong with a command says more than that it was not done.
                    errors = (e for e in queued if isinstance(e, ResponseError))
                    error = next(errors, replies)
                    raise unavailable(doing, error) from error
                if replies is not None:
                    break
            await self._await_replicas(connection, doing)
            return list(replies)

    @asynccontextmanager
    async def _connection(self, doing: str) -> AsyncIterator[AbstractConnection]:
        with translated(doing):
            # The driver has no types for it.
            connection: AbstractConnection = await self._pool.get_connection()  # type: ignore[no-untyped-call]
            try:
                yield connection
            except BaseException:
                # Replies may be under way that nobody would read.
                await connection.disconnect(nowait=True)
                raise
            finally:
                await self._pool.release(connection)

    async def _await_replicas(self, connection: AbstractConnection, doing: str) -> None:
        if not self._replicas:
            return
        # The server waits for what this connection wrote last; so that nothing before
        # is left out, whoever wrote it, something is written last of all. A replica
        # answers at once with what it has synced by then, and unasked once a second
        # only: asked when it has the write, it answers before it has synced it. So it
        # is asked twice.
        words: list[Command] = [
            ("SET", WAITED, "1"),
            ("WAIT", self._replicas, self._wait_ms),
            ("WAITAOF", 1, self._replicas, self._wait_ms),
        ]
        _, count, reply = await _exchange(connection, words)
        if isinstance(reply, ResponseError) and "unknown command" in str(reply).lower():
            # Redis before 7.2: in a replica's memory is all that can be known.
            reply = count if isinstance(count, ResponseError) else [1, count]
        if isinstance(reply, ResponseError):
            raise unavailable(doing, reply) from reply
        here, there = reply
        if here < 1 or there < self._replicas:
            raise StoreUnavailable(
                doing,
                f"{there} of {self._replicas} replicas had it on disk within"
                f" {self._wait_ms} ms (BRIGHT_REDIS_REPLICAS): it may be kept or not",
            )


@asynccontextmanager
async def linked(settings: Settings) -> AsyncIterator[RedisLink]:
    """Hold the connections to the server of these settings; none is made yet.

    Raises:
        ConfigurationError: the address is not one server of Redis.
    """
    pool = pool_of(settings)
    try:
        yield RedisLink(pool, settings)
    finally:
        await pool.disconnect(inuse_connections=True)


async def _exchange(
    connection: AbstractConnection, commands: Sequence[Command]
) -> list[Reply]:
    words = [each.words() if isinstance(each, Call) else each for each in commands]
    await connection.send_packed_command(connection.pack_commands(words))
    replies: list[Reply] = []
    for _ in commands:
        try:
            replies.append(await connection.read_response())
        except ResponseError as error:
            replies.append(error)
    return replies


async def _checked(
    connection: AbstractConnection, doing: str, commands: Sequence[Command]
) -> list[Reply]:
    replies = await _exchange(connection, commands)
    for reply in replies:
        if isinstance(reply, ResponseError):
            raise unavailable(doing, reply) from reply
    return replies


async def _repeat_unknown_scripts(
    connection: AbstractConnection, commands: Sequence[Command], replies: list[Reply]
) -> None:
    """Send scripts again, in full, that a restarted server has never seen."""
    unknown = [i for i, each in enumerate(replies) if isinstance(each, NoScriptError)]
    if unknown:
        again = [commands[index] for index in unknown]
        whole = [each.whole() for each in again if isinstance(each, Call)]
        for index, reply in zip(
            unknown, await _exchange(connection, whole), strict=True
        ):
            replies[index] = reply


async def _load_missing(
    connection: AbstractConnection, doing: str, commands: Sequence[Command]
) -> None:
    """Load scripts before a transaction begins: in it, one would be left out."""
    scripts = {each.script for each in commands if isinstance(each, Call)}
    ordered = sorted(scripts, key=lambda script: script.sha)
    if not ordered:
        return
    names = [script.sha for script in ordered]
    (there,) = await _checked(connection, doing, [("SCRIPT", "EXISTS", *names)])
    missing = [
        ("SCRIPT", "LOAD", script.body)
        for script, exists in zip(ordered, there, strict=True)
        if not exists
    ]
    if missing:
        await _checked(connection, doing, missing)
