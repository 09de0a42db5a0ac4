"""What recovery stands on: what is due, and the lease (MS-21, MS-24)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from bright_server.commit.encoding import envelope_of
from bright_server.commit.records import CommitIntent, CommitState, CommittedMessage
from bright_server.errors import CommitUnreadable
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.refusals import needs, refused
from bright_server.testing.sends import (
    CONVERSATION,
    DELIVERY,
    NOW_MS,
    OTHER_CONVERSATION,
    Everybody,
    brought_to,
    candidate_of,
    committed,
    published,
    reserved,
    sending,
)
from bright_server.testing.store_suite.history import EVERYTHING
from bright_server.testing.under_test import StoreUnderTest

_DEADLINE_SECONDS = 10


class RecoverySuite:
    """A client that never comes back leaves nothing that cannot be finished."""

    async def test_what_is_not_committed_is_due(self, stores: StoreUnderTest) -> None:
        """MS-21: whole, in whatever state, also after a restart; a commit never is."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            left = {
                state: await brought_to(state, backend, sending(f"m{state}"))
                for state in CommitState
            }
        async with stores.opened(ManualClock(), Everybody()) as backend:
            due = await backend.commits.scan_recoverable_commits(NOW_MS + 1, 10)
        del left[CommitState.COMMITTED]
        assert sorted(due, key=lambda intent: intent.state) == list(left.values())

    async def test_the_oldest_are_due_first(self, stores: StoreUnderTest) -> None:
        """MS-01: created before a time, at most so many, of any conversation."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            for name, age_ms in (("young", 10), ("old", 30), ("middle", 20)):
                await reserved(
                    backend,
                    sending(name)
                    if name != "old"
                    else sending(name, conversation=OTHER_CONVERSATION),
                    created_at_ms=NOW_MS - age_ms,
                )
            scan = backend.commits.scan_recoverable_commits
            assert _names(await scan(NOW_MS, 10)) == ["old", "middle", "young"]
            assert _names(await scan(NOW_MS, 2)) == ["old", "middle"]
            assert _names(await scan(NOW_MS - 10, 10)) == ["old", "middle"]
            assert _names(await scan(NOW_MS - 30, 10)) == []

    async def test_a_persisted_intent_is_all_it_takes(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-21: another process finishes it with what the scan gives it alone."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            there = await reserved(backend, sending())
        async with stores.opened(ManualClock(), Everybody()) as backend:
            [intent] = await backend.commits.scan_recoverable_commits(NOW_MS + 1, 10)
            await backend.commits.put_record(intent)
            message = await backend.commits.mark_published_and_committed(
                intent, await published(backend, intent)
            )
            page = await backend.commits.history_page(EVERYTHING)
        assert isinstance(message, CommittedMessage)
        assert message.coordinates == there.coordinates
        assert [item.record for item in page.items] == [there.record]
        assert envelope_of(intent) == envelope_of(there)

    async def test_an_unreadable_intent_hides_no_other(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-21, MS-30: the scan leaves it out, reading says so, and it stays whole."""
        needs(stores.can.keeps_bytes, "keeping bytes")
        poison, request = sending("poison"), sending("sound")
        async with stores.opened(ManualClock(), Everybody()) as backend:
            left = await reserved(backend, poison, created_at_ms=NOW_MS - 9)
            await reserved(backend, request)
            kept = await stores.replace_frozen(backend, poison.key, b'{"format":9}')
        async with stores.opened(ManualClock(), Everybody()) as backend:
            commits = backend.commits
            for most in (1, 2, 10):
                due = await commits.scan_recoverable_commits(NOW_MS + 1, most)
                assert _names(due) == ["sound"]
            with refused(CommitUnreadable):
                await commits.load_commit(poison.key, CONVERSATION)
            with refused(CommitUnreadable):
                await commits.load_commit_for_request(poison)
            with refused(CommitUnreadable):
                await commits.reserve(poison, DELIVERY, candidate_of(poison))
            # Its place stays its own: nobody else gets it, and readers wait for it.
            assert (
                await committed(backend, sending("after"))
            ).coordinates.sequence == 3
            if stores.can.groups:
                found, _ = await backend.messages.messages_after(CONVERSATION, 0, 10)
                assert list(found) == []
            assert await stores.replace_frozen(backend, poison.key, kept)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            assert await backend.commits.load_commit_for_request(poison) == left
            due = await backend.commits.scan_recoverable_commits(NOW_MS + 1, 10)
            assert _names(due) == ["poison", "sound"]

    async def test_a_lease_is_held_by_one(self, stores: StoreUnderTest) -> None:
        """MS-26: taken, prolonged by its holder, refused to another; each by name."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            hold = backend.commits.hold_lease
            racers = await asyncio.gather(
                *(hold("lease", f"holder-{n}", 60_000) for n in range(10))
            )
            assert racers.count(True) == 1
            holder = f"holder-{racers.index(True)}"
            assert await hold("lease", holder, 60_000)
            assert not await hold("lease", "another", 60_000)
            assert await hold("another lease", "another", 60_000)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            assert not await backend.commits.hold_lease("lease", "another", 60_000)

    async def test_a_lease_of_a_clock_that_ran_ahead_is_none(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-21: its holder may be dead, and nobody would recover for so long.

        It is one that lasts longer than twice what is asked for; up to there it may be
        of a living holder who asks for a little more.
        """
        async with stores.opened(ManualClock(), Everybody()) as backend:
            hold = backend.commits.hold_lease
            for ahead_ms in (100 * 86_400_000, 50 * 60_000 + 30_000, 80_000):
                name = f"{ahead_ms} ms"
                assert await hold(name, "ahead", ahead_ms)
                assert await hold(name, "living", 30_000)
                assert not await hold(name, "ahead", 30_000)
            assert await hold("longer", "living", 45_000)
            assert not await hold("longer", "another", 30_000)

    async def test_a_dead_holder_loses_its_lease(self, stores: StoreUnderTest) -> None:
        """MS-26: once its time is over, by whatever clock the store goes."""
        clock = ManualClock()
        async with stores.opened(clock, Everybody()) as backend:
            hold = backend.commits.hold_lease
            assert await hold("lease", "dead", 20)
            await _taken(hold, "living", 60_000, clock)
            assert not await hold("lease", "dead", 60_000)

    async def test_a_dead_holder_loses_its_lease_though_the_clock_goes_back(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-21, MS-26: a time server sets it right, or a machine is resumed."""
        for back_seconds in (10, 50 * 60, 86_400):
            clock = ManualClock()
            async with stores.opened(clock, Everybody()) as backend:
                hold = backend.commits.hold_lease
                await _taken(hold, "dead", 20, clock)
                clock.advance(-back_seconds)
                await _taken(hold, "living", 20, clock)


async def _taken(
    hold: Callable[[str, str, int], Awaitable[bool]],
    holder: str,
    ttl_ms: int,
    clock: ManualClock,
) -> None:
    """Take the lease as soon as it can be had, a little later at the latest."""
    async with asyncio.timeout(_DEADLINE_SECONDS):
        while not await hold("lease", holder, ttl_ms):
            clock.advance(0.02)
            await asyncio.sleep(0.01)


def _names(due: Sequence[CommitIntent]) -> list[str]:
    return [intent.key.client_message_id for intent in due]
