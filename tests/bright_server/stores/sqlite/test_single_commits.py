"""Single commits in the SQLite file: what no suite can see from outside."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bright_server.commit.encoding import envelope_of
from bright_server.commit.groups import (
    BatchCommitted,
    Claim,
    ClaimProven,
    ClaimUnproven,
    NotStored,
)
from bright_server.commit.records import (
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    HistoryQuery,
    OutboxPublication,
)
from bright_server.errors import (
    CommitUnknown,
    IdentityConflict,
    PublicationNotDurable,
    StoreUnavailable,
)
from bright_server.fanout.contract import CommittedEnvelope, LogPosition
from bright_server.messages import BindingId, Grant
from bright_server.settings import Settings
from bright_server.stores.observed_commits import request_of
from bright_server.stores.sqlite.queries import SQL
from bright_server.stores.sqlite.store import SqliteStore, opened
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
    granted,
    published,
    reserved,
    sending,
    showing,
)
from tests.bright_server.frames import ACCOUNT, FIRST_ID
from tests.bright_server.frames import CONVERSATION as OLD_CONVERSATION
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.version_1 import write_version_1
from tests.bright_server.stores.sqlite.works import KEY, observed, records

_EVERYTHING = HistoryQuery("a member", CONVERSATION, "newer", None, 500, 1_000_000)


@pytest.fixture
async def store(settings: Settings, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    async with opened(settings, clock, Everybody()) as store:
        yield store


def rows(settings: Settings, sql: str) -> list[Any]:
    with closing(sqlite3.connect(settings.database_path, timeout=10)) as database:
        return database.execute(sql).fetchall()


def change(settings: Settings, sql: str) -> None:
    with closing(sqlite3.connect(settings.database_path, timeout=10)) as database:
        database.execute(sql)
        database.commit()


@contextmanager
def locked(settings: Settings) -> Iterator[None]:
    """Hold the file's write lock, as another process would."""
    with closing(
        sqlite3.connect(settings.database_path, isolation_level=None)
    ) as other:
        other.execute(SQL["begin"])
        yield
        other.execute(SQL["rollback"])


@asynccontextmanager
async def traced(store: SqliteStore) -> AsyncIterator[list[str]]:
    """Collect the statements of the connection that writes."""
    seen: list[str] = []
    await store._writer.do(lambda database: database.set_trace_callback(seen.append))
    yield seen
    await store._writer.do(lambda database: database.set_trace_callback(None))


async def sequence_after(store: SqliteStore, grant: Grant, name: str) -> int:
    (outcome,) = await store.commit_group([batch_of(grant, showing(name))])
    assert isinstance(outcome, BatchCommitted)
    return outcome.sequences[0]


async def test_ms_13_a_committed_message_keeps_what_an_ack_needs_and_no_more(
    store: SqliteStore, settings: Settings
) -> None:
    await committed(store, sending("m1"))

    assert rows(settings, "SELECT length(identity), state FROM single_commit") == [
        (37, CommitState.COMMITTED)
    ]
    assert rows(settings, "SELECT * FROM commit_intent") == []
    bodies = rows(settings, "SELECT body FROM outbox_envelope")
    assert len(bodies) == 1


async def test_ms_23_a_commit_that_is_cut_short_leaves_no_partial_write(
    store: SqliteStore, settings: Settings
) -> None:
    intent = await brought_to(CommitState.RECORDED, store, sending("m1"))
    assert isinstance(intent, CommitIntent)
    publication = await published(store, intent)
    before = rows(settings, "SELECT * FROM single_commit")
    change(
        settings,
        "CREATE TRIGGER cut BEFORE UPDATE ON single_commit WHEN NEW.state = 4"
        " BEGIN SELECT RAISE(ABORT, 'cut'); END",
    )

    with pytest.raises(StoreUnavailable, match="cut"):
        await store.commits.mark_published_and_committed(intent, publication)
    assert rows(settings, "SELECT * FROM single_commit") == before

    change(settings, "DROP TRIGGER cut")
    done = await store.commits.mark_published_and_committed(intent, publication)
    assert done == CommittedMessage(intent.key, intent.coordinates, publication)


async def test_many_callers_steps_share_transactions(
    store: SqliteStore, settings: Settings
) -> None:
    """All that gathers while the disk is busy is one transaction, thus one fsync."""
    requests = [sending(f"m{number}") for number in range(50)]
    async with traced(store) as statements:
        with locked(settings):
            asked = [asyncio.create_task(reserved(store, each)) for each in requests]
            # The first to ask may have begun alone; the others wait behind it.
            await asyncio.sleep(0)
        intents = await asyncio.gather(*asked)

    assert sorted(each.coordinates.sequence for each in intents) == list(range(1, 51))
    assert 1 <= statements.count(SQL["commit"]) <= 2


