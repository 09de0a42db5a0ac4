"""Opens databases of Redis for a whole copy; see `Exporter` and `Importer`.

Nothing tells here whether a server writes meanwhile.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bright_server.clock import Clock
from bright_server.commit.transfer import StoreFacts
from bright_server.settings import Settings
from bright_server.stores.redis import schema
from bright_server.stores.redis.claims import Claims
from bright_server.stores.redis.connection import RedisLink, linked
from bright_server.stores.redis.exporting import RedisExport
from bright_server.stores.redis.importing import RedisImport, log_layout
from bright_server.stores.redis.keys import Layout


@asynccontextmanager
async def exporting(settings: Settings, clock: Clock) -> AsyncIterator[RedisExport]:
    """See `Exporter`.

    A key that was claimed as its server died gets its place first, as recovery would
    give it one: without it the commit could not be told.
    """
    async with linked(settings) as link:
        found = await schema.read(link, settings)
        layout = Layout(found.shards)
        await _place_claims(link, layout)
        facts = StoreFacts(found.store_id, found.made_at_ms, log_layout(found.shards))
        yield RedisExport(link, layout, facts)


@asynccontextmanager
async def importing(settings: Settings, clock: Clock) -> AsyncIterator[RedisImport]:
    """See `Importer`."""
    async with linked(settings) as link:
        yield RedisImport(link, settings)


async def _place_claims(link: RedisLink, layout: Layout) -> None:
    claims = Claims(link, layout)
    for shard in layout.every_shard():
        # Read alone: also a server that no longer keeps anything can be copied from.
        names = await link.run(
            "read claims", ("ZRANGE", shard.claims, 0, -1), durable=False
        )
        for name in names:
            await claims.of_name(shard.number, name.decode())
