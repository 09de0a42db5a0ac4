"""The atomic step is one, whoever looks and wherever it is cut off (MS-23)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from bright_server.commit.backend import Backend
from bright_server.commit.contract import MessageStore
from bright_server.commit.records import CommitIntent, CommitState, CommittedMessage
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.refusals import needs
from bright_server.testing.sends import (
    CONVERSATION,
    NOW_MS,
    Everybody,
    published,
    reserved,
    sending,
)
from bright_server.testing.under_test import StoreUnderTest
from bright_server.testing.waits import cancelled_at

ROUNDS: Final = 20
_DEADLINE_SECONDS: Final = 20
MOST_WAITS: Final = 60
"""More often no step waits here; what it does after that many is not cut off."""


class AtomicStepSuite:
    """RECORDED, and then COMMITTED: nobody ever finds OUTBOXED in between."""

    async def test_nobody_sees_the_atomic_step_half_done(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-23: through the same opening, nor another one, by key nor as due."""
        needs(stores.can.atomic_step, "the atomic step")
        clock = ManualClock()
        async with AsyncExitStack() as openings:
            doors = [
                await openings.enter_async_context(stores.opened(clock, Everybody()))
                for _ in range(2 if stores.can.several_openings else 1)
            ]
            for number in range(ROUNDS):
                intent = await _recorded(doors[0], f"m{number}")
                place = await published(doors[0], intent)
                watches = [_Watch(door.commits, intent) for door in doors]
                async with (
                    asyncio.timeout(_DEADLINE_SECONDS),
                    asyncio.TaskGroup() as watching,
                ):
                    for each in watches:
                        watching.create_task(each.by_key())
                        watching.create_task(each.as_due())
                    for each in watches:
                        await each.has_looked.acquire()
                        await each.has_looked.acquire()
                    message = await doors[0].commits.mark_published_and_committed(
                        intent, place
                    )
                assert message.publication == place
                seen = {state for each in watches for state in each.seen}
                assert seen <= {CommitState.RECORDED, CommitState.COMMITTED}

    async def test_a_cancelled_atomic_step_is_done_or_was_never_begun(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-23: at whichever of its waits; and the step can be taken again."""
        needs(stores.can.atomic_step, "the atomic step")
        async with stores.opened(ManualClock(), Everybody()) as backend:
            commits = backend.commits
            for number in range(1, MOST_WAITS):
                intent = await _recorded(backend, f"m{number}")
                place = await published(backend, intent)
                step = partial(commits.mark_published_and_committed, intent, place)
                try:
                    await cancelled_at(number, step)
                except asyncio.CancelledError:
                    was_cancelled = True
                else:
                    was_cancelled = False
                there = await commits.load_commit(intent.key, CONVERSATION)
                see_that_it_is_not_half_done(there)
                message = await step()
                assert message.coordinates == intent.coordinates
                assert message.publication == place
                if not was_cancelled:
                    break


class _Watch:
    """Looks at a commit again and again until it is committed."""

    def __init__(self, commits: MessageStore, intent: CommitIntent) -> None:
        self._commits = commits
        self._intent = intent
        self.seen: set[CommitState] = set()
        self.has_looked = asyncio.Semaphore(0)

    async def by_key(self) -> None:
        """Read it by its key."""
        there: object = None
        while not isinstance(there, CommittedMessage):
            there = await self._commits.load_commit(self._intent.key, CONVERSATION)
            assert there is not None
            self.seen.add(
                CommitState.COMMITTED
                if isinstance(there, CommittedMessage)
                else there.state
            )
            self.has_looked.release()
            await asyncio.sleep(0)

    async def as_due(self) -> None:
        """Read what recovery would be given."""
        due = [self._intent]
        while due:
            found = await self._commits.scan_recoverable_commits(NOW_MS + 1, 10)
            due = [each for each in found if each.key == self._intent.key]
            self.seen.update(each.state for each in due)
            self.has_looked.release()
            await asyncio.sleep(0)


def see_that_it_is_not_half_done(there: object) -> None:
    """Demand a recorded commit with no publication, or a committed message."""
    if isinstance(there, CommitIntent):
        assert there.state is CommitState.RECORDED, there
        assert there.publication is None, there
    else:
        assert isinstance(there, CommittedMessage), there


async def _recorded(backend: Backend, name: str) -> CommitIntent:
    intent = await reserved(backend, sending(name))
    await backend.commits.put_record(intent)
    return intent
