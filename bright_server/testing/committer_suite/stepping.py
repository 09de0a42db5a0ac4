"""What is frozen, and the order of the steps (MS-11, MS-25, MS-40)."""

from __future__ import annotations

from bright_server.commit.encoding import record_of
from bright_server.commit.fault_points import FaultPoint
from bright_server.commit.records import (
    CommitIntent,
    CommitState,
    CommittedMessage,
    FrozenDelivery,
)
from bright_server.testing.committer_suite.committing import Committing, committing
from bright_server.testing.sends import (
    CONVERSATION,
    NOW_MS,
    brought_to,
    candidate_of,
    sending,
)
from bright_server.testing.store_suite.history import EVERYTHING
from bright_server.testing.under_test import StoreUnderTest

OPEN_STATES = (CommitState.RESERVED, CommitState.RECORDED, CommitState.OUTBOXED)


class _Noting:
    """Notes what is persisted, and how much is published, at each point."""

    def __init__(self, stores: StoreUnderTest) -> None:
        self.way: Committing | None = None
        self.seen: list[tuple[FaultPoint, CommitState | None, int]] = []
        self._stores = stores

    async def reach(self, point: FaultPoint) -> None:
        """See `FaultPoints.reach`."""
        assert self.way is not None
        backend = self.way.backend
        there = await backend.commits.load_commit(sending().key, CONVERSATION)
        state = there.state if isinstance(there, CommitIntent) else None
        if isinstance(there, CommittedMessage):
            state = CommitState.COMMITTED
        published = len(await self._stores.published(backend))
        self.seen.append((point, state, published))


class SteppingSuite:
    """One step after the other, each of what was frozen first."""

    async def test_each_step_is_durable_before_its_fault_point(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-25, MS-40: published before the store knows of it, never the other way."""
        noting = _Noting(stores)
        async with committing(stores, noting) as way:
            noting.way = way
            await way.commit(sending())
        assert noting.seen == [
            (FaultPoint.BEFORE_RESERVE, None, 0),
            (FaultPoint.AFTER_RESERVE, CommitState.RESERVED, 0),
            (FaultPoint.AFTER_RECORD, CommitState.RECORDED, 0),
            (FaultPoint.AFTER_PUBLISH, CommitState.RECORDED, 1),
            (FaultPoint.AFTER_COMMIT, CommitState.COMMITTED, 1),
        ]

    async def test_a_retry_brings_nothing_new(self, stores: StoreUnderTest) -> None:
        """MS-11: not its time, nor its id, nor for whom it is; from every state."""
        async with committing(stores) as way:
            for number, state in enumerate(OPEN_STATES, start=1):
                request = sending(f"m{number}")
                first = candidate_of(request)
                await brought_to(state, way.backend, request)
                later = candidate_of(
                    request,
                    message_id=f"later-{number}",
                    created_at_ms=NOW_MS + 9,
                    raw='{"later":1}',
                )
                message = await way.committer.commit(
                    request, FrozenDelivery(recipient="somebody else"), later
                )
                assert message.coordinates.message_id == first.message_id
                page = await way.backend.commits.history_page(EVERYTHING)
                assert page.items[-1].record == record_of(request, first)
            keys = await stores.published(way.backend)
            assert not [key for key in keys if "later" in key]
