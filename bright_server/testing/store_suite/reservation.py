"""Reserving: one key, one place, one content (MS-11, MS-12, MS-13, MS-20, MS-21)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, TypeAlias, cast

from bright_server.commit.encoding import record_of
from bright_server.commit.identity import full_identity, is_identity_of
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitState,
    CommittedMessage,
    FrozenDelivery,
    ReserveCandidate,
)
from bright_server.errors import CommitUnreadable, IdentityConflict, StoreUnavailable
from bright_server.messages import ObservedMessage
from bright_server.stores.observed_commits import request_of
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.refusals import refused, see_that_no_back_end_shows_through
from bright_server.testing.sends import (
    CONVERSATION,
    DELIVERY,
    NOW_MS,
    OTHER_CONVERSATION,
    Everybody,
    brought_to,
    candidate_of,
    committed,
    gone_on_to,
    others_of,
    reserved,
    saying_everything,
    sending,
)
from bright_server.testing.store_suite.history import EVERYTHING
from bright_server.testing.under_test import StoreUnderTest

RACERS = 20

Odd: TypeAlias = tuple[AuthenticatedSend, FrozenDelivery, ReserveCandidate]


def odd_ones() -> dict[str, Odd]:
    """Return what some database cannot hold, or only with care, by what is odd."""
    odd: dict[str, Odd] = {}

    def add(
        what: str,
        request: AuthenticatedSend,
        delivery: FrozenDelivery = DELIVERY,
        **given: object,
    ) -> None:
        odd[what] = (request, delivery, candidate_of(request, **given))

    for name, text in (("NUL", "a\0b"), ("half a pair", "a\ud800b"), ("no text", "")):
        said = sending().content
        for part in (
            "author_id", "direction", "kind", "text", "content", "quote", "recall",
            "custom_type", "body_reference",
        ):  # fmt: skip
            what = f"{name} as {part}"
            content = replace(said, **cast("dict[str, Any]", {part: text}))
            add(what, sending(what, content=content))
        for part in ("device", "reply_to"):
            what = f"{name} as {part}"
            add(what, sending(what, **{part: text}))
        what = f"{name} as mention"
        add(what, sending(what, mentions=(text,)))
        for part in ("recipient", "group"):
            what = f"{name} as {part}"
            delivery = replace(DELIVERY, **cast("dict[str, Any]", {part: text}))
            add(what, sending(what), delivery)
        add(f"{name} as raw", sending(f"{name} as raw"), raw=text)
        add(f"{name} as id", sending(f"{name} as id"), message_id=f"id{text}")
    for number in (-1, 2**53, -(2**53), 2**53 + 1, 2**63, -(2**63) - 1, 2**70):
        what = f"{number} as time"
        content = replace(sending().content, sent_at_ms=number)
        add(what, sending(what, content=content))
        add(f"{number} made", sending(f"{number} made"), created_at_ms=number)
        if number < 0 or number >= 2**53:
            what = f"{number} as version"
            add(what, sending(what), replace(DELIVERY, member_version=number))
        if number >= 2**53:
            what = f"{number} as expiry"
            add(what, sending(what), history_expires_at_ms=number)
    for size in (2_000, 3_000, 20_000):
        # That no compression makes small.
        name = "".join(chr(0x4E00 + (n * n * 7919) % 20_000) for n in range(size // 3))
        shown = ObservedMessage(
            name, "b", "inbound", NOW_MS, "text", "t", None, None, None, None
        )
        add(f"{size} bytes as page's id", request_of(CONVERSATION, shown))
        what = f"{size} bytes as id"
        add(what, sending(what), message_id=f"{name}.")
    return odd


class ReservationSuite:
    """What the first `reserve` of a key decides, and no later one."""

    async def test_the_first_reserve_takes_the_next_number(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20: each conversation counts from 1, by itself."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            first = await reserved(backend, sending("m1"))
            elsewhere = await reserved(
                backend, sending("m2", conversation=OTHER_CONVERSATION)
            )
            second = await reserved(backend, sending("m3"))
        assert first.coordinates.conversation == CONVERSATION
        assert elsewhere.coordinates.conversation == OTHER_CONVERSATION
        numbers = [each.coordinates.sequence for each in (first, elsewhere, second)]
        assert numbers == [1, 1, 2]

    async def test_a_repeat_returns_the_same_place_in_every_state(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20, MS-26: and it takes no number, whatever has become of the first."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            for number, state in enumerate(CommitState, start=1):
                request = sending(f"m{number}")
                there = await brought_to(state, backend, request)
                again = await backend.commits.reserve(
                    request, DELIVERY, candidate_of(request)
                )
                assert again == there
                assert again.coordinates.sequence == number
                if state is CommitState.COMMITTED:
                    assert isinstance(again, CommittedMessage)
                else:
                    assert isinstance(again, CommitIntent)
                    assert again.state is state

    async def test_the_first_freezes_all_of_it(self, stores: StoreUnderTest) -> None:
        """MS-11, MS-21: a repeat brings nothing new; the intent holds every fact."""
        request = sending()
        later = candidate_of(
            request, message_id="id-later", created_at_ms=NOW_MS + 9, raw="{}"
        )
        first = candidate_of(
            request, history_expires_at_ms=NOW_MS + 10**9, raw='{"a":1}'
        )
        delivery = FrozenDelivery(group="group-1", member_version=7, inline=False)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            intent = await backend.commits.reserve(request, delivery, first)
            again = await backend.commits.reserve(request, DELIVERY, later)
            [due] = await backend.commits.scan_recoverable_commits(NOW_MS + 1, 10)
        assert isinstance(intent, CommitIntent)
        assert intent == again == due
        assert intent.key == request.key
        assert intent.record == record_of(request, first)
        assert intent.delivery == delivery
        assert intent.coordinates.message_id == first.message_id
        assert intent.publication is None
        assert is_identity_of(intent.identity, request)

    async def test_what_was_reserved_can_be_committed(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-21: what a later step could not write is refused, and leaves no hole.

        Every reader of the conversation would stop before it, for ever.
        """
        told: list[str] = []
        async with stores.opened(ManualClock(), Everybody()) as backend:
            for number, (what, odd) in enumerate(odd_ones().items()):
                request, delivery, candidate = odd
                try:
                    intent = await backend.commits.reserve(request, delivery, candidate)
                except StoreUnavailable as error:
                    see_that_no_back_end_shows_through(error)
                    continue
                assert isinstance(intent, CommitIntent), what
                done = await gone_on_to(CommitState.COMMITTED, backend, intent)
                assert isinstance(done, CommittedMessage), (number, what)
                told.append(candidate.message_id)
            commits = backend.commits
            assert not await commits.scan_recoverable_commits(2**53, 10)
            await brought_to(CommitState.COMMITTED, backend, sending("after"))
            page = await commits.history_page(EVERYTHING)
            ids = [each.record.message_id for each in page.items]
            if stores.can.groups:
                found, _ = await backend.messages.messages_after(CONVERSATION, 0, 100)
                assert [each.message.message_id for each in found] == ids
                assert [each.sequence for each in found] == [*range(1, len(ids) + 1)]
        assert ids == [*told, candidate_of(sending("after")).message_id]
        assert [each.sequence for each in page.items] == [*range(1, len(ids) + 1)]

    async def test_another_request_of_the_key_is_a_conflict_in_every_state(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-12: whichever part of it differs, alone; the ACK never replays.

        Also after the store was closed and opened again, and after a commit has dropped
        all but what an ACK needs.
        """
        requests = {state: saying_everything(f"m{state}") for state in CommitState}
        async with stores.opened(ManualClock(), Everybody()) as backend:
            there = {
                state: await brought_to(state, backend, request)
                for state, request in requests.items()
            }
        async with stores.opened(ManualClock(), Everybody()) as backend:
            for state, request in requests.items():
                for what, other in others_of(request).items():
                    with refused(IdentityConflict, where=f"{what} in {state!r}"):
                        await backend.commits.reserve(
                            other, DELIVERY, candidate_of(other)
                        )
                    with refused(IdentityConflict, where=f"{what} in {state!r}"):
                        await backend.commits.load_commit_for_request(other)
                stays = await backend.commits.load_commit_for_request(request)
                assert stays == there[state]
            # Nothing was taken by the conflicts, in either conversation.
            after = await reserved(backend, sending("after"))
            beside = await reserved(
                backend, sending("beside", conversation=OTHER_CONVERSATION)
            )
        assert after.coordinates.sequence == len(CommitState) + 1
        assert beside.coordinates.sequence == 1

    async def test_the_same_id_of_another_sender_is_another_message(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-12: the key is tenant, sender and id."""
        request = sending()
        key = request.key
        async with stores.opened(ManualClock(), Everybody()) as backend:
            await reserved(backend, request)
            for other in (replace(key, sender="s2"), replace(key, tenant="t2")):
                beside = await reserved(
                    backend,
                    sending(key=other),
                    message_id=f"id-{other.tenant}-{other.sender}",
                )
                assert beside.key == other

    async def test_a_full_identity_is_still_read(self, stores: StoreUnderTest) -> None:
        """MS-13: as older servers wrote it, byte by byte; nothing else is judged."""
        requests = [sending("open"), sending("done")]
        async with stores.opened(ManualClock(), Everybody()) as backend:
            await reserved(backend, requests[0])
            await committed(backend, requests[1])
            for request in requests:
                await stores.replace_identity(
                    backend, request.key, full_identity(request)
                )
        async with stores.opened(ManualClock(), Everybody()) as backend:
            commits = backend.commits
            for number, request in enumerate(requests, start=1):
                there = await commits.load_commit_for_request(request)
                assert there is not None
                assert there.coordinates.sequence == number
                again = await commits.reserve(request, DELIVERY, candidate_of(request))
                assert again == there
                for other in others_of(request).values():
                    with refused(IdentityConflict):
                        await commits.load_commit_for_request(other)
                    with refused(IdentityConflict):
                        await commits.reserve(other, DELIVERY, candidate_of(other))
            assert (await reserved(backend, sending("after"))).coordinates.sequence == 3
            # What is neither form is neither a repeat nor a conflict.
            await stores.replace_identity(backend, requests[1].key, b"QIM?\x01")
            with refused(CommitUnreadable):
                await commits.load_commit_for_request(requests[1])

    async def test_twenty_racing_senders_of_one_message_get_one_place(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20: nobody's reservation takes a second number."""
        request = sending()
        async with stores.opened(ManualClock(), Everybody()) as backend:
            racers = await asyncio.gather(
                *(
                    backend.commits.reserve(request, DELIVERY, candidate_of(request))
                    for _ in range(RACERS)
                )
            )
            assert {each.coordinates.sequence for each in racers} == {1}
            after = await reserved(backend, sending("after"))
        assert after.coordinates.sequence == 2

    async def test_of_twenty_racing_contents_of_one_key_one_wins(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-12: the others are conflicts, and take nothing."""
        requests = [sending(), *others_of(sending()).values()]
        async with stores.opened(ManualClock(), Everybody()) as backend:
            results = await asyncio.gather(
                *(
                    backend.commits.reserve(each, DELIVERY, candidate_of(each))
                    for each in requests
                ),
                return_exceptions=True,
            )
            won = [each for each in results if not isinstance(each, BaseException)]
            lost = [each for each in results if isinstance(each, BaseException)]
            assert len(won) == 1
            assert {type(each) for each in lost} == {IdentityConflict}
            assert won[0].coordinates.sequence == 1
            place = await backend.commits.conversation_of(sending().key)
            assert place == won[0].coordinates.conversation
            for conversation in (CONVERSATION, OTHER_CONVERSATION):
                after = await reserved(
                    backend,
                    sending(
                        f"after {conversation.conversation_id}",
                        conversation=conversation,
                    ),
                )
                expected = 2 if conversation == place else 1
                assert after.coordinates.sequence == expected
