"""The back end on PostgreSQL: one pool, and every door into the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bright_server.clock import Clock
from bright_server.commit.contract import NOBODY, Membership
from bright_server.logs.postgresql import PostgresqlLog
from bright_server.settings import Settings
from bright_server.stores.postgresql import schema
from bright_server.stores.postgresql.bindings import PostgresqlBindings
from bright_server.stores.postgresql.commits import PostgresqlMessageStore
from bright_server.stores.postgresql.connection import connected, pooled
from bright_server.stores.postgresql.database import Database
from bright_server.stores.postgresql.observations import PostgresqlObservations
from bright_server.stores.postgresql.reader import PostgresqlMessages


class PostgresqlBackend:
    """See `Backend`; made by `opened`."""

    def __init__(
        self,
        database: Database,
        store_id: str,
        membership: Membership,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self.database = database
        self.observations = PostgresqlObservations(database, store_id, settings, clock)
        self.commits = PostgresqlMessageStore(database, membership, settings, clock)
        self.publisher = PostgresqlLog(database)
        self.bindings = PostgresqlBindings(database)
        self.messages = PostgresqlMessages(database)

    async def prove_writable(self) -> None:
        """See `Backend.prove_writable`."""
        await self.database.prove_writable()


@asynccontextmanager
async def opened(
    settings: Settings, clock: Clock, membership: Membership = NOBODY
) -> AsyncIterator[PostgresqlBackend]:
    """Open the database of these settings; its tables are made where there are none.

    Any number of processes may have it open.

    Raises:
        StoreUnavailable: the server cannot be reached, or not be written.
        SchemaRefused: the database is not for this server.
    """
    # Alone at first: a pool would try again and again, and not say why.
    async with connected(settings) as connection:
        store_id = await schema.prepare(connection, settings, clock.now_ms())
    async with pooled(settings) as pool:
        database = Database(pool, store_id, settings)
        yield PostgresqlBackend(database, store_id, membership, settings, clock)
