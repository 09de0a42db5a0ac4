"""Batches of observed messages: one scope, one place (OT-01, OT-60, MS-20)."""

from __future__ import annotations

from dataclasses import replace

from bright_server.authorization.contract import Standing
from bright_server.commit.groups import (
    BatchCommitted,
    Denied,
    NotStored,
    Outcome,
    Probe,
    ProbeStored,
)
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.refusals import needs
from bright_server.testing.sends import (
    CONVERSATION,
    NOW_MS,
    OTHER_CONVERSATION,
    Everybody,
    batch_of,
    granted,
    others_shown,
    showing,
    showing_everything,
)
from bright_server.testing.under_test import StoreUnderTest


def told(outcome: Outcome) -> list[tuple[str, int]]:
    """Return what became of each message of a batch, and the number it was told."""
    assert isinstance(outcome, BatchCommitted), outcome
    kinds = [
        "conflict"
        if index in outcome.conflicts
        else "repeat"
        if index in outcome.repeats
        else "new"
        for index in range(len(outcome.sequences))
    ]
    return list(zip(kinds, outcome.sequences, strict=True))


class BatchSuite:
    """What a group says of each message, and what it leaves."""

    async def test_new_messages_are_numbered_in_their_order(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-20: in each conversation from 1, across batches, groups and restarts."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            one, two, three = await backend.observations.commit_group(
                [
                    batch_of(grant, showing("9"), showing("1")),
                    batch_of(grant, showing("1"), conversation=OTHER_CONVERSATION),
                    batch_of(grant, showing("5")),
                ]
            )
        async with stores.opened(ManualClock(), Everybody()) as backend:
            [four] = await backend.observations.commit_group(
                [batch_of(grant, showing("3"), showing("1"))]
            )
        assert told(one) == [("new", 1), ("new", 2)]
        assert told(two) == [("new", 1)]
        assert told(three) == [("new", 3)]
        assert told(four) == [("new", 4), ("repeat", 2)]

    async def test_one_scope_is_one_message_however_often_it_comes(
        self, stores: StoreUnderTest
    ) -> None:
        """OT-01, MS-20: in one batch, in one group, later; it keeps its place."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            batch = batch_of(grant, showing("m"), showing("m"))
            first, second = await backend.observations.commit_group([batch, batch])
            [third] = await backend.observations.commit_group([batch])
            found, _ = await backend.messages.messages_after(CONVERSATION, 0, 10)
            assert len(await stores.published(backend)) == 1
        assert told(first) == [("new", 1), ("repeat", 1)]
        assert told(second) == told(third) == [("repeat", 1), ("repeat", 1)]
        assert [each.message for each in found] == [showing("m")]

    async def test_other_content_of_a_scope_is_a_conflict(
        self, stores: StoreUnderTest
    ) -> None:
        """OT-01: any of what is compared; the first stays, `raw` may differ."""
        first = showing_everything("m")._replace(raw='{"r":1}')
        others = others_shown(first)
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            [outcome] = await backend.observations.commit_group(
                [batch_of(grant, first, *others, first._replace(raw=None))]
            )
            [again] = await backend.observations.commit_group(
                [batch_of(grant, *others, first._replace(raw="{}"), showing("n"))]
            )
            found, _ = await backend.messages.messages_after(CONVERSATION, 0, 10)
        conflicts = [("conflict", 1)] * len(others)
        assert told(outcome) == [("new", 1), *conflicts, ("repeat", 1)]
        assert told(again) == [*conflicts, ("repeat", 1), ("new", 2)]
        assert [each.message for each in found] == [first, showing("n")]

    async def test_readers_get_messages_as_they_were_shown(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-28: whole, in order, after a number, so many at a time."""
        shown = [
            showing(f"m{n}", f"tëxt 🙂 {n}", content='{"c":[1]}', quote="{}", raw="[]")
            for n in range(5)
        ]
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            await backend.observations.commit_group([batch_of(grant, *shown)])
        async with stores.opened(ManualClock(), Everybody()) as backend:
            read = backend.messages.messages_after
            found, profile = await read(CONVERSATION, 0, 3)
            rest, _ = await read(CONVERSATION, found[-1].sequence, 10)
            nothing, _ = await read(OTHER_CONVERSATION, 0, 10)
        assert [each.message for each in (*found, *rest)] == shown
        assert [each.sequence for each in (*found, *rest)] == [1, 2, 3, 4, 5]
        assert {each.conversation for each in found} == {CONVERSATION}
        assert (list(nothing), profile) == ([], None)

    async def test_a_large_batch_is_one_group(self, stores: StoreUnderTest) -> None:
        """MS-20: hundreds of messages, some of them there already."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            every_third = [showing(f"{n:04}") for n in range(0, 600, 3)]
            await backend.observations.commit_group([batch_of(grant, *every_third)])
            [outcome] = await backend.observations.commit_group(
                [batch_of(grant, *(showing(f"{n:04}") for n in range(600)))]
            )
            expected, next_new = [], 201
            for number in range(600):
                if number % 3 == 0:
                    expected.append(("repeat", number // 3 + 1))
                else:
                    expected.append(("new", next_new))
                    next_new += 1
            assert told(outcome) == expected

    async def test_what_cannot_be_stored_spoils_nothing_else(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-30: it alone is `NotStored`, and nothing of it is there."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            one, two, three = await backend.observations.commit_group(
                [
                    batch_of(grant, showing("1")),
                    batch_of(grant, showing("2"), showing("3", "half \ud83d")),
                    batch_of(grant, showing("4")),
                ]
            )
            found, _ = await backend.messages.messages_after(CONVERSATION, 0, 10)
        assert told(one) == [("new", 1)]
        assert isinstance(two, NotStored)
        assert told(three) == [("new", 2)]
        assert [each.message.message_id for each in found] == ["1", "4"]

    async def test_grants_are_judged_where_the_work_is_done(
        self, stores: StoreUnderTest
    ) -> None:
        """OT-60: a revoked one, an unknown one, an older version; the others go on."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            good, bad = await granted(backend), await granted(backend)
            await backend.bindings.revoke(bad.binding_id, NOW_MS)
            unknown = replace(bad, binding_id=type(bad.binding_id)("bnd_unknown"))
            older = replace(good, authorization_version=7)
            outcomes = await backend.observations.commit_group(
                [
                    batch_of(grant, showing(f"m{n}"))
                    for n, grant in enumerate((good, bad, unknown, older))
                ]
            )
            found, _ = await backend.messages.messages_after(CONVERSATION, 0, 10)
        assert told(outcomes[0]) == [("new", 1)]
        assert outcomes[1:] == [
            Denied(Standing.REVOKED),
            Denied(Standing.REVOKED),
            Denied(Standing.VERSION_CHANGED),
        ]
        assert [each.message.message_id for each in found] == ["m0"]

    async def test_a_probe_goes_the_way_of_messages(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-15: written by the writer, read apart from it, and it names the store."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            for value in (7, 8):
                outcomes = await backend.observations.commit_group([Probe(value)])
                assert list(outcomes) == [ProbeStored()]
                assert await backend.observations.read_probe() == value
            name = backend.observations.store_id
        async with stores.opened(ManualClock(), Everybody()) as backend:
            assert name
            assert backend.observations.store_id == name

    async def test_servers_that_share_a_store_keep_the_greatest_probe(
        self, stores: StoreUnderTest
    ) -> None:
        """MS-15: a clock that is behind makes no other server's readiness red."""
        needs(stores.can.several_group_writers, "groups from several processes")
        async with (
            stores.opened(ManualClock(), Everybody()) as one,
            stores.opened(ManualClock(), Everybody()) as behind,
        ):
            for door, value, greatest in (
                (one, 1_000, 1_000),
                (behind, 999, 1_000),
                (behind, 99, 1_000),
                (behind, NOW_MS, NOW_MS),
                (one, 1_001, NOW_MS),
            ):
                outcomes = await door.observations.commit_group([Probe(value)])
                assert list(outcomes) == [ProbeStored()]
                assert await one.observations.read_probe() == greatest
                assert await behind.observations.read_probe() == greatest
