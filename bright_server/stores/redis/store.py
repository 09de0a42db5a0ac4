"""The back end of Redis and Valkey: every door into one database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bright_server.clock import Clock
from bright_server.commit.contract import NOBODY, Membership
from bright_server.logs.redis import RedisLog
from bright_server.settings import Settings
from bright_server.stores.redis import schema
from bright_server.stores.redis.bindings import RedisBindings
from bright_server.stores.redis.commits import RedisMessageStore
from bright_server.stores.redis.connection import RedisLink, linked
from bright_server.stores.redis.durability import prove_durable
from bright_server.stores.redis.group import RedisObservations
from bright_server.stores.redis.keys import Layout
from bright_server.stores.redis.log_access import LogAccess
from bright_server.stores.redis.reader import RedisMessages


class RedisBackend:
    """See `Backend`; made by `opened`."""

    def __init__(
        self,
        link: RedisLink,
        found: schema.StoreKey,
        membership: Membership,
        settings: Settings,
        clock: Clock,
    ) -> None:
        layout = Layout(found.shards)
        self.link = link
        self.layout = layout
        self.observations = RedisObservations(
            link, layout, found.store_id, settings, clock
        )
        self.commits = RedisMessageStore(link, layout, membership, settings, clock)
        self.publisher = RedisLog(LogAccess(link, layout))
        self.bindings = RedisBindings(link)
        self.messages = RedisMessages(link, layout)

    async def prove_writable(self) -> None:
        """See `Backend.prove_writable`."""
        await prove_durable(self.link)


@asynccontextmanager
async def opened(
    settings: Settings, clock: Clock, membership: Membership = NOBODY
) -> AsyncIterator[RedisBackend]:
    """See `BackendOpener`.

    Raises:
        ConfigurationError: the address is not one server of Redis.
        SchemaRefused: the database is not for this server.
        StoreUnavailable: it does not answer.
    """
    async with linked(settings) as link:
        found = await schema.prepare(link, settings, clock)
        link.expect(found.store_id)
        yield RedisBackend(link, found, membership, settings, clock)
