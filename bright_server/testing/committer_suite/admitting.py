"""What is checked before anything is reserved (MS-10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

from bright_server.commit.records import CommitState, CommittedMessage
from bright_server.errors import (
    CommitUnavailable,
    InvalidClientMessageId,
    Recoverable,
    SendRefused,
)
from bright_server.messages import ConversationKey
from bright_server.stores.observed_commits import request_of
from bright_server.testing.committer_suite.committing import committing
from bright_server.testing.refusals import refused
from bright_server.testing.sends import (
    CONVERSATION,
    DELIVERY,
    brought_to,
    candidate_of,
    reserved,
    sending,
    showing,
)
from bright_server.testing.under_test import StoreUnderTest


class AdmittingSuite:
    """A refusal reserves nothing and costs nothing."""

    async def test_an_id_that_cannot_be_one_is_refused(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-10: empty, too long, not printable, not storable."""
        async with committing(stores, max_client_message_id_chars=20) as way:
            for name in ("", "x" * 21, "a\x00b", "a\nb", "\ud800", "\x1b[2J"):
                with refused(InvalidClientMessageId):
                    await way.commit(sending(name))
            assert not way.store.calls
            message = await way.commit(sending("x" * 20))
            assert message.coordinates.sequence == 1

    async def test_membership_content_and_quota_are_checked(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-10: each refusal has its code; the quota is taken by none of them."""
        async with committing(
            stores,
            sender_burst_messages=2,
            sender_messages_per_second=1,
            max_sent_text_bytes=10,
            max_mentions=2,
        ) as way:
            way.members.strangers.add("seller-1")
            assert await _code_of(way.commit(sending("m1"))) == "not_a_member"
            way.members.strangers.clear()
            for request in (
                sending("m1", "é" * 6),
                sending("m1", "a\x00b"),
                sending("m1", "\udc00"),
                sending("m1", mentions=("a", "b", "c")),
                sending("m1", mentions=("\ud800",)),
                sending("m1", device="\x00"),
            ):
                assert await _code_of(way.commit(request)) == "invalid_content"
            for name in ("m1", "m2"):
                await way.commit(sending(name))
            assert await _code_of(way.commit(sending("m3"))) == "quota_exceeded"
            other = replace(sending().key, sender="seller-2")
            await way.commit(sending(key=other))
            way.clock.advance(1)
            message = await way.commit(sending("m3"))
            assert message.coordinates.sequence == 4

    async def test_what_was_reserved_needs_no_quota(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-11, MS-26: nor membership: it was admitted when it was reserved."""
        async with committing(
            stores, sender_burst_messages=1, sender_messages_per_second=0.001
        ) as way:
            first = await way.commit(sending("first"))
            assert await _code_of(way.commit(sending("second"))) == "quota_exceeded"
            way.members.strangers.add("seller-1")
            assert await way.commit(sending("first")) == first
            for state in CommitState:
                request = sending(f"m{state}")
                there = await brought_to(state, way.backend, request)
                message = await way.commit(request)
                assert message.coordinates == there.coordinates

    async def test_a_lost_reply_costs_no_second_share(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-10: one message, one share, however often its reserving is tried."""
        async with committing(
            stores, sender_burst_messages=2, sender_messages_per_second=0.001
        ) as way:
            way.store.lose("reserve", "before", times=3)
            await way.commit(sending("m1"))
            await way.commit(sending("m2"))

    async def test_observations_are_nobodys_sending(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-10, OT-01: their scope is their key; no member, no quota, no device."""
        async with committing(stores, sender_burst_messages=1) as way:
            way.members.strangers.update((CONVERSATION.conversation_id, "buyer-1"))
            request = request_of(CONVERSATION, showing("p1"))
            for number in range(1, 4):
                observed = request_of(CONVERSATION, showing(f"p{number}"))
                message = await way.commit(observed)
                assert message.coordinates.sequence == number
            elsewhere = replace(request.key, client_message_id="p9", sender="elsewhere")
            with refused(InvalidClientMessageId):
                await way.commit(replace(request, key=elsewhere))
            with refused(InvalidClientMessageId):
                await way.committer.commit(
                    request_of(CONVERSATION, showing("p8")),
                    DELIVERY,
                    replace(candidate_of(request), message_id="made-up"),
                )
            with refused(InvalidClientMessageId):
                other = request_of(CONVERSATION, showing("p7"))
                await way.commit(replace(other, device="device-1"))

    async def test_too_many_at_once_are_told_to_come_again(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-31: `Recoverable`; recovery is not held back by it."""
        async with committing(stores, max_commits_under_way=1) as way:
            intent = await reserved(way.backend, sending("left"))
            held = _Held()
            way.members.is_member = held.is_member  # type: ignore[method-assign]
            first = asyncio.create_task(way.commit(sending("m1")))
            await held.asked.wait()
            for asked in (
                way.commit(sending("m2")),
                way.committer.resume_existing(sending("m2")),
            ):
                # It is refused at once, and waits for nobody.
                with refused(Recoverable):
                    await asyncio.wait_for(asked, 5)
            message = await way.committer.resume(intent.key)
            assert message.coordinates == intent.coordinates
            held.answer.set()
            await first
            second = await way.commit(sending("m2"))
            assert second.coordinates.sequence == 3

    async def test_readiness_asks_store_and_log(self, stores: StoreUnderTest) -> None:
        """MS-15: and says so in the committer's own words."""
        async with committing(stores) as way:
            await way.committer.readiness()
            way.store.lose("readiness", "before")
            with refused(CommitUnavailable):
                await way.committer.readiness()
            way.log.lose("readiness", "before")
            with refused(CommitUnavailable):
                await way.committer.readiness()
            await way.committer.readiness()


class _Held:
    """A membership whose answer is held back."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer = asyncio.Event()

    async def is_member(self, actor: str, conversation: ConversationKey) -> bool:
        self.asked.set()
        return await self.answer.wait()


async def _code_of(committing: Awaitable[CommittedMessage]) -> str:
    try:
        await committing
    except SendRefused as error:
        return error.code
    raise AssertionError("it was not refused")
