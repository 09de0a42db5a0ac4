"""The embedded store, on a real file: conversations, readiness, other writers."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest

from bright_server.commit.groups import (
    Claim,
    ClaimProven,
    ClaimUnproven,
    Discovery,
    DiscoveryStored,
    Probe,
    ProbeStored,
    Progress,
    ProgressStored,
)
from bright_server.errors import StoreUnavailable
from bright_server.messages import (
    DiscoveredConversation,
    Grant,
)
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import SqliteStore, opened
from tests.bright_server.frames import ACCOUNT, CONVERSATION, FIRST_ID
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.works import (
    KEY,
    batch,
    claim,
    observed,
    records,
    sequences,
)


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


async def test_ot_05_a_proven_claim_tells_when_the_conversation_was_active(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    """OT-05: forward only, and nothing of what is not proven."""
    await store.commit_group([batch(grant, observed(1), observed(2))])
    last = str(FIRST_ID + 2)
    for message_id, told, active in (
        ("unknown", FIRST_ID + 9, None),
        (last, FIRST_ID + 7, FIRST_ID + 7),
        (last, FIRST_ID + 3, FIRST_ID + 7),
    ):
        await store.commit_group([Claim(grant, KEY, message_id, told)])
        (kept,) = records(settings, "conversation")
        assert kept.get("latestMessageAtMs") == active


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

    with closing(sqlite3.connect(settings.database_path)) as database:
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
    with closing(
        sqlite3.connect(settings.database_path, isolation_level=None)
    ) as other:
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
    with closing(
        sqlite3.connect(settings.database_path, isolation_level=None)
    ) as other:
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
