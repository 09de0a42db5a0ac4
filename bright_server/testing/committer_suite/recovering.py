"""Recovery: what nobody comes back for is finished all the same (MS-21, MS-26)."""

from __future__ import annotations

import asyncio

from bright_server.commit.records import CommitState, CommittedMessage
from bright_server.commit.recovery import LEASE, CommitRecovery, RecoveryReport
from bright_server.errors import CommitUnavailable, CommitUnreadable, Recoverable
from bright_server.testing.committer_suite.committing import (
    Committing,
    committer_over,
    committing,
)
from bright_server.testing.committer_suite.converging import one_of_each
from bright_server.testing.flaky_store import SlowStore
from bright_server.testing.refusals import needs, refused
from bright_server.testing.sends import (
    CONVERSATION,
    NOW_MS,
    brought_to,
    changed_settings,
    reserved,
    sending,
)
from bright_server.testing.under_test import StoreUnderTest

# A commit is four calls of the store, each of which can be held before and after.
HALVES = 8


class _Noted:
    """Remembers each pass."""

    def __init__(self) -> None:
        self.passes: list[RecoveryReport] = []
        self.has_recovered = asyncio.Event()

    def pass_ended(self, report: RecoveryReport) -> None:
        """See `RecoveryWatch.pass_ended`."""
        self.passes.append(report)
        if report.recovered:
            self.has_recovered.set()


def recovery_of(way: Committing, watch: _Noted, **changes: object) -> CommitRecovery:
    """Return the loop around a committer."""
    settings = changed_settings(recovery_interval_seconds=0.01, **changes)
    return CommitRecovery(way.store, way.committer, settings, way.clock, watch)