async def test_a_step_that_fails_spoils_none_that_shares_its_transaction(
    store: SqliteStore, settings: Settings
) -> None:
    """MS-12, MS-20: it leaves no trace, not even a number that it had taken."""
    await committed(store, sending("m1"))
    change(
        settings,
        "CREATE TRIGGER cut BEFORE INSERT ON single_commit"
        " WHEN NEW.client_message_id = 'bad' BEGIN SELECT RAISE(ABORT, 'cut'); END",
    )
    with locked(settings):
        asked = [
            asyncio.create_task(step)
            for step in (
                reserved(store, sending("m2")),
                reserved(store, sending("m1", "other text")),
                reserved(store, sending("bad")),
                reserved(store, sending("late"), created_at_ms=2**70),
                reserved(store, sending("m3")),
            )
        ]
        await asyncio.sleep(0)
    results = await asyncio.gather(*asked, return_exceptions=True)

    assert [
        each.coordinates.sequence if isinstance(each, CommitIntent) else type(each)
        for each in results
    ] == [2, IdentityConflict, StoreUnavailable, StoreUnavailable, 3]


async def test_ms_21_an_id_that_history_has_is_refused_before_it_is_reserved(
    store: SqliteStore,
) -> None:
    """Two messages of one id could not both be recorded: one would be stuck."""
    grant = await granted(store)
    await sequence_after(store, grant, "p1")
    first = await reserved(store, sending("m2"), message_id="mine")

    for taken in ("p1", "mine"):
        with pytest.raises(IdentityConflict, match=taken):
            await reserved(store, sending("m3"), message_id=taken)
    await store.commits.put_record(first)
    with pytest.raises(IdentityConflict, match="mine"):
        await reserved(store, sending("m3"), message_id="mine")


async def test_an_intent_of_another_place_is_unknown(store: SqliteStore) -> None:
    """MS-22: what a caller brings is taken for no other commit of the key."""
    intent = await reserved(store, sending("m1"))
    place = replace(intent.coordinates, sequence=2)

    with pytest.raises(CommitUnknown):
        await store.commits.put_record(replace(intent, coordinates=place))


async def test_a_record_that_is_not_in_the_log_holds_no_position(
    store: SqliteStore, settings: Settings
) -> None:
    """OT-50: nor is it a message up to which a claim could be proven."""
    grant = await granted(store)
    request = request_of(CONVERSATION, showing("p1"))
    intent = await brought_to(CommitState.RECORDED, store, request)
    assert isinstance(intent, CommitIntent)
    claim = Claim(grant, CONVERSATION, "p1", NOW_MS)

    assert await store.commit_group([claim]) == [ClaimUnproven()]
    await sequence_after(store, grant, "p2")
    assert rows(settings, "SELECT position FROM outbox") == [(1,)]
    await published(store, intent)
    (proven,) = await store.commit_group([claim])
    assert isinstance(proven, ClaimProven)
    assert rows(settings, "SELECT position FROM outbox") == [(1,), (2,)]


async def test_more_steps_than_may_wait_are_refused_and_taken_later(
    settings: Settings, clock: ManualClock
) -> None:
    few = settings.model_copy(update={"max_commits_under_way": 1})
    async with opened(few, clock) as store:
        with locked(settings):
            asked = [
                asyncio.create_task(reserved(store, sending(f"m{number}")))
                for number in range(20)
            ]
            done, _ = await asyncio.wait(asked, return_when="FIRST_COMPLETED")
        results = await asyncio.gather(*asked, return_exceptions=True)

        refused = [each for each in results if isinstance(each, StoreUnavailable)]
        assert done
        assert len(refused) == 16
        assert "try again later" in str(refused[0])
        again = await reserved(store, sending("m19"))
        assert again.coordinates.sequence == 5


