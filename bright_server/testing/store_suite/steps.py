"""The steps of a commit (MS-03, MS-14, MS-22, MS-23, MS-24)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from bright_server.commit.backend import Backend
from bright_server.commit.records import (
    CommitIntent,
    CommitState,
    CommittedMessage,
    OutboxPublication,
)
from bright_server.errors import (
    CommitUnknown,
    IdentityConflict,
    PublicationConflict,
    PublicationNotDurable,
    StoreUnavailable,
    WrongCommitState,
)
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.refusals import (
    needs,
    refused,
    see_that_no_back_end_shows_through,
)
from bright_server.testing.sends import (
    CONVERSATION,
    DELIVERY,
    NOW_MS,
    OTHER_CONVERSATION,
    Everybody,
    candidate_of,
    committed,
    elsewhere,
    gone_on_to,
    published,
    reserved,
    sending,
)
from bright_server.testing.store_suite.history import EVERYTHING
from bright_server.testing.under_test import StoreUnderTest


class StepSuite:
    """Each step may be done again, and none before the one that it needs."""

    async def test_states_go_forward_only(self, stores: StoreUnderTest) -> None:
        """MS-03, MS-22: a step that was done is a no-op, in every later state."""
        request = sending()
        async with stores.opened(ManualClock(), Everybody()) as backend:
            commits = backend.commits
            intent = await reserved(backend, request)
            for _ in range(2):
                await commits.put_record(intent)
            recorded = await commits.load_commit(request.key, CONVERSATION)
            assert recorded == replace(intent, state=CommitState.RECORDED)
            publication = await published(backend, intent)
            for _ in range(2):
                await commits.mark_outbox_published(intent, publication)
                await commits.put_record(intent)
            outboxed = await commits.load_commit(request.key, CONVERSATION)
            assert outboxed == replace(
                intent, state=CommitState.OUTBOXED, publication=publication
            )
            message = await commits.mark_committed(intent)
            assert message == CommittedMessage(
                request.key, intent.coordinates, publication
            )
            await commits.put_record(intent)
            await commits.mark_outbox_published(intent, publication)
            assert await commits.mark_committed(intent) == message
            assert await commits.mark_published_and_committed(intent, publication) == (
                message
            )
            assert await commits.load_commit(request.key, CONVERSATION) == message

    async def test_a_step_before_the_one_it_needs_is_refused(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-22, MS-23: without a record, or a publication, there is no commit."""
        request = sending()
        async with stores.opened(ManualClock(), Everybody()) as backend:
            commits = backend.commits
            publication = (await committed(backend, sending("other"))).publication
            intent = await reserved(backend, request)
            with refused(WrongCommitState):
                await commits.mark_outbox_published(intent, publication)
            with refused(WrongCommitState):
                await commits.mark_published_and_committed(intent, publication)
            with refused(WrongCommitState):
                await commits.mark_committed(intent)
            # Nothing of it was half done.
            assert await commits.load_commit(request.key, CONVERSATION) == intent
            await commits.put_record(intent)
            with refused(WrongCommitState):
                await commits.mark_committed(intent)
            there = await commits.load_commit(request.key, CONVERSATION)
            assert there == replace(intent, state=CommitState.RECORDED)

    async def test_a_caller_that_remembers_more_than_there_is_is_not_believed(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-22: what is persisted counts, not the state of the intent handed in."""
        request = sending()
        async with stores.opened(ManualClock(), Everybody()) as backend:
            publication = (await committed(backend, sending("other"))).publication
            intent = await reserved(backend, request)
            imagined = replace(
                intent, state=CommitState.OUTBOXED, publication=publication
            )
            with refused(WrongCommitState):
                await backend.commits.mark_committed(imagined)
            there = await backend.commits.load_commit(request.key, CONVERSATION)
            assert there == intent

    async def test_the_publication_is_kept_once(self, stores: StoreUnderTest) -> None:
        """MS-22, MS-23: another one is refused, and the first stays."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            commits = backend.commits
            for state in (CommitState.OUTBOXED, CommitState.COMMITTED):
                request = sending(f"m{state}")
                intent = await reserved(backend, request)
                there = await gone_on_to(state, backend, intent)
                first = there.publication
                assert first is not None
                for other in (elsewhere(first), _in_another_partition(first)):
                    with refused(PublicationConflict):
                        await commits.mark_outbox_published(intent, other)
                    with refused(PublicationConflict):
                        await commits.mark_published_and_committed(intent, other)
                assert await commits.load_commit(request.key, CONVERSATION) == there

    async def test_recorded_and_published_becomes_committed(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-23: at once, with the original ACK each time, also after a restart."""
        request = sending()
        async with stores.opened(ManualClock(), Everybody()) as backend:
            intent = await reserved(backend, request)
            await backend.commits.put_record(intent)
            publication = await published(backend, intent)
            message = await backend.commits.mark_published_and_committed(
                intent, publication
            )
            assert message == CommittedMessage(
                request.key, intent.coordinates, publication
            )
            due = await backend.commits.scan_recoverable_commits(NOW_MS + 1, 10)
            assert list(due) == []
        async with stores.opened(ManualClock(), Everybody()) as backend:
            commits = backend.commits
            again = await commits.mark_published_and_committed(intent, publication)
            assert again == message
            assert await commits.load_commit_for_request(request) == message

    async def test_a_conflicting_publication_leaves_no_partial_write(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-23: of two that commit at once with two places, one place is kept."""
        needs(stores.can.atomic_step, "the atomic step")
        request = sending()
        async with stores.opened(ManualClock(), Everybody()) as backend:
            intent = await reserved(backend, request)
            await backend.commits.put_record(intent)
            first = await published(backend, intent)
            results = await asyncio.gather(
                *(
                    backend.commits.mark_published_and_committed(intent, each)
                    for each in (first, elsewhere(first))
                ),
                return_exceptions=True,
            )
            [message] = [each for each in results if isinstance(each, CommittedMessage)]
            [conflict] = [each for each in results if isinstance(each, Exception)]
            assert isinstance(conflict, PublicationConflict)
            there = await backend.commits.load_commit(request.key, CONVERSATION)
            assert there == message

    async def test_what_was_never_reserved_is_unknown(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-30: said in the store's own words, for every step."""
        request = sending()
        async with stores.opened(ManualClock(), Everybody()) as backend:
            commits = backend.commits
            publication = (await committed(backend, request)).publication
            intent = await reserved(backend, sending("m2"))
            intent = replace(intent, key=sending("never").key)
            with refused(CommitUnknown):
                await commits.put_record(intent)
            with refused(CommitUnknown):
                await commits.mark_outbox_published(intent, publication)
            with refused(CommitUnknown):
                await commits.mark_published_and_committed(intent, publication)
            with refused(CommitUnknown):
                await commits.mark_committed(intent)

    async def test_a_key_is_found_in_its_own_conversation_only(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-01: `load_commit` names it, `conversation_of` finds it."""
        request = sending()
        async with stores.opened(ManualClock(), Everybody()) as backend:
            commits = backend.commits
            assert await commits.load_commit(request.key, CONVERSATION) is None
            assert await commits.conversation_of(request.key) is None
            assert await commits.load_commit_for_request(request) is None
            for _ in ("reserved", "committed"):
                there = await commits.load_commit(request.key, CONVERSATION)
                if there is None:
                    await reserved(backend, request)
                else:
                    assert isinstance(there, CommitIntent)
                    await commits.put_record(there)
                    await commits.mark_published_and_committed(
                        there, await published(backend, there)
                    )
                assert await commits.conversation_of(request.key) == CONVERSATION
                elsewhere_ = await commits.load_commit(request.key, OTHER_CONVERSATION)
                assert elsewhere_ is None

    async def test_the_log_gives_one_envelope_one_place(
        self, stores: StoreUnderTest
    ) -> None:
        """CL-10, CL-20: the same again is the same place; others come after it."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            one, two, racing = [
                await self._recorded(backend, name) for name in ("m1", "m2", "m3")
            ]
            first, again = await published(backend, one), await published(backend, one)
            second = await published(backend, two)
            assert first == again
            assert second.position.partition == first.position.partition
            assert second.position.offset == first.position.offset + 1
            places = await asyncio.gather(
                *(published(backend, racing) for _ in range(10))
            )
            assert len(set(places)) == 1
            keys = await stores.published(backend)
            assert sorted(keys) == sorted(
                each.coordinates.message_id for each in (one, two, racing)
            )

    async def test_a_store_that_is_closed_says_so(self, stores: StoreUnderTest) -> None:
        """MS-15, MS-30: of each call, readiness too; in the store's own words."""
        needs(stores.can.durable, "a dependency that can be gone")
        async with stores.opened(ManualClock(), Everybody()) as backend:
            intent = await reserved(backend, sending())
        commits = backend.commits
        for call in (
            partial(commits.reserve, sending("m2"), DELIVERY, candidate_of(sending())),
            partial(commits.put_record, intent),
            partial(commits.mark_committed, intent),
            partial(commits.load_commit, intent.key, CONVERSATION),
            partial(commits.load_commit_for_request, sending()),
            partial(commits.scan_recoverable_commits, NOW_MS + 1, 10),
            partial(commits.hold_lease, "lease", "holder", 1_000),
            partial(commits.history_page, EVERYTHING),
            commits.readiness,
            backend.prove_writable,
        ):
            with refused(StoreUnavailable):
                await call()
        with refused(PublicationNotDurable):
            await backend.publisher.readiness()

    async def test_what_cannot_be_kept_is_refused_in_the_store_s_words(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-30: half a character is nobody's text; nothing of it is done."""
        half = "half \ud83d"
        async with stores.opened(ManualClock(), Everybody()) as backend:
            for request in (
                sending(half),
                sending("m1", half),
                sending("m1", device=half),
                sending("m1", mentions=(half,)),
            ):
                with refused(StoreUnavailable):
                    await backend.commits.reserve(
                        request, DELIVERY, candidate_of(request, message_id="id-1")
                    )
            for read in (
                backend.commits.load_commit(sending(half).key, CONVERSATION),
                backend.commits.conversation_of(sending(half).key),
                backend.commits.load_commit_for_request(sending(half)),
            ):
                try:
                    assert await read is None
                except StoreUnavailable as error:
                    see_that_no_back_end_shows_through(error)
            assert (await committed(backend, sending())).coordinates.sequence == 1
            other = sending("m1", half)
            for again in (
                backend.commits.load_commit_for_request(other),
                backend.commits.reserve(other, DELIVERY, candidate_of(other)),
            ):
                with refused(StoreUnavailable, IdentityConflict):
                    await again

    @staticmethod
    async def _recorded(backend: Backend, name: str) -> CommitIntent:
        intent = await reserved(backend, sending(name))
        await backend.commits.put_record(intent)
        return intent


def _in_another_partition(publication: OutboxPublication) -> OutboxPublication:
    position = publication.position
    return OutboxPublication(replace(position, partition=position.partition + "-2"))
