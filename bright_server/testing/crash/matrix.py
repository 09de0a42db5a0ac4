"""Every fault point, every way to be cut off, every finisher (MS-40).

    class TestCrashes(CrashMatrix):
        @pytest.fixture
        def stores(self, tmp_path: Path) -> MyStoreUnderTest: ...

What dies is a process of its own, by SIGKILL. A store that no other process can open
says `kills = False`, and has the cells of lost replies only.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from bright_server.commit.contract import MessageCommitter, MessageStore
from bright_server.commit.fault_points import FaultPoint
from bright_server.commit.records import CommitState, CommittedMessage
from bright_server.commit.recovery import CommitRecovery
from bright_server.errors import Recoverable
from bright_server.testing.committer_suite.committing import (
    Committing,
    committer_over,
    committing,
)
from bright_server.testing.crash.cuts import COMMIT_CUTS, RECOVERY_POINTS, Cut, How
from bright_server.testing.crash.victim import VICTIM, told
from bright_server.testing.crash.victims import Victims
from bright_server.testing.refusals import needs, refused
from bright_server.testing.sends import (
    CONVERSATION,
    NOW_MS,
    brought_to,
    changed_settings,
    reserved,
    sending,
)
from bright_server.testing.store_suite.atomic_step import (
    MOST_WAITS,
    see_that_it_is_not_half_done,
)
from bright_server.testing.two_step import TwoStepStore
from bright_server.testing.under_test import StoreUnderTest

_DEADLINE_SECONDS = 20


class CrashMatrix:
    """One place, one publication, the original ACK; with and without a client."""

    kills: ClassVar[bool] = True
    _victims: ClassVar[Victims]

    @classmethod
    def setup_class(cls) -> None:
        """Start the process that forks, before the first test."""
        if cls.kills:
            cls._victims = Victims()

    @classmethod
    def teardown_class(cls) -> None:
        """End it after the last."""
        if cls.kills:
            cls._victims.close()

    def pytest_generate_tests(self, metafunc: Any) -> None:  # noqa: ANN401 - pytest's
        """Make a test of each cell."""
        cuts = [cut for cut in COMMIT_CUTS if self.kills or cut.how is How.REPLY_LOST]
        for name, cells in (
            ("cut", cuts),
            ("finisher", ["recovery", "client"]),
            ("point", RECOVERY_POINTS),
        ):
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, cells, ids=str)

    async def test_a_commit_that_was_cut_off_converges(
        self, stores: StoreUnderTest, cut: Cut, finisher: str
    ) -> None:
        """MS-40: to what was reserved first, whoever finishes it."""
        async with committing(stores) as way:
            await way.commit(sending("before"))
        seen = await self._cut_off(stores, cut)
        async with committing(stores) as way:
            if finisher == "recovery":
                await way.committer.recover_due(NOW_MS + 1, 10)
                await _see_what_recovery_left(way, cut)
            message = await way.commit(sending(VICTIM))
            _see_that_it_is_the_first(message, seen)
            # No number was taken twice, and nothing is left to be done.
            assert message.coordinates.sequence == 2
            assert await way.committer.resume(sending(VICTIM).key) == message
            assert (await way.commit(sending("after"))).coordinates.sequence == 3
            due = await way.backend.commits.scan_recoverable_commits(NOW_MS + 1, 10)
            assert list(due) == []
            keys = await stores.published(way.backend)
            assert sorted(keys) == sorted(
                f"id-seller-1-{name}" for name in ("before", VICTIM, "after")
            )

    async def test_a_dead_process_is_recovered_by_a_living_one(
        self, stores: StoreUnderTest, point: FaultPoint
    ) -> None:
        """MS-26, MS-40: once the dead one's lease is over, whatever it had done."""
        needs(self.kills, "another process can open it")
        names = ["m1", "m2", "m3"]
        async with committing(stores) as way:
            for name in names:
                await reserved(way.backend, sending(name))
        await asyncio.to_thread(
            self._victims.die, {"spec": stores.spec, "recovery": point}
        )
        async with committing(stores) as way:
            settings = changed_settings(recovery_age_ms=1)
            recovery = CommitRecovery(way.store, way.committer, settings, way.clock)
            async with asyncio.timeout(_DEADLINE_SECONDS):
                while not (await recovery.pass_once()).held_lease:
                    way.clock.advance(0.05)
                    await asyncio.sleep(0.02)
            for number, name in enumerate(names, start=1):
                there = await way.backend.commits.load_commit(
                    sending(name).key, CONVERSATION
                )
                assert isinstance(there, CommittedMessage)
                assert there.coordinates.sequence == number
            assert len(await stores.published(way.backend)) == len(names)

    async def test_no_crash_leaves_the_atomic_step_half_done(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-23, MS-40: the process dies after each of the waits of the step."""
        needs(stores.can.atomic_step, "the atomic step")
        needs(self.kills, "another process can open it")
        for wait in range(1, MOST_WAITS):
            request = sending(f"m{wait}")
            async with committing(stores) as way:
                left = await brought_to(CommitState.RECORDED, way.backend, request)
            job: dict[str, object] = {
                "spec": stores.spec,
                "name": f"m{wait}",
                "wait": wait,
            }
            seen = await asyncio.to_thread(self._victims.die, job)
            async with committing(stores) as way:
                there = await way.backend.commits.load_commit(request.key, CONVERSATION)
                see_that_it_is_not_half_done(there)
                assert await way.committer.recover_due(NOW_MS + 1, 10) in {0, 1}
                message = await way.commit(request)
                assert message.coordinates == left.coordinates
                assert len(await stores.published(way.backend)) == wait
            if seen:  # it lived until all was done
                break

    async def _cut_off(self, stores: StoreUnderTest, cut: Cut) -> list[dict[str, Any]]:
        if cut.how is How.REPLY_LOST:
            return await _lose_a_reply(stores, cut)
        job: dict[str, object] = {"spec": stores.spec, "cut": cut.as_json()}
        return await asyncio.to_thread(self._victims.die, job)


async def _lose_a_reply(stores: StoreUnderTest, cut: Cut) -> list[dict[str, Any]]:
    """Lose the reply of the cut's step, and give up at once."""
    async with committing(stores, max_commit_attempts=1) as way:
        store: MessageStore = way.store
        committer: MessageCommitter = way.committer
        if cut.two_step:
            store = TwoStepStore(way.store)
            committer = committer_over(
                store,
                way.log,
                way.members,
                changed_settings(max_commit_attempts=1),
                way.clock,
            )
        if cut.step == "publish":
            way.log.lose("publish", "after")
        else:
            way.store.lose(cut.step, "after")
        request = sending(VICTIM)
        with refused(Recoverable):
            await committer.commit(request, *way.given(request))
        assert not way.store.is_losing
    return []


async def _see_what_recovery_left(way: Committing, cut: Cut) -> None:
    """See that recovery has finished it, if there was anything to be finished."""
    there = await way.backend.commits.load_commit(sending(VICTIM).key, CONVERSATION)
    if there is None:
        assert cut.may_have_reserved_nothing
    else:
        assert isinstance(there, CommittedMessage)


def _see_that_it_is_the_first(
    message: CommittedMessage, seen: list[dict[str, Any]]
) -> None:
    """See that the ACK is what the dead process was told, as far as it came."""
    for each in seen:
        if each["what"] == "reserved":
            assert each["sequence"] == message.coordinates.sequence
        else:
            assert each == {"what": "committed", **told(message)}
