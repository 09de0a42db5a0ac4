"""The embedded store, on a real file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest

from bright_server.authorization.contract import Standing
from bright_server.commit.contract import (
    BatchCommitted,
    Claim,
    ClaimProven,
    ClaimUnproven,
    CommittedMessage,
    ConflictingMessage,
    Denied,
    Discovery,
    DiscoveryStored,
    NotStored,
    ObservedBatch,
    Outcome,
    Probe,
    ProbeStored,
    Progress,
    ProgressStored,
)
from bright_server.errors import StoreUnavailable
from bright_server.messages import (
    BindingId,
    ConversationKey,
    DiscoveredConversation,
    Grant,
    ObservedMessage,
)
from bright_server.settings import Settings
from bright_server.stores.sqlite.dump import dump
from bright_server.stores.sqlite.store import SqliteStore, bindings_opened, opened
from tests.bright_server.frames import ACCOUNT, CONVERSATION, FIRST_ID
from tests.bright_server.manual_clock import ManualClock

KEY = ConversationKey(ACCOUNT, CONVERSATION)
OTHER = ConversationKey(ACCOUNT, "other")


def observed(
    number: int, text: str | None = None, **changes: object
) -> ObservedMessage:
    fields: dict[str, Any] = {
        "candidate_key": f"key-{number}",
        "message_id": str(FIRST_ID + number),
        "sender_id": "3500000000002",
        "direction": "inbound",
        "sent_at_ms": FIRST_ID + number,
        "kind": "text",
        "text": text or f"text {number}",
        "content": None,
        "quote": None,
        "recall": None,
        "raw": None,
    }
    return ObservedMessage(**(fields | changes))


def batch(
    grant: Grant, *messages: ObservedMessage, key: ConversationKey = KEY
) -> ObservedBatch:
    return ObservedBatch(grant, key, FIRST_ID + 1_000_000, messages)


def claim(grant: Grant, number: int, key: ConversationKey = KEY) -> Claim:
    return Claim(grant, key, str(FIRST_ID + number), FIRST_ID + number)


def outcomes(outcome: Outcome) -> Sequence[CommittedMessage | ConflictingMessage]:
    assert isinstance(outcome, BatchCommitted)
    return outcome.outcomes


def sequences(outcome: Outcome) -> list[tuple[int, bool]]:
    found = []
    for each in outcomes(outcome):
        assert isinstance(each, CommittedMessage)
        found.append((each.sequence, each.duplicate))
    return found


def records(settings: Settings, kind: str) -> list[dict[str, Any]]:
    return [each for each in dump(settings.database) if each["type"] == kind]


async def test_a_new_message_has_its_row_its_sequence_and_its_outbox_row(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    (outcome,) = await store.commit_group([batch(grant, observed(1), observed(2))])

    assert sequences(outcome) == [(1, False), (2, False)]
    assert [
        (each["messageId"], each["sequence"], each["position"], each["text"])
        for each in records(settings, "message")
    ] == [
        (str(FIRST_ID + 1), 1, 1, "text 1"),
        (str(FIRST_ID + 2), 2, 2, "text 2"),
    ]
    assert [
        (each["position"], each["messageId"]) for each in records(settings, "outbox")
    ] == [(1, str(FIRST_ID + 1)), (2, str(FIRST_ID + 2))]


async def test_ot_01_one_scope_is_one_row_in_a_batch_a_group_and_ever_after(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    group = [
        batch(grant, observed(1), observed(1), observed(2)),
        batch(grant, observed(2), observed(3)),
    ]

    first = await store.commit_group(group)
    second = await store.commit_group(group)

    assert [sequences(each) for each in first] == [
        [(1, False), (1, True), (2, False)],
        [(2, True), (3, False)],
    ]
    assert [sequences(each) for each in second] == [
        [(1, True), (1, True), (2, True)],
        [(2, True), (3, True)],
    ]
    assert [each["sequence"] for each in records(settings, "message")] == [1, 2, 3]


async def test_ms_20_repeats_leave_no_gap_in_sequences_and_positions(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    for start in range(0, 50, 5):
        numbers = range(start, start + 10)  # half of them were there before
        await store.commit_group(
            [
                batch(grant, *map(observed, numbers)),
                batch(grant, *map(observed, numbers), key=OTHER),
            ]
        )

    found = records(settings, "message")
    assert [each["position"] for each in found] == list(range(1, 111))
    for key in (KEY, OTHER):
        mine = [e for e in found if e["conversationId"] == key.conversation_id]
        assert [each["sequence"] for each in mine] == list(range(1, 56))
    assert [e["lastSequence"] for e in records(settings, "conversation")] == [55, 55]


async def test_ids_are_known_again_in_any_order_of_arrival(
    store: SqliteStore, grant: Grant
) -> None:
    """A history is paged backwards; ids below, between and above are all told apart."""
    for number in (50, 10, 30, 90):
        await store.commit_group([batch(grant, observed(number))])

    (outcome,) = await store.commit_group(
        [batch(grant, *map(observed, (90, 20, 10, 99, 50, 5, 30)))]
    )

    duplicates = [each.duplicate for each in outcomes(outcome) if len(each) == 3]
    assert duplicates == [True, False, True, False, True, False, True]


async def test_ids_are_compared_as_strings(store: SqliteStore, grant: Grant) -> None:
    ids = ["7", "07", "7 ", "\u0667", "a", "A", "é", "e\u0301", "\U0001f600", "\uffff"]
    messages = [observed(n, message_id=each) for n, each in enumerate(ids)]

    (first,) = await store.commit_group([batch(grant, *messages)])
    (second,) = await store.commit_group([batch(grant, *reversed(messages))])

    assert sequences(first) == [(n, False) for n in range(1, 11)]
    assert sequences(second) == [(n, True) for n in range(10, 0, -1)]


async def test_the_same_scope_with_other_content_is_a_conflict_and_the_first_stays(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    changes: list[dict[str, Any]] = [
        {"text": "other"},
        {"sender_id": "9"},
        {"direction": "outbound"},
        {"sent_at_ms": 5},
        {"kind": "system"},
        {"content": '{"a":1}'},
        {"quote": '{"messageId":"1"}'},
        {"recall": '{"messageId":"1"}'},
    ]
    others = [observed(1)._replace(**change) for change in changes]

    (inside,) = await store.commit_group([batch(grant, observed(1), others[0])])
    (after,) = await store.commit_group([batch(grant, *others)])
    await store.commit_group([batch(grant, *others)])

    assert outcomes(inside)[1] == ConflictingMessage(1)
    assert outcomes(after) == [ConflictingMessage(1)] * len(others)
    assert [each["text"] for each in records(settings, "message")] == ["text 1"]
    kept = records(settings, "conflict")
    assert len(kept) == len(changes), "each difference is kept once"
    assert kept[0]["text"] == "other"
    assert kept[5]["content"] == {"a": 1}


async def test_ot_03_raw_and_the_candidates_key_are_no_part_of_the_identity(
    store: SqliteStore, grant: Grant
) -> None:
    again = observed(1, raw='{"seen":"elsewhere"}', candidate_key="another device's")

    await store.commit_group([batch(grant, observed(1))])
    (outcome,) = await store.commit_group([batch(grant, again)])

    assert sequences(outcome) == [(1, True)]


async def test_equal_ids_of_other_conversations_and_accounts_are_other_messages(
    store: SqliteStore, grant: Grant
) -> None:
    keys = [KEY, OTHER, ConversationKey("another", CONVERSATION)]

    group = await store.commit_group(
        [batch(grant, observed(1), key=key) for key in keys]
    )

    assert [sequences(each) for each in group] == [[(1, False)]] * 3


async def test_ot_60_work_of_a_lost_binding_is_denied_and_the_others_are_done(
    store: SqliteStore, settings: Settings, grant: Grant, clock: ManualClock
) -> None:
    changed = Grant(grant.binding_id, 7, grant.accounts)
    unknown = Grant(BindingId("bnd_nobody"), 1, grant.accounts)

    group = await store.commit_group(
        [
            batch(changed, observed(1)),
            batch(grant, observed(2)),
            batch(unknown, observed(3)),
            claim(unknown, 2),
        ]
    )
    async with bindings_opened(settings.database, clock) as bindings:
        await bindings.revoke(grant.binding_id, clock.now_ms())
    (revoked,) = await store.commit_group([batch(grant, observed(4))])

    assert group[0] == Denied(Standing.VERSION_CHANGED)
    assert sequences(group[1]) == [(1, False)]
    assert group[2:] == [Denied(Standing.REVOKED)] * 2
    assert revoked == Denied(Standing.REVOKED)
    assert len(records(settings, "message")) == 1


async def test_work_that_cannot_be_stored_does_not_spoil_the_rest(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    """Such work is refused long before; if it came all the same, it stands alone."""
    group = await store.commit_group(
        [
            batch(grant, observed(1)),
            batch(grant, observed(2, sent_at_ms=2**70), key=OTHER),
            batch(grant, observed(3, text="\ud800"), key=OTHER),
            batch(grant, observed(4)),
        ]
    )

    assert [type(each) for each in group] == [
        BatchCommitted,
        NotStored,
        NotStored,
        BatchCommitted,
    ]
    assert [each["position"] for each in records(settings, "message")] == [1, 2]


async def test_ot_50_a_claim_is_proven_by_the_claimed_message_alone(
    store: SqliteStore, grant: Grant, clock: ManualClock
) -> None:
    group = await store.commit_group(
        [claim(grant, 2), claim(grant, 9), batch(grant, observed(1), observed(2))]
    )

    assert isinstance(group[0], ClaimProven), "batches of a group count before claims"
    assert group[0].moved
    assert group[0].anchor.latest_message_id == str(FIRST_ID + 2)
    assert group[0].anchor.anchored_at_ms == clock.now_ms()
    assert group[1] == ClaimUnproven()


async def test_ot_50_an_anchor_moves_forward_only(
    store: SqliteStore, settings: Settings, grant: Grant, clock: ManualClock
) -> None:
    twin = observed(5, message_id="zz")  # the same time, a later id
    await store.commit_group(
        [batch(grant, observed(1), observed(5), twin), claim(grant, 5)]
    )
    clock.advance(10)

    older, same = await store.commit_group([claim(grant, 1), claim(grant, 5)])
    (later,) = await store.commit_group([Claim(grant, KEY, "zz", FIRST_ID)])

    for outcome in (older, same):
        assert isinstance(outcome, ClaimProven)
        assert not outcome.moved
        assert outcome.anchor.latest_message_id == str(FIRST_ID + 5)
    assert isinstance(later, ClaimProven)
    assert later.moved
    (anchor,) = records(settings, "anchor")
    assert anchor["latestMessageId"] == "zz"
    assert anchor["anchoredAtMs"] == clock.now_ms()


async def test_discovery_tells_anchors_in_order_and_moves_activity_forward_only(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    await store.commit_group([batch(grant, observed(1)), claim(grant, 1)])

    rows = [
        DiscoveredConversation("new", 5, "New"),
        DiscoveredConversation(CONVERSATION, 7, None),
        DiscoveredConversation("new", 3, None),
    ]
    (found,) = await store.commit_group([Discovery(grant, ACCOUNT, rows)])

    assert isinstance(found, DiscoveryStored)
    assert [each and each.latest_message_id for each in found.anchors] == [
        None,
        str(FIRST_ID + 1),
        None,
    ]
    new = records(settings, "conversation")[1]
    assert (new["title"], new["latestMessageAtMs"]) == ("New", 5)


async def test_ot_44_progress_keeps_the_pages_cursor_as_it_is(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    for cursor, complete in (("17", False), ('"abc"', False), ("null", True)):
        work = Progress(grant, KEY, cursor, complete, FIRST_ID, 3)
        assert await store.commit_group([work]) == [ProgressStored()]
        (kept,) = records(settings, "conversation")
        assert kept["historyComplete"] is complete
        assert kept["nextTimeStamp"] == {"17": 17, '"abc"': "abc", "null": None}[cursor]
        assert kept["page"] == 3


async def test_ms_15_a_probe_is_written_and_read_and_does_not_grow_the_file(
    store: SqliteStore, settings: Settings
) -> None:
    for value in range(1, 30):
        assert await store.commit_group([Probe(value)]) == [ProbeStored()]
        assert await store.read_probe() == value

    with closing(sqlite3.connect(settings.database)) as database:
        assert database.execute("SELECT count(*) FROM readiness").fetchone() == (1,)


async def test_everything_is_there_after_reopening(
    settings: Settings, grant: Grant, clock: ManualClock
) -> None:
    async with opened(settings, clock) as store:
        await store.commit_group([batch(grant, observed(1)), claim(grant, 1)])
        store_id = store.store_id

    async with opened(settings, clock) as store:
        (outcome,) = await store.commit_group([batch(grant, observed(1), observed(2))])

    assert sequences(outcome) == [(1, True), (2, False)]
    assert store.store_id == store_id
    assert [each["position"] for each in records(settings, "outbox")] == [1, 2]


async def test_bug_20_another_writer_is_waited_for(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    with closing(sqlite3.connect(settings.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(store.commit_group([batch(grant, observed(1))]))
        done, _ = await asyncio.wait({waiting}, timeout=0.3)
        assert not done, "nothing is said before it is committed"
        other.execute("COMMIT")

        (outcome,) = await asyncio.wait_for(waiting, 5)

    assert sequences(outcome) == [(1, False)]


async def test_waiting_for_another_writer_has_its_bound(
    store: SqliteStore, settings: Settings, grant: Grant, clock: ManualClock
) -> None:
    with closing(sqlite3.connect(settings.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(store.commit_group([batch(grant, observed(1))]))
        await asyncio.wait({waiting}, timeout=0.1)
        clock.advance(settings.commit_patience_seconds + 1)

        with pytest.raises(StoreUnavailable, match="locked"):
            await asyncio.wait_for(waiting, 5)

    (outcome,) = await store.commit_group([batch(grant, observed(1))])
    assert sequences(outcome) == [(1, False)]


async def test_bug_63_every_connection_is_power_safe(store: SqliteStore) -> None:
    for connection in (store._writer, store._reader):
        (level,) = await connection.execute_fetchall("PRAGMA synchronous")
        (mode,) = await connection.execute_fetchall("PRAGMA journal_mode")
        assert (tuple(level), tuple(mode)) == ((2,), ("wal",))


async def test_the_conversation_cache_is_bounded_and_not_needed(
    settings: Settings, grant: Grant, clock: ManualClock
) -> None:
    small = settings.model_copy(update={"max_cached_conversations": 2})
    keys = [ConversationKey(ACCOUNT, f"c{number}") for number in range(5)]
    async with opened(small, clock) as store:
        for number in (1, 2):
            for key in keys:
                (outcome,) = await store.commit_group(
                    [batch(grant, observed(number), key=key)]
                )
                assert sequences(outcome) == [(number, False)]
