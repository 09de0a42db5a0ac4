"""One store opened twice at once, as by two server processes (MS-12, MS-20, MS-26)."""

from __future__ import annotations

import asyncio
import time

from bright_server.commit.backend import Backend
from bright_server.commit.groups import BatchCommitted
from bright_server.commit.records import CommittedMessage
from bright_server.errors import IdentityConflict
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.refusals import needs
from bright_server.testing.sends import (
    CONVERSATION,
    DELIVERY,
    Everybody,
    batch_of,
    candidate_of,
    committed,
    granted,
    others_of,
    reserved,
    sending,
    showing,
)
from bright_server.testing.store_suite.history import EVERYTHING, asking, numbers
from bright_server.testing.under_test import StoreUnderTest


class SeveralOpeningsSuite:
    """No split sequence, no double commit, whoever asks."""

    async def test_racing_contents_of_a_key_have_one_winner_across_openings(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-12, MS-20: open, committed, and compacted: the others are conflicts."""
        needs(stores.can.several_openings, "several openings at once")
        clock = ManualClock()
        async with (
            stores.opened(clock, Everybody()) as one,
            stores.opened(clock, Everybody()) as other,
        ):
            asked = [
                door.commits.reserve(request, DELIVERY, candidate_of(request))
                for request in (sending(), *others_of(sending()).values())
                for door in (one, other)
            ]
            results = await asyncio.gather(*asked, return_exceptions=True)
            won = [each for each in results if not isinstance(each, BaseException)]
            assert len({(each.key, each.coordinates) for each in won}) == 1
            assert {type(each) for each in results if each not in won} == {
                IdentityConflict
            }
            await committed(other, sending("m2"))
            again = await asyncio.gather(
                *(
                    door.commits.load_commit_for_request(each)
                    for door in (one, other)
                    for each in others_of(sending("m2")).values()
                ),
                return_exceptions=True,
            )
            assert {type(each) for each in again} == {IdentityConflict}

    async def test_openings_count_on_from_each_other(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20: racing sends through both take each number once."""
        needs(stores.can.several_openings, "several openings at once")
        clock = ManualClock()
        async with (
            stores.opened(clock, Everybody()) as one,
            stores.opened(clock, Everybody()) as other,
        ):
            messages = await asyncio.gather(
                *(
                    committed(door, sending(f"m{number}"))
                    for number, door in enumerate([one, other] * 10)
                )
            )
            taken = sorted(each.coordinates.sequence for each in messages)
            assert taken == list(range(1, 21))
            intent = await reserved(one, sending("left"))
            there = await other.commits.load_commit(intent.key, CONVERSATION)
            assert there == intent
            page = await other.commits.history_page(EVERYTHING)
            assert numbers(page) == list(range(1, 21))

    async def test_a_clock_that_runs_ahead_takes_no_history_from_the_others(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-14, MS-28: it hides from its own readers alone what is over for it."""
        needs(stores.can.several_openings, "several openings at once")
        needs(stores.can.expires_history, "the expiry of history")
        # As now as it can be, for the store's own server has a clock as well.
        right, ahead = ManualClock(now := time.time_ns() // 10**6), ManualClock(now)
        ahead.advance(86_400)
        async with (
            stores.opened(right, Everybody()) as one,
            stores.opened(ahead, Everybody()) as other,
        ):
            for number in range(1, 9):
                soon = None if number in {3, 6} else now + 3_600_000
                message = sending(f"m{number}")
                await committed(one, message, history_expires_at_ms=soon)
            await other.commits.scan_recoverable_commits(now, 100)
            page = await other.commits.history_page(EVERYTHING)
            assert (numbers(page), page.lowest, page.highest) == ([3, 6], 3, 6)
            for direction, seen in (("newer", [3, 6]), ("older", [6, 3])):
                first = await other.commits.history_page(
                    asking(direction=direction, max_items=1)
                )
                assert (numbers(first), first.next_anchor) == ([seen[0]], seen[0])
                second = await other.commits.history_page(
                    asking(direction=direction, max_items=1, anchor=seen[0])
                )
                assert (numbers(second), second.next_anchor) == ([seen[1]], None)
            page = await one.commits.history_page(EVERYTHING)
            assert numbers(page) == list(range(1, 9))
            assert (page.lowest, page.highest) == (1, 8)
            if stores.can.groups:
                found, _ = await one.messages.messages_after(CONVERSATION, 0, 10)
                assert len(found) == 8

    async def test_a_writer_of_groups_sees_what_another_opening_commits(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20: it counts on from there, whatever it remembers of before."""
        needs(stores.can.groups, "the doors of groups")
        needs(stores.can.several_openings, "several openings at once")
        clock = ManualClock()
        async with (
            stores.opened(clock, Everybody()) as one,
            stores.opened(clock, Everybody()) as other,
        ):
            grant = await granted(one)
            for number in range(1, 7, 2):
                shown = showing(f"p{number}")
                [outcome] = await one.observations.commit_group(
                    [batch_of(grant, shown)]
                )
                assert isinstance(outcome, BatchCommitted)
                assert list(outcome.sequences) == [number]
                single = await committed(other, sending(f"s{number}"))
                assert single.coordinates.sequence == number + 1
            # The log is one too.
            keys = await stores.published(one)
            assert len(keys) == len(set(keys)) == 6

    async def test_groups_of_two_openings_share_every_scope(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20, OT-01: the same pages seen through both, and sends between them."""
        needs(stores.can.groups, "the doors of groups")
        needs(stores.can.several_group_writers, "groups from several processes")
        clock = ManualClock()
        async with (
            stores.opened(clock, Everybody()) as one,
            stores.opened(clock, Everybody()) as other,
        ):
            grant = await granted(one)

            async def observe(door: Backend, first: int) -> None:
                for start in range(first, first + 20, 2):
                    shown = [showing(f"p{n:03}") for n in range(start, start + 5)]
                    [outcome] = await door.observations.commit_group(
                        [batch_of(grant, *shown)]
                    )
                    assert isinstance(outcome, BatchCommitted), outcome
                    assert not outcome.conflicts

            await asyncio.gather(
                observe(one, 0),
                observe(other, 4),
                *(committed(one, sending(f"s{n}")) for n in range(5)),
                *(committed(other, sending(f"t{n}")) for n in range(5)),
            )
            page = await one.commits.history_page(EVERYTHING)
            shown = {
                item.record.message_id
                for item in page.items
                if item.record.message_id.startswith("p")
            }
            assert shown == {f"p{n:03}" for n in range(27)}
            assert numbers(page) == list(range(1, len(page.items) + 1))
            assert len(page.items) == 27 + 10
            keys = await stores.published(one)
            assert len(keys) == len(set(keys)) == len(page.items)
            last = await committed(other, sending("last"))
            assert isinstance(last, CommittedMessage)
            assert last.coordinates.sequence == len(page.items) + 1
