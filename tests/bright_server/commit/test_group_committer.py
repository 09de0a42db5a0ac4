"""The group committer, over the real store, held back where a test needs to look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from bright_server.commit.group_committer import GroupCommitter, GroupReport
from bright_server.commit.groups import (
    BatchCommitted,
    ClaimProven,
    Discovery,
    NotStored,
    ObservedBatch,
    Outcome,
    Work,
)
from bright_server.errors import CommitterStopped, Overloaded, StoreUnavailable
from bright_server.messages import ConversationKey, DiscoveredConversation, Grant
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import SqliteStore
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.works import batch, claim, observed

OTHER = ConversationKey(ACCOUNT, "other")


class HeldStore:
    """A store that starts a group only when it is let, and says what it was given."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.store_id = store.store_id
        self.groups: list[Sequence[Work]] = []
        self.began = asyncio.Event()
        self.fault: Exception | None = None
        self._may_go = asyncio.Semaphore(0)

    def let_go(self, groups: int = 1) -> None:
        for _ in range(groups):
            self._may_go.release()

    async def commit_group(self, group: Sequence[Work]) -> Sequence[Outcome]:
        self.groups.append(group)
        self.began.set()
        await self._may_go.acquire()
        if self.fault is not None:
            raise self.fault
        return await self._store.commit_group(group)

    async def read_probe(self) -> int:
        return await self._store.read_probe()


class Watch:
    def __init__(self) -> None:
        self.reports: list[GroupReport] = []

    def group_committed(self, report: GroupReport) -> None:
        self.reports.append(report)


@pytest.fixture
def held(store: SqliteStore) -> HeldStore:
    return HeldStore(store)


@asynccontextmanager
async def committing(
    held: HeldStore, settings: Settings, watch: Watch | None = None
) -> AsyncIterator[GroupCommitter]:
    committer = GroupCommitter(held, settings, ManualClock(), watch or Watch())
    writer = asyncio.create_task(committer.run())
    try:
        yield committer
    finally:
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)


async def test_what_gathers_while_a_group_is_written_becomes_the_next_group(
    held: HeldStore, settings: Settings, grant: Grant
) -> None:
    watch = Watch()
    async with committing(held, settings, watch) as committer:
        first = committer.submit(batch(grant, observed(1)), 100)
        await held.began.wait()
        rest = [committer.submit(batch(grant, observed(n)), 100) for n in range(2, 30)]
        held.let_go(2)

        outcomes = await asyncio.gather(first, *rest)

    assert all(isinstance(each, BatchCommitted) for each in outcomes)
    assert [len(group) for group in held.groups] == [1, 28]
    assert [report.messages for report in watch.reports] == [1, 28]
    assert committer.pending_bytes == 0


async def test_a_group_has_its_bounds(
    held: HeldStore, settings: Settings, grant: Grant
) -> None:
    small = settings.model_copy(update={"max_group_messages": 5, "max_group_items": 3})
    async with committing(held, small) as committer:
        sizes = (1, 2, 2, 1, 9, 1, 1, 1, 1)
        works = [batch(grant, *map(observed, range(size))) for size in sizes]
        futures = [committer.submit(work, 1) for work in works]
        held.let_go(len(works))
        await asyncio.gather(*futures)

    assert [
        [len(work.messages) for work in group if isinstance(work, ObservedBatch)]
        for group in held.groups
    ] == [[1, 2, 2], [1], [9], [1, 1, 1], [1]]


async def test_discovered_conversations_count_as_what_a_group_may_hold(
    held: HeldStore, settings: Settings, grant: Grant
) -> None:
    small = settings.model_copy(update={"max_group_messages": 5})
    rows = [DiscoveredConversation(str(number), 1, None) for number in range(3)]
    async with committing(held, small) as committer:
        futures = [
            committer.submit(Discovery(grant, ACCOUNT, rows), 1) for _ in range(3)
        ]
        held.let_go(3)
        await asyncio.gather(*futures)

    assert [len(group) for group in held.groups] == [1, 1, 1]


async def test_over_the_bound_work_is_refused_and_room_comes_back(
    held: HeldStore, settings: Settings, grant: Grant
) -> None:
    small = settings.model_copy(update={"max_pending_bytes": 250})
    async with committing(held, small) as committer:
        futures = [committer.submit(batch(grant, observed(n)), 100) for n in (1, 2)]

        with pytest.raises(Overloaded):
            committer.submit(batch(grant, observed(3)), 100)
        held.let_go(2)
        await asyncio.gather(*futures)
        again = committer.submit(batch(grant, observed(3)), 100)
        held.let_go()

        assert isinstance(await again, BatchCommitted)


async def test_ot_50_a_claim_waits_for_what_is_pending_of_its_conversation(
    held: HeldStore, settings: Settings, grant: Grant
) -> None:
    small = settings.model_copy(update={"max_group_messages": 1})
    async with committing(held, small) as committer:
        committer.submit(batch(grant, observed(1)), 1)
        await held.began.wait()
        claimed = committer.submit(claim(grant, 1), 1)
        pending = [committer.submit(batch(grant, observed(n)), 1) for n in (2, 3)]
        elsewhere = committer.submit(batch(grant, observed(4), key=OTHER), 1)
        held.let_go(2)
        await pending[0]
        assert not claimed.done(), "a batch of the conversation still waits"
        held.let_go(3)

        await asyncio.gather(*pending, elsewhere)
        assert isinstance(await claimed, ClaimProven)


async def test_a_store_that_fails_is_an_answer_and_the_writer_lives_on(
    held: HeldStore, settings: Settings, grant: Grant
) -> None:
    async with committing(held, settings) as committer:
        for fault in (StoreUnavailable("commit", "disk full"), ValueError("a bug")):
            held.fault = fault
            held.let_go()
            assert isinstance(
                await committer.submit(batch(grant, observed(1)), 1), NotStored
            )
        held.fault = None
        held.let_go()

        outcome = await committer.submit(batch(grant, observed(1)), 1)

    assert isinstance(outcome, BatchCommitted)


async def test_draining_commits_what_was_taken_and_takes_no_more(
    held: HeldStore, settings: Settings, grant: Grant
) -> None:
    async with committing(held, settings) as committer:
        taken = [committer.submit(batch(grant, observed(n)), 1) for n in range(5)]
        draining = asyncio.create_task(committer.drain())
        await held.began.wait()
        with pytest.raises(CommitterStopped):
            committer.submit(batch(grant, observed(9)), 1)
        assert not draining.done()
        held.let_go(5)

        await asyncio.wait_for(draining, 5)

    assert all(isinstance(each.result(), BatchCommitted) for each in taken)


async def test_what_is_abandoned_is_told_so(
    held: HeldStore, settings: Settings, grant: Grant
) -> None:
    async with committing(held, settings) as committer:
        under_way = committer.submit(batch(grant, observed(1)), 1)
        await held.began.wait()
        left = committer.submit(batch(grant, observed(2)), 1)

        committer.abandon()

        assert isinstance(left.result(), NotStored)
        assert not under_way.done()
        assert committer.pending_items == 0
    assert isinstance(under_way.result(), NotStored)