async def test_a_store_that_is_closed_waits_for_no_locked_file(
    settings: Settings, clock: ManualClock
) -> None:
    """MS-30: whoever waits is told that the outcome is unknown."""
    hurried = settings.model_copy(update={"close_deadline_seconds": 0.05})
    async with opened(hurried, clock) as store:
        await reserved(store, sending("m0"))
        with locked(settings):
            asked = [asyncio.create_task(reserved(store, sending("m1")))]
            await asyncio.sleep(0)
            asked.append(asyncio.create_task(reserved(store, sending("m2"))))
            await asyncio.sleep(0)
            await store.close()
        results = await asyncio.gather(*asked, return_exceptions=True)

    assert [type(each) for each in results] == [StoreUnavailable, StoreUnavailable]
    assert "closed" in str(results[0])


async def test_a_full_disk_is_no_ack_and_takes_no_number(
    store: SqliteStore, settings: Settings
) -> None:
    """MS-20, MS-30: with room again the same request has the first number."""
    long = sending("m1", "x" * 100_000)
    await store._writer.do(lambda database: database.execute("PRAGMA max_page_count=1"))

    with pytest.raises(StoreUnavailable, match="full"):
        await reserved(store, long)
    assert rows(settings, "SELECT * FROM single_commit") == []

    await store._writer.do(
        lambda database: database.execute("PRAGMA max_page_count=1000000")
    )
    assert (await reserved(store, long)).coordinates.sequence == 1


async def test_ms_15_a_file_that_cannot_be_written_is_not_ready(
    store: SqliteStore,
) -> None:
    """Both the store and its log really write."""
    await store.commits.readiness()
    await store.publisher.readiness()
    await store._writer.do(lambda database: database.execute("PRAGMA query_only=ON"))

    with pytest.raises(StoreUnavailable, match="readonly"):
        await store.commits.readiness()
    with pytest.raises(PublicationNotDurable, match="readonly"):
        await store.publisher.readiness()
    with pytest.raises(StoreUnavailable, match="readonly"):
        await reserved(store, sending("m1"))


@pytest.mark.parametrize("pragma", ["synchronous=NORMAL", "synchronous=OFF"])
async def test_ms_15_a_connection_that_is_not_durable_is_not_ready(
    store: SqliteStore, pragma: str
) -> None:
    await store._writer.do(lambda database: database.execute(f"PRAGMA {pragma}"))

    with pytest.raises(StoreUnavailable, match="power cut"):
        await store.commits.readiness()
    with pytest.raises(PublicationNotDurable, match="power cut"):
        await store.publisher.readiness()


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


async def test_ms_28_what_has_expired_is_in_no_page(
    store: SqliteStore, clock: ManualClock
) -> None:
    soon = clock.now_ms() + 1_000
    await committed(store, sending("m1"), history_expires_at_ms=soon)
    await committed(store, sending("m2"))

    before = await store.commits.history_page(_EVERYTHING)
    clock.advance(1)
    after = await store.commits.history_page(_EVERYTHING)

    assert [each.sequence for each in before.items] == [1, 2]
    assert before.items[0].record.history_expires_at_ms == soon
    assert [each.sequence for each in after.items] == [2]
    assert (after.lowest, after.highest) == (2, 2)


async def test_a_dump_says_how_far_each_commit_is(
    store: SqliteStore, settings: Settings
) -> None:
    await committed(store, sending("m1"))
    await reserved(store, sending("m2"))

    commits = records(settings, "commit")
    (detail,) = records(settings, "messageDetail")

    assert [
        (each["clientMessageId"], each["sequence"], each["state"], each["logOffset"])
        for each in commits
    ] == [("m1", 1, "COMMITTED", 1), ("m2", 2, "RESERVED", None)]
    assert (detail["mentions"], detail["replyTo"]) == (["buyer-1"], "id-0")


async def test_the_log_refers_to_messages_of_this_file_alone(
    store: SqliteStore,
) -> None:
    """CL-20: an envelope of no recorded message has no place to be given."""
    intent = await reserved(store, sending("m1"))

    with pytest.raises(PublicationNotDurable, match="not recorded"):
        await store.publisher.publish(envelope_of(intent))
    with pytest.raises(PublicationNotDurable, match="cannot be read"):
        await store.publisher.publish(CommittedEnvelope("m1", b"{}"))


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
        page = await store.commits.history_page(replace(_EVERYTHING, conversation=KEY))

    assert isinstance(found, CommittedMessage)
    assert found.key == CommitKey(
        "observed", ACCOUNT, OLD_CONVERSATION, str(FIRST_ID + 1)
    )
    assert found.publication.position == LogPosition("outbox", 1)
    assert sent.coordinates.sequence == 2
    assert isinstance(outcome, BatchCommitted)
    assert list(outcome.sequences) == [3]
    assert [each.sequence for each in page.items] == [1, 2, 3]
