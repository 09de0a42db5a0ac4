"""Whoever is cancelled in the middle of an exchange with Redis is cancelled."""

from __future__ import annotations

import asyncio

from bright_server.commit.group_committer import GroupCommitter, GroupReport
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.redis.store import RedisBackend
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.works import batch, observed

DEADLINE_SECONDS = 20
# More turns of the loop than a group takes.
TURNS = 40


class Unwatched:
    def group_committed(self, report: GroupReport) -> None:
        """Take no note."""


async def test_ms_30_a_committer_that_is_ended_ends_at_whatever_turn(
    store: RedisBackend, settings: Settings, grant: Grant
) -> None:
    """A server that stops waits for it: lost in the driver, it would do so for ever."""
    for turns in range(2, TURNS):
        committer = GroupCommitter(
            store.observations, settings, ManualClock(), Unwatched()
        )
        running = asyncio.create_task(committer.run())
        committer.submit(batch(grant, observed(turns)), 1)
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        ended, _ = await asyncio.wait({running}, timeout=DEADLINE_SECONDS)
        running.cancel()
        await asyncio.wait({running})
        assert ended, f"cancelled after {turns} turns, it went on"
