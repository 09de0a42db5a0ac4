"""The log in PostgreSQL, with appenders who meet at its end (MS-25)."""

from __future__ import annotations

import asyncio

from bright_server.stores.postgresql.connection import StoreConnection, connected
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.sends import Everybody, published, reserved, sending
from tests.bright_server.stores.postgresql.under_test import PostgresqlUnderTest

RACERS = 3
_DEADLINE_SECONDS = 10
_HOLD = b"SELECT last_position FROM outbox_end FOR NO KEY UPDATE"
_WAITING = b"""
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


async def until_waiting(connection: StoreConnection, racers: int) -> None:
    """Wait until so many sessions of this database wait for a lock."""
    async with asyncio.timeout(_DEADLINE_SECONDS):
        while True:
            found = await (await connection.execute(_WAITING)).fetchone()
            if found == (racers,):
                return
            await asyncio.sleep(0.02)


async def test_ms_25_an_envelope_that_is_published_by_several_has_one_place(
    stores: PostgresqlUnderTest,
) -> None:
    """MS-25: all of them have begun before the first has ended."""
    async with stores.opened(ManualClock(), Everybody()) as backend:
        intent = await reserved(backend, sending())
        await backend.commits.put_record(intent)
        async with (
            connected(stores.settings()) as holder,
            connected(stores.settings()) as watcher,
        ):
            await holder.execute(b"BEGIN")
            await holder.execute(_HOLD)
            racing = [
                asyncio.create_task(published(backend, intent)) for _ in range(RACERS)
            ]
            await until_waiting(watcher, RACERS)
            await holder.execute(b"COMMIT")
            places = await asyncio.gather(*racing)
        after = await reserved(backend, sending("after"))
        await backend.commits.put_record(after)
        last = await published(backend, after)

    assert [each.position.offset for each in places] == [1] * RACERS
    assert last.position.offset == 2
