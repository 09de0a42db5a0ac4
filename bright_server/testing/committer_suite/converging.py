"""Going on from whatever is persisted, whatever is lost (MS-24 to MS-27, MS-31)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from bright_server.commit.records import CommitIntent, CommitState, CommittedMessage
from bright_server.errors import (
    CommitConflict,
    CommitUnknown,
    CommitUnreadable,
    MessageStoreError,
    NothingToResume,
    PublicationConflict,
    Recoverable,
    StoreUnavailable,
    WrongCommitState,
)
from bright_server.testing.committer_suite.committing import (
    Committing,
    committer_over,
    committing,
)
from bright_server.testing.flaky_store import FlakyStore, ForgetfulPublisher, When
from bright_server.testing.refusals import refused
from bright_server.testing.sends import (
    CONVERSATION,
    brought_to,
    changed_settings,
    elsewhere,
    others_of,
    published,
    reserved,
    sending,
)
from bright_server.testing.two_step import TwoStepStore
from bright_server.testing.under_test import StoreUnderTest

STEPS = (
    "load_commit_for_request",
    "reserve",
    "put_record",
    "mark_published_and_committed",
)
WHENS: tuple[When, ...] = ("before", "after")


async def one_of_each(stores: StoreUnderTest, way: Committing) -> None:
    """See that no message has a second place or a second publication."""
    keys = await stores.published(way.backend)
    assert len(keys) == len(set(keys))


class ConvergingSuite:
    """One key, one ACK, however the way there went."""

    async def test_a_commit_is_acknowledged_once_for_all(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-26, MS-27: sent again it replays the first ACK, also after a restart."""
        request = sending()
        async with committing(stores) as way:
            message = await way.commit(request)
            assert message.coordinates.sequence == 1
            assert await way.commit(request) == message
            assert await way.committer.resume_existing(request) == message
            assert await way.committer.resume(request.key) == message
            assert way.log.calls["publish"] == 1
        async with committing(stores) as way:
            assert await way.commit(request) == message
            assert await way.committer.resume(request.key) == message
            assert not way.log.calls
            await one_of_each(stores, way)

    async def test_any_lost_call_or_reply_converges(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-25: each step of store and log, lost before and after it was done."""
        async with committing(stores) as way:
            number = 0
            for when in WHENS:
                for name in (*STEPS, "publish"):
                    number += 1
                    if name == "publish":
                        way.log.lose(name, when)
                    else:
                        way.store.lose(name, when)
                    message = await way.commit(sending(f"m{number}"))
                    assert message.coordinates.sequence == number
            assert len(await stores.published(way.backend)) == number
            await one_of_each(stores, way)

    async def test_every_middle_state_is_gone_on_from(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-26: by sender and by `resume`, with no step done that was done before."""
        async with committing(stores) as way:
            for state in CommitState:
                for how in ("commit", "resume", "resume_existing"):
                    request = sending(f"{how}-{state}")
                    there = await brought_to(state, way.backend, request)
                    way.store.calls.clear()
                    way.log.calls.clear()
                    message: CommittedMessage | None
                    if how == "commit":
                        message = await way.commit(request)
                    elif how == "resume":
                        message = await way.committer.resume(request.key)
                    else:
                        message = await way.committer.resume_existing(request)
                    assert message is not None
                    assert message.coordinates == there.coordinates
                    if there.publication is not None:
                        assert message.publication == there.publication
                    early = state < CommitState.OUTBOXED
                    assert way.store.calls["reserve"] == 0
                    assert way.store.calls["put_record"] == (
                        state is CommitState.RESERVED
                    )
                    assert way.log.calls["publish"] == early
                    assert way.store.calls["mark_published_and_committed"] == early
                    assert way.store.calls["mark_committed"] == (
                        state is CommitState.OUTBOXED
                    )
            await one_of_each(stores, way)

    async def test_what_is_not_there_is_not_resumed(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-02: neither by key nor by request; and nothing is made of it."""
        async with committing(stores) as way:
            with refused(NothingToResume):
                await way.committer.resume(sending().key)
            assert await way.committer.resume_existing(sending()) is None
            for unstorable in (sending("x\ud800"), sending("m1", "\ud800")):
                assert await way.committer.resume_existing(unstorable) is None
            with refused(NothingToResume, Recoverable):
                await way.committer.resume(sending("x\ud800").key)
            assert (await way.commit(sending())).coordinates.sequence == 1

    async def test_attempts_are_bounded_and_the_same_key_goes_on(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-31: `Recoverable`, never a false ACK; later the same key finishes it."""
        async with committing(stores, max_commit_attempts=3) as way:
            for number, name in enumerate(STEPS, start=1):
                request = sending(f"m{number}")
                way.store.calls.clear()
                way.store.lose(name, "before", times=3)
                with refused(Recoverable):
                    await way.commit(request)
                assert way.store.calls[name] == 3
                message = await way.commit(request)
                assert message.coordinates.sequence == number
            way.log.lose("publish", "before", times=3)
            with refused(Recoverable):
                await way.commit(sending("published"))
            message = await way.committer.resume(sending("published").key)
            assert message.coordinates.sequence == len(STEPS) + 1
            await one_of_each(stores, way)

    async def test_no_error_of_store_or_log_shows_through(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-31: whatever a store may say, at whatever step."""
        errors: list[MessageStoreError] = [
            StoreUnavailable("do it", "down"),
            WrongCommitState("m", "RECORDED", "RESERVED"),
            PublicationConflict("m"),
            CommitUnknown("m"),
            CommitUnreadable("m", "gibberish"),
        ]
        async with committing(stores, max_commit_attempts=2) as way:
            number = 0
            for name in STEPS:
                for error in errors:
                    number += 1
                    request = sending(f"m{number}")
                    way.store.lose(name, "before", times=2, error=error)
                    told = await _failure_of(way.commit(request))
                    assert isinstance(told, Recoverable)
                    assert told.client_message_id == f"m{number}"
                    assert told.__cause__ is error
                    way.store.recover()

    async def test_what_a_concurrent_advance_is_answered_with_converges(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-25: wrong state, other publication, unknown: the truth is read again."""
        errors: list[MessageStoreError] = [
            WrongCommitState("m", "RECORDED", "RESERVED"),
            PublicationConflict("m"),
            CommitUnknown("m"),
        ]
        number = 0
        async with committing(stores) as way:
            for when in WHENS:
                for name in STEPS:
                    for error in errors:
                        number += 1
                        way.store.lose(name, when, error=error)
                        message = await way.commit(sending(f"m{number}"))
                        assert message.coordinates.sequence == number
                        assert not way.store.is_losing
            await one_of_each(stores, way)

    async def test_another_request_of_the_key_is_a_conflict(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-12: the old ACK is never replayed to it."""
        request = sending()
        async with committing(stores) as way:
            message = await way.commit(request)
            for other in others_of(request).values():
                with refused(CommitConflict):
                    await way.commit(other)
                with refused(CommitConflict):
                    await way.committer.resume_existing(other)
            assert await way.commit(request) == message

    async def test_twenty_racing_senders_get_one_ack(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20, MS-25: of one message; of twenty contents one wins."""
        async with committing(stores) as way:
            messages = await asyncio.gather(
                *(way.commit(sending("same")) for _ in range(20))
            )
            assert len(set(messages)) == 1
            results = await asyncio.gather(
                *(way.commit(sending("other", f"text {n}")) for n in range(20)),
                return_exceptions=True,
            )
            won = [each for each in results if isinstance(each, CommittedMessage)]
            lost = [each for each in results if isinstance(each, CommitConflict)]
            assert (len(won), len(lost)) == (1, 19)
            after = await way.commit(sending("after"))
            assert after.coordinates.sequence == 3
            assert len(await stores.published(way.backend)) == 3

    async def test_without_the_atomic_step_the_second_half_is_resumed(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-24: OUTBOXED and its publication stay; only `mark_committed` is left."""
        request = sending()
        async with committing(stores) as way:
            halves = FlakyStore(way.backend.commits)
            two_step = FlakyStore(TwoStepStore(halves))
            committer = committer_over(
                two_step,
                way.log,
                way.members,
                changed_settings(commit_retry_seconds=0, max_commit_attempts=1),
                way.clock,
            )
            halves.lose("mark_committed", "before")
            with refused(Recoverable):
                await committer.resume((await reserved(way.backend, request)).key)
            there = await halves.load_commit(request.key, CONVERSATION)
            assert isinstance(there, CommitIntent)
            assert there.state is CommitState.OUTBOXED
            assert there.publication is not None
            [due] = await halves.scan_recoverable_commits(2**53, 10)
            assert due == there
            assert halves.calls["mark_published_and_committed"] == 0
            message = await committer.resume(request.key)
            assert message.publication == there.publication
            assert way.log.calls["publish"] == 1
            assert two_step.calls["mark_published_and_committed"] == 1
            assert two_step.calls["mark_committed"] == 1

    async def test_a_log_that_knows_no_keys_still_gives_one_ack(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-25, CL-10: two places in the log, one of them kept, for every sender."""
        request = sending()
        async with committing(stores) as way:
            log = ForgetfulPublisher()
            committer = committer_over(
                way.store,
                log,
                way.members,
                changed_settings(commit_retry_seconds=0),
                way.clock,
            )
            key = (await reserved(way.backend, request)).key
            messages = await asyncio.gather(*(committer.resume(key) for _ in range(5)))
            assert len(set(messages)) == 1
            assert log.envelopes
            assert len({each.body for each in log.envelopes}) == 1

    async def test_somebody_else_may_finish_it_meanwhile(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-25: with another publication; the source of truth is read again."""
        request = sending()
        async with committing(stores) as way:
            intent = await reserved(way.backend, request)
            await way.backend.commits.put_record(intent)
            first = await published(way.backend, intent)
            log = ForgetfulPublisher()
            committer = committer_over(
                way.store,
                log,
                way.members,
                changed_settings(commit_retry_seconds=0),
                way.clock,
            )
            way.store.lose("mark_published_and_committed", "before")
            resuming = asyncio.ensure_future(committer.resume(request.key))
            message = await way.backend.commits.mark_published_and_committed(
                intent, first
            )
            assert await resuming == message
            assert message.publication != elsewhere(first)


async def _failure_of(committing: Awaitable[CommittedMessage]) -> Exception:
    try:
        await committing
    except Exception as error:  # noqa: BLE001 - which one it is, is the question
        return error
    raise AssertionError("a commit that failed was acknowledged")