class RecoveringSuite:
    """No client retry, no lost intent; one that is stuck is alone in it."""

    async def test_recovery_alone_finishes_every_state(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-21, MS-26: with the place that was reserved."""
        async with committing(stores) as way:
            left = {
                sending(f"m{state}").key: (
                    await brought_to(state, way.backend, sending(f"m{state}"))
                ).coordinates
                for state in CommitState
            }
        async with committing(stores) as way:
            assert await way.committer.recover_due(NOW_MS + 1, 10) == len(left) - 1
            for key, coordinates in left.items():
                there = await way.backend.commits.load_commit(key, CONVERSATION)
                assert isinstance(there, CommittedMessage)
                assert there.coordinates == coordinates
            assert await way.committer.recover_due(NOW_MS + 1, 10) == 0
            await one_of_each(stores, way)

    async def test_what_is_young_is_left_to_its_sender(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-02: `recover_due` touches nothing that was created later."""
        async with committing(stores) as way:
            await reserved(way.backend, sending())
            assert await way.committer.recover_due(NOW_MS, 10) == 0
            assert await way.committer.recover_due(NOW_MS + 1, 10) == 1

    async def test_concurrent_recoverers_and_senders_converge(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-25, MS-26: three of each over the same commits, one ACK for each."""
        names = [f"m{number}" for number in range(8)]
        async with committing(stores) as way:
            for name in names:
                await reserved(way.backend, sending(name))
            done = await asyncio.gather(
                *(way.committer.recover_due(NOW_MS + 1, 10) for _ in range(3)),
                *(way.commit(sending(name)) for name in names),
                *(way.commit(sending(name)) for name in names),
            )
            messages = [each for each in done if isinstance(each, CommittedMessage)]
            assert len(set(messages)) == len(names)
            assert len(await stores.published(way.backend)) == len(names)

    async def test_a_stuck_commit_holds_up_no_other(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-26: though it is the oldest, and there are as many as a batch has."""
        async with committing(stores, max_commit_attempts=1) as way:
            for number in range(3):
                await reserved(
                    way.backend, sending(f"stuck{number}"), created_at_ms=NOW_MS - 9
                )
            await reserved(way.backend, sending("sound"))
            unreadable = CommitUnreadable("here", "gibberish")
            way.store.lose("put_record", "before", times=3, error=unreadable)
            assert await way.committer.recover_due(NOW_MS + 1, 3) == 0
            # The stuck ones would fail again; they come last now.
            assert await way.committer.recover_due(NOW_MS + 1, 1) == 1
            key = sending("sound").key
            there = await way.backend.commits.load_commit(key, CONVERSATION)
            assert isinstance(there, CommittedMessage)
            assert await way.committer.recover_due(NOW_MS + 1, 3) == 3

    async def test_an_unreadable_intent_holds_up_no_other(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-21, MS-31: it alone stays; whoever asks for it is told."""
        needs(stores.can.keeps_bytes, "keeping bytes")
        async with committing(stores, max_commit_attempts=1) as way:
            poison = await reserved(
                way.backend, sending("poison"), created_at_ms=NOW_MS - 9
            )
            for number in range(3):
                await reserved(way.backend, sending(f"m{number}"))
            kept = await stores.replace_frozen(way.backend, poison.key, b"gibberish")
            assert await way.committer.recover_due(NOW_MS + 1, 1) == 1
            assert await way.committer.recover_due(NOW_MS + 1, 10) == 2
            with refused(Recoverable):
                await way.committer.resume(poison.key)
            with refused(Recoverable):
                await way.commit(sending("poison"))
            await stores.replace_frozen(way.backend, poison.key, kept)
            assert await way.committer.recover_due(NOW_MS + 1, 10) == 1
            message = await way.commit(sending("poison"))
            assert message.coordinates == poison.coordinates
            await one_of_each(stores, way)

    async def test_a_sender_that_is_cancelled_leaves_nothing_behind(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-21: wherever it was on its way: recovery finishes what was reserved."""
        async with committing(stores) as way:
            for turns in range(1, HALVES):
                slow = SlowStore(way.backend.commits)
                committer = committer_over(
                    slow, way.log, way.members, changed_settings(), way.clock
                )
                request = sending(f"m{turns}")
                sender = asyncio.create_task(
                    committer.commit(request, *way.given(request))
                )
                for _ in range(turns):
                    slow.turns.release()
                await slow.until_held()
                sender.cancel()
                await asyncio.gather(sender, return_exceptions=True)
                assert sender.cancelled()
            await way.committer.recover_due(NOW_MS + 1, 100)
            due = await way.backend.commits.scan_recoverable_commits(NOW_MS + 1, 100)
            assert list(due) == []
            numbers = [
                (await way.commit(sending(f"m{turns}"))).coordinates.sequence
                for turns in range(1, HALVES)
            ]
            assert sorted(numbers) == list(range(1, HALVES))
            await one_of_each(stores, way)

    async def test_what_is_due_and_cannot_be_read_is_said(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-31: in the committer's own words."""
        async with committing(stores) as way:
            way.store.lose("scan_recoverable_commits", "before")
            with refused(CommitUnavailable):
                await way.committer.recover_due(NOW_MS, 10)

    async def test_a_pass_needs_the_lease(self, stores: StoreUnderTest) -> None:
        """MS-26: another holder's lease keeps this process idle, until it ends."""
        watch = _Noted()
        async with committing(stores) as way:
            await reserved(way.backend, sending())
            hold = way.backend.commits.hold_lease
            assert await hold(LEASE, "a dead process", 30_000)
            recovery = recovery_of(way, watch, recovery_age_ms=1)
            assert await recovery.pass_once() == watch.passes[0]
            # However slow this machine is, it was held then; now it ends soon.
            assert await hold(LEASE, "a dead process", 20)
            async with asyncio.timeout(10):
                while (await recovery.pass_once()).recovered == 0:
                    way.clock.advance(0.01)
                    await asyncio.sleep(0.01)
            assert not watch.passes[0].held_lease
            assert watch.passes[-1].held_lease
            assert not await hold(LEASE, "another", 30_000)

    async def test_a_pass_leaves_the_young_to_their_senders(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-26: whoever reserved it a moment ago is still on the way."""
        async with committing(stores) as way:
            recovery = recovery_of(way, _Noted(), recovery_age_ms=1_000)
            now_ms = way.clock.now_ms()
            for name, age_ms in (("old", 1_001), ("young", 999)):
                await reserved(
                    way.backend, sending(name), created_at_ms=now_ms - age_ms
                )
            assert (await recovery.pass_once()).recovered == 1
            [left] = await way.backend.commits.scan_recoverable_commits(2**53, 10)
            assert left.key == sending("young").key
            way.clock.advance(1)
            assert (await recovery.pass_once()).recovered == 1

    async def test_what_a_clock_that_ran_ahead_has_dated_is_due(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-21: once the clock is right; what is merely young is its sender's."""
        async with committing(stores) as way:
            now_ms = way.clock.now_ms()
            ahead = await reserved(
                way.backend, sending("ahead"), created_at_ms=now_ms + 10**10
            )
            young = await reserved(
                way.backend, sending("young"), created_at_ms=now_ms + 10
            )
            report = await recovery_of(way, _Noted()).pass_once()
            assert (report.recovered, report.failure) == (1, None)
            done = await way.store.load_commit(ahead.key, CONVERSATION)
            assert isinstance(done, CommittedMessage)
            assert await way.store.load_commit(young.key, CONVERSATION) == young

    async def test_the_loop_goes_on_after_a_failure(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-26: a store that is down for a while stops nothing for good."""
        watch = _Noted()
        async with committing(stores) as way:
            await reserved(way.backend, sending())
            way.store.lose("hold_lease", "before")
            way.store.lose("scan_recoverable_commits", "before")
            recovery = recovery_of(way, watch, recovery_age_ms=1)
            running = asyncio.create_task(recovery.run())
            try:
                async with asyncio.timeout(10):
                    await watch.has_recovered.wait()
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            first, second, third = [each.failure or "" for each in watch.passes[:3]]
            assert "hold_lease" in first
            assert "scan_recoverable_commits" in second
            assert third == ""

    async def test_a_long_backlog_is_finished_in_one_pass(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-02, MS-26: batch by batch, each within its bound; one is stuck in it."""
        async with committing(stores) as way:
            for number in range(7):
                await reserved(way.backend, sending(f"m{number}"))
            unreadable = CommitUnreadable("here", "gibberish")
            way.store.lose("put_record", "before", error=unreadable)
            recovery = recovery_of(
                way, _Noted(), recovery_age_ms=1, max_recovery_batch=3
            )
            report = await recovery.pass_once()
            assert (report.recovered, report.failure) == (7, None)
            # Four batches, and one look for what a clock that ran ahead has dated.
            assert way.store.calls["scan_recoverable_commits"] == 5
