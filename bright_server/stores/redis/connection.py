"""The one door to the server: commands out, replies in, and what is known of the rest.

The driver repeats nothing: an answer that was lost is an unknown outcome, and whoever
asked decides what to do (every script may be repeated). Where replicas are configured,
a durable exchange ends with waiting for them on the very connection that wrote.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeAlias

from redis.asyncio import BlockingConnectionPool, SSLConnection
from redis.asyncio.connection import AbstractConnection, Connection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from bright_server.credentials import read_credential
from bright_server.database_address import RedisServer
from bright_server.errors import ConfigurationError, StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.redis.keys import WAITED
from bright_server.stores.redis.scripts import Call

logger = logging.getLogger(__name__)

Word: TypeAlias = str | bytes | int
Command: TypeAlias = tuple[Word, ...] | Call
Reply: TypeAlias = Any
"""What the server's protocol has: bytes, int, None, lists of these, and error replies
as `ResponseError`. Each caller knows what its command answers."""

# RESP2 has one kind of list; what a command answers does not depend on its version.
_PROTOCOL: Final = 2
_REASONS: Final[tuple[tuple[type[RedisError], str], ...]] = (
    (ReadOnlyError, "the server is a read-only replica: give the primary's address"),
    (OutOfMemoryError, "the server's memory is full (maxmemory): give it more"),
    (BusyLoadingError, "the server is still loading its data"),
    (ClusterDownError, "the cluster is down"),
    (AuthenticationError, "the server refused user or password"),
    (NoPermissionError, "the server's access list forbids it to this user"),
)
_CODES: Final = {
    "READONLY": _REASONS[0][1],
    "OOM": _REASONS[1][1],
    "LOADING": _REASONS[2][1],
    "CLUSTERDOWN": _REASONS[3][1],
    "MASTERDOWN": "the server has lost its primary",
    "BUSY": "the server is busy with a script that runs too long",
    "MISCONF": "the server cannot write to its disk, and takes no writes",
    "NOREPLICAS": "the server has too few replicas to take writes",
    "MOVED": "the server is a cluster's node and has not this key",
    "UNKILLABLE": "the server is busy with a script that runs too long",
}


class _Password(CredentialProvider):
    """Reads the password whenever a connection is made."""

    def __init__(self, settings: Settings, user: str | None) -> None:
        self._settings = settings
        self._user = user

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        password = read_credential(
            "BRIGHT_DATABASE_PASSWORD",
            self._settings.database_password,
            self._settings.database_password_file,
        )
        if password is None:
            raise ConfigurationError(
                f"the database's user {self._user!a} needs a password: name its file in"
                " BRIGHT_DATABASE_PASSWORD_FILE"
            )
        return (self._user, password) if self._user else (password,)


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
                replies = (await _exchange(connection, whole))[-1]
                if isinstance(replies, ResponseError):
                    raise unavailable(doing, replies) from replies
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
        # is left out, whoever wrote it, something is written last of all.
        words = [
            ("SET", WAITED, "1"),
            ("WAITAOF", 1, self._replicas, self._wait_ms),
        ]
        _, reply = await _exchange(connection, words)
        if isinstance(reply, ResponseError) and "unknown command" in str(reply).lower():
            (count,) = await _exchange(
                connection, [("WAIT", self._replicas, self._wait_ms)]
            )
            reply = [1, count]
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
    pool = _pool(settings)
    try:
        yield RedisLink(pool, settings)
    finally:
        await pool.disconnect(inuse_connections=True)


def _pool(settings: Settings) -> BlockingConnectionPool:
    address = settings.database
    if not isinstance(address, RedisServer):
        raise ConfigurationError(f"{address} is no address of Redis")
    if len(address.hosts) != 1:
        raise ConfigurationError(
            f"{address} names several hosts: give the primary's alone"
        )
    timeout = settings.redis_timeout_seconds
    how: dict[str, Any] = {
        "host": address.hosts[0].name,
        "port": address.hosts[0].port,
        "db": address.number,
        "protocol": _PROTOCOL,
        "retry": Retry(NoBackoff(), 0),
        "socket_connect_timeout": timeout,
        "socket_timeout": timeout + settings.redis_wait_ms / 1_000,
        "timeout": timeout,
        "max_connections": settings.redis_connections,
    }
    if address.user or settings.database_password or settings.database_password_file:
        how["credential_provider"] = _Password(settings, address.user)
    if address.tls:
        how |= _tls(dict(address.options))
        return BlockingConnectionPool(connection_class=SSLConnection, **how)
    return BlockingConnectionPool(connection_class=Connection, **how)


def _tls(options: dict[str, str]) -> dict[str, Any]:
    return {
        "ssl_cert_reqs": "required",
        "ssl_check_hostname": True,
        "ssl_ca_certs": options.get("sslrootcert"),
        "ssl_certfile": options.get("sslcert"),
        "ssl_keyfile": options.get("sslkey"),
    }


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


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn the driver's errors into the store's, the cause kept (MS-30)."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise unavailable(doing, error) from error


def unavailable(doing: str, error: BaseException) -> StoreUnavailable:
    """Return what an error of the driver means, in the store's own words."""
    if not isinstance(error, RedisError):
        return StoreUnavailable(doing, f"no connection: {error}")
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return StoreUnavailable(doing, reason)
    if isinstance(error, ResponseError):
        code = str(error).partition(" ")[0]
        reason = _CODES.get(code, "the server refused a command")
        if code not in _CODES:
            logger.error("the server refused a command: %s", error)
        return StoreUnavailable(doing, reason)
    return StoreUnavailable(doing, f"the server does not answer: {error}")
