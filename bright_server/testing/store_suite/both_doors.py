"""Observed groups and single commits: one numbering, one message a scope (MS-20).

`commit_group` commits many messages in one step, `reserve` begins one message; each
sees what the other has done.
"""

from __future__ import annotations

import asyncio

from bright_server.commit.groups import BatchCommitted, NotStored
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitState,
    CommittedMessage,
)
from bright_server.errors import IdentityConflict
from bright_server.stores.observed_commits import request_of
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.refusals import needs, refused
from bright_server.testing.sends import (
    CONVERSATION,
    DELIVERY,
    NOW_MS,
    OTHER_CONVERSATION,
    Everybody,
    batch_of,
    brought_to,
    candidate_of,
    committed,
    gone_on_to,
    granted,
    others_of,
    others_shown,
    published,
    reserved,
    sending,
    showing,
    showing_everything,
)
from bright_server.testing.store_suite.history import EVERYTHING, numbers
from bright_server.testing.under_test import StoreUnderTest

GROUPS = "the doors of groups"


def observing(name: str, text: str = "hello", **changes: object) -> AuthenticatedSend:
    """Return the single commit of an observation."""
    return request_of(CONVERSATION, showing(name, text, **changes))


class BothDoorsSuite:
    """A conversation has one counter and one history, whichever door is used."""

    async def test_both_doors_count_on_from_each_other(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20: no number twice, none left out, also after a restart."""
        needs(stores.can.groups, GROUPS)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            group = [batch_of(grant, showing("p1"), showing("p2"))]
            [first] = await backend.observations.commit_group(group)
            single = await committed(backend, sending("s3"))
            again = [batch_of(grant, showing("p1"), showing("p4"))]
            [second] = await backend.observations.commit_group(again)
            left = await reserved(backend, sending("s5"))
        async with stores.opened(ManualClock(), Everybody()) as backend:
            [third] = await backend.observations.commit_group(
                [batch_of(grant, showing("p6"))]
            )
            page = await backend.commits.history_page(EVERYTHING)
        assert isinstance(first, BatchCommitted)
        assert isinstance(second, BatchCommitted)
        assert isinstance(third, BatchCommitted)
        assert list(first.sequences) == [1, 2]
        assert single.coordinates.sequence == 3
        assert (list(second.sequences), second.repeats) == ([1, 4], frozenset({0}))
        assert left.coordinates.sequence == 5
        assert list(third.sequences) == [6]
        assert numbers(page) == [1, 2, 3, 4, 6]

    async def test_a_message_of_a_group_is_a_committed_message(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-12, MS-13: found by its scope, replayed, in history, and never due."""
        needs(stores.can.groups, GROUPS)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            shown = showing("p1", raw='{"shown":1}')
            await backend.observations.commit_group([batch_of(grant, shown)])
        async with stores.opened(ManualClock(), Everybody()) as backend:
            commits = backend.commits
            request = observing("p1")
            message = await commits.load_commit(request.key, CONVERSATION)
            assert isinstance(message, CommittedMessage)
            assert message.key == request.key
            assert message.coordinates.sequence == 1
            assert message.coordinates.message_id == "p1"
            assert await commits.load_commit_for_request(request) == message
            assert await commits.conversation_of(request.key) == CONVERSATION
            again = await commits.reserve(request, DELIVERY, candidate_of(request))
            assert again == message
            assert list(await commits.scan_recoverable_commits(2**53, 10)) == []
            [item] = (await commits.history_page(EVERYTHING)).items
            assert item.record.content == request.content
            assert (item.record.message_id, item.record.raw) == ("p1", '{"shown":1}')
            assert len(await stores.published(backend)) == 1

    async def test_other_content_of_a_scope_is_a_conflict_at_both_doors(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-12: the first stays, whichever door it came through."""
        needs(stores.can.groups, GROUPS)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            shown = showing_everything("p1")
            await backend.observations.commit_group([batch_of(grant, shown)])
            for what, other in others_of(request_of(CONVERSATION, shown)).items():
                # Its conversation is part of an observation's key.
                if what not in {"another conversation", "another account"}:
                    with refused(IdentityConflict, where=what):
                        await backend.commits.reserve(
                            other, DELIVERY, candidate_of(other)
                        )
            there = showing_everything("p2")
            await committed(backend, request_of(CONVERSATION, there))
            others = others_shown(there)
            [outcome] = await backend.observations.commit_group(
                [batch_of(grant, *others, there)]
            )
            assert isinstance(outcome, BatchCommitted)
            assert {*outcome.sequences} == {2}
            assert outcome.conflicts == frozenset(range(len(others)))
            assert outcome.repeats == frozenset({len(others)})

    async def test_a_group_finds_what_was_committed_alone(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20: it is there already, and has one publication."""
        needs(stores.can.groups, GROUPS)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            # The page's time is its own, not that of the commit.
            shown = showing("p1", sent_at_ms=NOW_MS - 5)
            message = await committed(backend, request_of(CONVERSATION, shown))
        async with stores.opened(ManualClock(), Everybody()) as backend:
            [outcome] = await backend.observations.commit_group(
                [batch_of(grant, shown, showing("p2"))]
            )
            found, _ = await backend.messages.messages_after(CONVERSATION, 0, 10)
            assert found[0].message == shown
            assert isinstance(outcome, BatchCommitted)
            assert (list(outcome.sequences), outcome.repeats) == (
                [1, 2],
                frozenset({0}),
            )
            there = await backend.commits.load_commit(message.key, CONVERSATION)
            assert there == message
            keys = await stores.published(backend)
            assert len(keys) == len(set(keys)) == 2

    async def test_a_group_that_acknowledges_an_open_commit_has_finished_it(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-27: or it says that it has not stored it; no promise comes too early."""
        needs(stores.can.groups, GROUPS)
        states = [state for state in CommitState if state < CommitState.COMMITTED]
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            for number, state in enumerate(states, start=1):
                request = observing(f"p{number}")
                await brought_to(state, backend, request)
                [outcome] = await backend.observations.commit_group(
                    [batch_of(grant, showing(f"p{number}"))]
                )
                there = await backend.commits.load_commit(request.key, CONVERSATION)
                assert there is not None
                assert there.coordinates.sequence == number
                if isinstance(outcome, NotStored):
                    continue
                assert isinstance(outcome, BatchCommitted)
                assert (list(outcome.sequences), outcome.repeats) == (
                    [number],
                    frozenset({0}),
                )
                assert isinstance(there, CommittedMessage)
                # It is all there: in history, for readers, and in the log.
                page = await backend.commits.history_page(EVERYTHING)
                assert number in numbers(page)
                found, _ = await backend.messages.messages_after(
                    CONVERSATION, number - 1, 1
                )
                assert [each.message.message_id for each in found] == [f"p{number}"]
                assert len(await stores.published(backend)) == number
            keys = await stores.published(backend)
            assert len(keys) == len(set(keys))

    async def test_readers_stop_before_an_open_place(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-28: who reads on from the last sequence misses nothing."""
        needs(stores.can.groups, GROUPS)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            await backend.observations.commit_group([batch_of(grant, showing("p1"))])
            left = await brought_to(CommitState.RECORDED, backend, sending("s2"))
            await backend.observations.commit_group([batch_of(grant, showing("p3"))])
            found, _ = await backend.messages.messages_after(CONVERSATION, 0, 10)
            assert [each.sequence for each in found] == [1]
            assert not isinstance(left, CommittedMessage)
            await backend.commits.mark_published_and_committed(
                left, await published(backend, left)
            )
            found, _ = await backend.messages.messages_after(CONVERSATION, 1, 10)
            assert [each.sequence for each in found] == [2, 3]
            assert found[0].message.text == "hello"

    async def test_an_id_that_a_page_and_a_sender_have_keeps_nobody_waiting(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-21: whoever reserved first can be committed, whatever a page shows.

        The page's message has a place of its own, or is a conflict.
        """
        needs(stores.can.groups, GROUPS)
        states = [state for state in CommitState if state < CommitState.COMMITTED]
        given: dict[str, int] = {}
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            await backend.observations.commit_group([batch_of(grant, showing("a"))])
            for state in states:
                request, name = sending(f"s{state}"), f"id-{state}"
                intent = await reserved(backend, request, message_id=name)
                await gone_on_to(state, backend, intent)
                batch = batch_of(grant, showing(name, "the page's"), showing("a"))
                [outcome] = await backend.observations.commit_group([batch])
                assert isinstance(outcome, BatchCommitted)
                if 0 in outcome.conflicts:
                    assert outcome.sequences[0] == intent.coordinates.sequence
                else:
                    given[name] = outcome.sequences[0]
                await backend.commits.put_record(intent)
                done = await backend.commits.mark_published_and_committed(
                    intent, await published(backend, intent)
                )
                assert done.coordinates == intent.coordinates
            found, _ = await backend.messages.messages_after(CONVERSATION, 0, 100)
            page = await backend.commits.history_page(EVERYTHING)
            keys = await stores.published(backend)
        total = 1 + len(states) + len(given)
        assert [each.sequence for each in found] == list(range(1, total + 1))
        assert numbers(page) == list(range(1, total + 1))
        assert len(keys) == len(set(keys)) == total
        said = [each.message.text for each in found]
        assert said.count("hello") == 1 + len(states)
        assert said.count("the page's") == len(given)

    async def test_both_doors_race_for_one_counter(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20: twenty sends and twenty groups at once give forty numbers."""
        needs(stores.can.groups, GROUPS)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)

            async def observed() -> None:
                # One caller at a time: that is the committer of groups.
                for number in range(20):
                    [outcome] = await backend.observations.commit_group(
                        [
                            batch_of(grant, showing(f"p{number}")),
                        ]
                    )
                    assert isinstance(outcome, BatchCommitted)

            await asyncio.gather(
                observed(), *(committed(backend, sending(f"s{n}")) for n in range(20))
            )
            page = await backend.commits.history_page(EVERYTHING)
            assert numbers(page) == list(range(1, 41))
            keys = await stores.published(backend)
            assert len(keys) == len(set(keys)) == 40

    async def test_a_page_id_is_unique_in_its_conversation_only(
        self, stores: StoreUnderTest
    ) -> None:
        """OT-01, CL-10: two conversations' messages are two entries of the log."""
        needs(stores.can.groups, GROUPS)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            here = await committed(backend, observing("p1"))
            there = await committed(
                backend, request_of(OTHER_CONVERSATION, showing("p1"))
            )
            assert here.coordinates.conversation != there.coordinates.conversation
            keys = await stores.published(backend)
            assert len(keys) == len(set(keys)) == 2
