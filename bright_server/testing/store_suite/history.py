"""Pages of history (MS-14, MS-28)."""

from __future__ import annotations

from dataclasses import replace

from bright_server.commit.encoding import encode_record
from bright_server.commit.records import (
    CommitState,
    HistoryPage,
    HistoryQuery,
    MessageContent,
)
from bright_server.errors import HistoryQueryInvalid, NotAMember
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.refusals import needs, refused
from bright_server.testing.sends import (
    CONVERSATION,
    OTHER_CONVERSATION,
    Everybody,
    brought_to,
    changed,
    committed,
    reserved,
    sending,
)
from bright_server.testing.under_test import StoreUnderTest

EVERYTHING = HistoryQuery("seller-1", CONVERSATION, "newer", None, 100, 1_000_000)


def asking(**changes: object) -> HistoryQuery:
    """Return a query that differs from the whole history so."""
    return changed(EVERYTHING, changes)


def numbers(page: HistoryPage) -> list[int]:
    """Return the sequences of a page, in its order."""
    return [item.sequence for item in page.items]


class HistorySuite:
    """A page is what a member may see, within bounds, and no hole is a loss."""

    async def test_a_stranger_reads_nothing(self, stores: StoreUnderTest) -> None:
        """MS-14: the actor is asked about first, whatever else is wrong."""
        async with stores.opened(ManualClock(), Everybody("stranger")) as backend:
            await committed(backend, sending())
            with refused(NotAMember):
                await backend.commits.history_page(asking(actor="stranger"))
            with refused(NotAMember):
                await backend.commits.history_page(
                    asking(actor="stranger", max_items=0)
                )
            page = await backend.commits.history_page(EVERYTHING)
            assert numbers(page) == [1]

    async def test_membership_is_asked_on_every_page(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-14: who was let out between two pages does not get the second."""
        members = Everybody()
        async with stores.opened(ManualClock(), members) as backend:
            for number in range(2):
                await committed(backend, sending(f"m{number}"))
            page = await backend.commits.history_page(asking(max_items=1))
            members.strangers.add("seller-1")
            with refused(NotAMember):
                await backend.commits.history_page(
                    asking(anchor=page.next_anchor, max_items=1)
                )

    async def test_the_whole_record_is_kept(self, stores: StoreUnderTest) -> None:
        """MS-14, MS-28: types, body reference and all that was frozen, as it was."""
        content = MessageContent(
            author_id="seller-1",
            direction="outbound",
            kind="card",
            text="ünïcode 🙂 \u2028 text",
            content='{"a":[1,2]}',
            quote='{"q":1}',
            recall='{"r":1}',
            sent_at_ms=1_750_000_000_001,
            custom_type="offer",
            body_reference="body:7",
        )
        request = sending(content=content, mentions=("b", "a"), reply_to="id-7")
        async with stores.opened(ManualClock(), Everybody()) as backend:
            intent = await reserved(backend, request, raw='{"as":"shown"}')
            empty = await backend.commits.history_page(EVERYTHING)
            await backend.commits.put_record(intent)
            page = await backend.commits.history_page(EVERYTHING)
            # The record and nothing else: it is in no log, and takes no number.
            assert await stores.published(backend) == []
            after = await reserved(backend, sending("after"))
        assert after.coordinates.sequence == 2
        assert empty.items == ()
        async with stores.opened(ManualClock(), Everybody()) as backend:
            again = await backend.commits.history_page(EVERYTHING)
        assert page == again
        assert [item.record for item in page.items] == [intent.record]

    async def test_pages_follow_their_anchor_in_both_directions(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-28: each message once, and the end is known as one."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            for number in range(1, 8):
                await committed(backend, sending(f"m{number}"))
            await committed(backend, sending("o", conversation=OTHER_CONVERSATION))
            for direction, expected in (
                ("newer", [[1, 2, 3], [4, 5, 6], [7]]),
                ("older", [[7, 6, 5], [4, 3, 2], [1]]),
            ):
                anchor, pages = None, []
                while True:
                    page = await backend.commits.history_page(
                        asking(direction=direction, anchor=anchor, max_items=3)
                    )
                    assert (page.lowest, page.highest) == (1, 7)
                    pages.append(numbers(page))
                    anchor = page.next_anchor
                    if anchor is None:
                        break
                assert pages == expected
            exact = await backend.commits.history_page(asking(anchor=4, max_items=3))
            assert numbers(exact) == [5, 6, 7]
            assert exact.next_anchor is None

    async def test_a_page_ends_at_its_byte_cap(self, stores: StoreUnderTest) -> None:
        """MS-28: bytes as `encode_record` counts them; one is always given."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            sizes = []
            for number in range(1, 4):
                intent = await reserved(backend, sending(f"m{number}", "é" * 50))
                await backend.commits.put_record(intent)
                sizes.append(len(encode_record(intent.record)))
            for cap, expected in (
                (1, [1]),
                (sizes[0], [1]),
                (sizes[0] + sizes[1] - 1, [1]),
                (sizes[0] + sizes[1], [1, 2]),
                (sum(sizes), [1, 2, 3]),
            ):
                page = await backend.commits.history_page(asking(max_bytes=cap))
                assert numbers(page) == expected
                is_last = expected[-1] == 3
                assert page.next_anchor == (None if is_last else expected[-1])
                assert (page.lowest, page.highest) == (1, 3)
            for cap, expected in ((1, [3]), (sizes[2] + sizes[1], [3, 2])):
                older = await backend.commits.history_page(
                    asking(direction="older", max_bytes=cap)
                )
                assert numbers(older) == expected
                assert older.next_anchor == expected[-1]

    async def test_a_hole_is_no_loss(self, stores: StoreUnderTest) -> None:
        """MS-28: what is reserved and not recorded is not there, and comes later."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            await committed(backend, sending("m1"))
            hole = await reserved(backend, sending("m2"))
            await brought_to(CommitState.RECORDED, backend, sending("m3"))
            page = await backend.commits.history_page(EVERYTHING)
            assert numbers(page) == [1, 3]
            assert (page.next_anchor, page.lowest, page.highest) == (None, 1, 3)
            older = await backend.commits.history_page(
                asking(direction="older", max_items=1)
            )
            assert (numbers(older), older.next_anchor) == ([3], 3)
            await backend.commits.put_record(hole)
            page = await backend.commits.history_page(EVERYTHING)
            assert numbers(page) == [1, 2, 3]

    async def test_an_empty_history_has_no_bounds(self, stores: StoreUnderTest) -> None:
        """MS-28: nor has one in which a number is only reserved."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            nothing = HistoryPage((), None, None, None)
            assert await backend.commits.history_page(EVERYTHING) == nothing
            await reserved(backend, sending())
            assert await backend.commits.history_page(EVERYTHING) == nothing

    async def test_bounds_that_cannot_be_are_refused(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-28: and the server's settings bound both items and bytes."""
        async with stores.opened(
            ManualClock(), Everybody(), max_history_items=10, max_history_bytes=1_000
        ) as backend:
            most = asking(max_items=10, max_bytes=1_000)
            await backend.commits.history_page(most)
            for wrong in (
                replace(most, max_items=0),
                replace(most, max_items=11),
                replace(most, max_bytes=0),
                replace(most, max_bytes=1_001),
                replace(most, anchor=-1),
                replace(most, anchor=2**63),
                asking(max_items=10, max_bytes=1_000, direction="sideways"),
            ):
                with refused(HistoryQueryInvalid):
                    await backend.commits.history_page(wrong)

    async def test_history_lets_go_of_what_has_expired(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-23, MS-28: not before its time; its place stays its own, and its ACK."""
        needs(stores.can.expires_history, "the expiry of history")
        clock = ManualClock()
        soon = clock.now_ms() + 1_000
        async with stores.opened(clock, Everybody()) as backend:
            message = await committed(
                backend, sending("m1"), history_expires_at_ms=soon
            )
            await committed(backend, sending("m2"))
            page = await backend.commits.history_page(EVERYTHING)
            assert numbers(page) == [1, 2]
        clock.advance(2)
        async with stores.opened(clock, Everybody()) as backend:
            page = await backend.commits.history_page(EVERYTHING)
            assert (numbers(page), page.lowest, page.highest) == ([2], 2, 2)
            again = await backend.commits.load_commit_for_request(sending("m1"))
            assert again == message
            assert (await committed(backend, sending("m3"))).coordinates.sequence == 3
