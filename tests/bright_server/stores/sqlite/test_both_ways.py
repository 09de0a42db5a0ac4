"""Single commits beside groups, other openings, processes and old databases."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bright_server.commit.encoding import envelope_of
from bright_server.commit.groups import (
    BatchCommitted,
    NotStored,
)
from bright_server.commit.records import (
    CommitKey,
    CommittedMessage,
    OutboxPublication,
)
from bright_server.errors import (
    IdentityConflict,
)
from bright_server.fanout.contract import LogPosition
from bright_server.messages import BindingId, Grant
from bright_server.settings import Settings
from bright_server.stores.observed_commits import request_of
from bright_server.stores.sqlite.store import SqliteStore, opened
from bright_server.testing.sends import (
    CONVERSATION,
    DELIVERY,
    NOW_MS,
    OTHER_CONVERSATION,
    Everybody,
    batch_of,
    candidate_of,
    committed,
    granted,
    reserved,
    sending,
    showing,
)
from tests.bright_server.frames import ACCOUNT, FIRST_ID
from tests.bright_server.frames import CONVERSATION as OLD_CONVERSATION
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.single_works import (
    EVERYTHING,
    change,
    rows,
    sequence_after,
)
from tests.bright_server.stores.sqlite.version_1 import write_version_1
from tests.bright_server.stores.sqlite.works import KEY, observed


@pytest.fixture
async def store(settings: Settings, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    async with opened(settings, clock, Everybody()) as store:
        yield store


async def test_ms_20_what_another_opening_committed_one_by_one_is_counted(
    store: SqliteStore, settings: Settings, clock: ManualClock
) -> None:
    """The group writer remembers last numbers; those of others are looked up again."""
    grant = await granted(store)
    async with opened(settings, clock) as other:
        told = [
            await sequence_after(store, grant, "p1"),
            (await committed(other, sending("s2"))).coordinates.sequence,
            await sequence_after(store, grant, "p3"),
            await sequence_after(other, grant, "p4"),
            (await committed(store, sending("s5"))).coordinates.sequence,
            await sequence_after(other, grant, "p6"),
            await sequence_after(store, grant, "p7"),
        ]

    assert told == [1, 2, 3, 4, 5, 6, 7]
    assert rows(settings, "SELECT position, message FROM outbox ORDER BY 1") == [
        (number, number) for number in range(1, 8)
    ]


async def test_ms_20_processes_share_a_file_and_split_no_sequence(
    store: SqliteStore, settings: Settings
) -> None:
    """Two processes send one by one while this one stores groups and sends."""
    grant = await granted(store)
    children = [await started(settings, f"tenant-{name}") for name in "ab"]
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        await child.stdin.drain()
    for number in range(20):
        await sequence_after(store, grant, f"p{number}")
        await committed(store, sending(f"s{number}"))
    for child in children:
        _, errors = await child.communicate()
        assert (child.returncode, errors) == (0, b"")

    total = 20 + 20 + 2 * 30
    sequences = rows(settings, "SELECT sequence, position FROM message ORDER BY 1")
    assert [each for each, _ in sequences] == list(range(1, total + 1))
    assert sorted(each for _, each in sequences) == list(range(1, total + 1))
    assert rows(settings, "SELECT count(*), max(position) FROM outbox") == [
        (total, total)
    ]
    assert rows(settings, "SELECT count(*) FROM single_commit WHERE state < 4") == [
        (0,)
    ]


async def started(settings: Settings, tenant: str) -> asyncio.subprocess.Process:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bright_server.stores.sqlite.commit_child",
        str(settings.database_path),
        tenant,
        "30",
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=Path(__file__).parents[4],
    )
    assert child.stdout is not None
    assert await child.stdout.readline() == b"ready\n"
    return child


async def test_a_group_finishes_an_observation_that_is_under_way(
    store: SqliteStore, settings: Settings
) -> None:
    """MS-23, MS-27: its ACK stands on a commit, and the late steps find it made."""
    grant = await granted(store)
    request = request_of(CONVERSATION, showing("p1"))
    left = await reserved(store, request)
    (outcome,) = await store.commit_group(
        [batch_of(grant, showing("p0"), showing("p1"), showing("p2"))]
    )

    assert isinstance(outcome, BatchCommitted)
    assert (list(outcome.sequences), outcome.repeats) == ([2, 1, 3], frozenset({1}))
    there = await store.commits.load_commit(left.key, CONVERSATION)
    assert isinstance(there, CommittedMessage)
    await store.commits.put_record(left)
    publication = OutboxPublication(await store.publisher.publish(envelope_of(left)))
    assert publication == there.publication
    again = await store.commits.mark_published_and_committed(left, publication)
    assert again == there
    assert rows(settings, "SELECT count(*), max(position) FROM outbox") == [(3, 3)]


async def test_an_intent_that_cannot_be_read_spoils_only_the_batch_that_meets_it(
    store: SqliteStore, settings: Settings
) -> None:
    grant = await granted(store)
    await reserved(store, request_of(CONVERSATION, showing("p1")))
    good = await reserved(store, sending("m2"))
    change(settings, "UPDATE commit_intent SET frozen = x'00' WHERE number = 1")

    outcomes = await store.commit_group(
        [
            batch_of(grant, showing("p1")),
            batch_of(grant, showing("p9"), conversation=OTHER_CONVERSATION),
        ]
    )

    assert isinstance(outcomes[0], NotStored)
    assert isinstance(outcomes[1], BatchCommitted)
    due = await store.commits.scan_recoverable_commits(NOW_MS + 1, 1)
    assert [each.key for each in due] == [good.key]


async def test_ms_12_a_database_of_version_1_replays_its_observations(
    settings: Settings, clock: ManualClock
) -> None:
    """What the first server stored in groups is committed under its key."""
    write_version_1(settings.database_path)
    shown = observed(1)
    grant = Grant(BindingId("bnd_1"), 1, frozenset({ACCOUNT}))
    async with opened(settings, clock, Everybody()) as store:
        same, other = request_of(KEY, shown), request_of(KEY, observed(1, "other"))
        found = await store.commits.reserve(same, DELIVERY, candidate_of(same))
        with pytest.raises(IdentityConflict):
            await store.commits.reserve(other, DELIVERY, candidate_of(other))
        sent = await committed(store, sending("m1", conversation=KEY))
        (outcome,) = await store.commit_group(
            [batch_of(grant, observed(2), conversation=KEY)]
        )
        page = await store.commits.history_page(replace(EVERYTHING, conversation=KEY))

    assert isinstance(found, CommittedMessage)
    assert found.key == CommitKey(
        "observed", ACCOUNT, OLD_CONVERSATION, str(FIRST_ID + 1)
    )
    assert found.publication.position == LogPosition("outbox", 1)
    assert sent.coordinates.sequence == 2
    assert isinstance(outcome, BatchCommitted)
    assert list(outcome.sequences) == [3]
    assert [each.sequence for each in page.items] == [1, 2, 3]
