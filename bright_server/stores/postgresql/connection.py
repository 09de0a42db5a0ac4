"""Connecting to PostgreSQL: the one door, for every connection that Bright makes.

Whatever the server, the database or the role is set to, each session waits for its
commits to be on disk. The password is read when it is needed, and is in no address.
"""

from __future__ import annotations

import logging
import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg.pq import ConnStatus, PipelineStatus
from psycopg_pool import AsyncConnectionPool

from bright_server.credentials import read_credential
from bright_server.database_address import PostgresqlServer
from bright_server.errors import ConfigurationError, StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.postgresql.queries import SQL

Row: TypeAlias = tuple[Any, ...]

_logger = logging.getLogger(__name__)

# A peer that is gone without a word is noticed in so many seconds.
_NETWORK: Final = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_WARNING: Final = "WARNING"


class StoreConnection(AsyncConnection[Row]):
    """A connection that remembers what the server has warned of."""

    last_fault: ClassVar[str | None] = None
    """Why the last attempt to make one of a pool failed; None: it did not."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - libpq's
        super().__init__(*arguments, **named)
        self.warnings: list[str] = []
        self.add_notice_handler(self._note)

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        # In English whatever the server's language is.
        if notice.severity_nonlocalized == _WARNING:
            self.warnings.append(notice.message_primary or "")


Pool: TypeAlias = AsyncConnectionPool[StoreConnection]


@dataclass(frozen=True, slots=True)
class Target:
    """Where to connect and how; its parts come from the settings."""

    settings: Settings

    @property
    def address(self) -> PostgresqlServer:
        """Return the address; as text it holds no secret.

        Raises:
            ConfigurationError: the settings name another kind of database.
        """
        address = self.settings.database
        if not isinstance(address, PostgresqlServer):
            raise ConfigurationError(
                f"{address} is no PostgreSQL: give postgresql://USER@HOST:PORT/NAME"
            )
        return address

    def conninfo(self) -> str:
        """Return what libpq takes, without the password."""
        address = self.address
        given: dict[str, str | int] = {
            "application_name": "bright",
            "connect_timeout": max(2, round(self.settings.database_connect_seconds)),
            "client_encoding": "utf8",
            "dbname": address.name,
            # Of several hosts the one that can be written: the primary of the moment.
            "target_session_attrs": "read-write" if len(address.hosts) > 1 else "any",
            **_NETWORK,
        }
        if address.hosts:
            given["host"] = ",".join(host.name for host in address.hosts)
            given["port"] = ",".join(str(host.port) for host in address.hosts)
        if address.user is not None:
            given["user"] = address.user
        return make_conninfo("", **(given | dict(address.options)))

    def arguments(self) -> dict[str, Any]:
        """Return what a connection is made with besides; the password is read now.

        Raises:
            ConfigurationError: the file of the password cannot be read.
        """
        password = read_credential(
            "BRIGHT_DATABASE_PASSWORD",
            self.settings.database_password,
            self.settings.database_password_file,
        )
        known = {} if password is None else {"password": password}
        return {"autocommit": True, **known}

    async def configure(self, connection: StoreConnection) -> None:
        """Make a new session durable and bounded."""
        seconds = self.settings.database_statement_seconds
        limits = {
            "statement_ms": str(round(seconds * 1000)),
            "idle_ms": str(round(seconds * 1000)),
        }
        await connection.execute(SQL["set_session"], limits)


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[StoreConnection]:
    """Hold one connection that belongs to no pool.

    Raises:
        StoreUnavailable: the server cannot be reached, or refuses.
        ConfigurationError: the settings name another kind of database.
    """
    target = Target(settings)
    try:
        connection = await StoreConnection.connect(
            target.conninfo(), **target.arguments()
        )
    except psycopg.Error as error:
        raise unreachable(target, error) from error
    async with connection:
        try:
            await target.configure(connection)
        except psycopg.Error as error:
            raise unreachable(target, error) from error
        yield connection


@asynccontextmanager
async def pooled(settings: Settings) -> AsyncIterator[Pool]:
    """Hold a pool, whose connections are made as they are needed."""
    target = Target(settings)

    async def arguments() -> dict[str, Any]:
        try:
            return target.arguments()
        except ConfigurationError as error:
            Pooled.last_fault = str(error)
            raise

    # Of this pool alone: who finds no connection in it is told why.
    class Pooled(StoreConnection):
        @classmethod
        async def connect(cls, conninfo: str = "", **named: Any) -> Self:  # noqa: ANN401
            try:
                made = await super().connect(conninfo, **named)
            except psycopg.Error as error:
                cls.last_fault = worded(error)
                raise
            cls.last_fault = None
            return made

    pool: Pool = AsyncConnectionPool(
        target.conninfo(),
        connection_class=Pooled,
        kwargs=arguments,
        min_size=1,
        max_size=settings.database_connections,
        timeout=settings.database_connect_seconds,
        max_waiting=settings.max_commits_under_way,
        reconnect_timeout=settings.database_connect_seconds,
        configure=target.configure,
        open=False,
    )
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close(settings.database_connect_seconds)


def is_unfit(connection: StoreConnection) -> bool:
    """Say whether nothing should be begun on a connection; asks the server nothing.

    Who was cancelled in the very moment in which the driver had begun a pipeline has
    left it in it: it would copy no rows any more.
    """
    return is_dead(connection) or (
        connection.pgconn.pipeline_status != PipelineStatus.OFF
    )


def is_dead(connection: StoreConnection) -> bool:
    """Say whether a connection's server is known to be gone, without asking it.

    So work is not begun on one that a restart of the server has left behind.
    """
    raw = connection.pgconn
    watch = select.poll()
    watch.register(raw.socket, select.POLLIN | select.POLLPRI | select.POLLHUP)
    # A farewell first, and then the end: it takes two looks to see both.
    for _ in range(2):
        if not watch.poll(0):
            return False
        with suppress(psycopg.Error):
            raw.consume_input()
    return raw.status != ConnStatus.OK


def unreachable(target: Target, error: psycopg.Error) -> StoreUnavailable:
    """Return the words for a server that was not reached; libpq quotes no password."""
    return StoreUnavailable(
        f"connect to {target.address}",
        f"{worded(error)}; check --database, BRIGHT_DATABASE_PASSWORD_FILE and that the"
        " server runs",
    )


def worded(error: BaseException) -> str:
    """Return an error's words on one line."""
    return " ".join(str(error).split()) or type(error).__name__
