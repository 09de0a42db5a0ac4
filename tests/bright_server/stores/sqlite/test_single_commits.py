"""Single commits in the SQLite file: what no suite can see from outside."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace

import pytest

from bright_server.commit.encoding import envelope_of
from bright_server.commit.groups import (
    Claim,
    ClaimProven,
    ClaimUnproven,
)
from bright_server.commit.records import (
    CommitIntent,
    CommitState,
    CommittedMessage,
)
from bright_server.errors import (
    CommitUnknown,
    IdentityConflict,
    PublicationNotDurable,
    StoreUnavailable,
)
from bright_server.fanout.contract import CommittedEnvelope
from bright_server.settings import Settings
from bright_server.stores.observed_commits import request_of
from bright_server.stores.sqlite.queries import SQL
from bright_server.stores.sqlite.store import SqliteStore, opened
from bright_server.testing.sends import (
    CONVERSATION,
    NOW_MS,
    Everybody,
    brought_to,
    committed,
    granted,
    published,
    reserved,
    sending,
    showing,
)
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.single_works import (
    EVERYTHING,
    change,
    rows,
    sequence_after,
)
from tests.bright_server.stores.sqlite.works import records


@pytest.fixture
async def store(settings: Settings, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    async with opened(settings, clock, Everybody()) as store:
        yield store


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


async def test_a_step_that_fails_by_a_fault_of_ours_leaves_no_trace_either(
    store: SqliteStore, settings: Settings
) -> None:
    """MS-12, MS-20: whatever it failed by, after it had written."""

    def failing(database: sqlite3.Connection) -> None:
        database.execute("INSERT INTO lease VALUES ('half', 'of a step', 1)")
        raise LookupError("a fault of ours")

    with pytest.raises(LookupError):
        await store._steps(failing)
    assert rows(settings, "SELECT * FROM lease WHERE name = 'half'") == []


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


async def test_ms_15_readiness_really_writes(store: SqliteStore) -> None:
    """A transaction that writes nothing would be granted on a disk that is full."""
    no_room = (
        "CREATE TRIGGER no_room BEFORE UPDATE ON commit_readiness"
        " BEGIN SELECT raise(ABORT, 'no room'); END"
    )
    await store._writer.do(lambda database: database.execute(no_room))

    with pytest.raises(StoreUnavailable, match="no room"):
        await store.commits.readiness()
    with pytest.raises(PublicationNotDurable, match="no room"):
        await store.publisher.readiness()


@pytest.mark.parametrize("pragma", ["synchronous=NORMAL", "synchronous=OFF"])
async def test_ms_15_a_connection_that_is_not_durable_is_not_ready(
    store: SqliteStore, pragma: str
) -> None:
    await store._writer.do(lambda database: database.execute(f"PRAGMA {pragma}"))

    with pytest.raises(StoreUnavailable, match="power cut"):
        await store.commits.readiness()
    with pytest.raises(PublicationNotDurable, match="power cut"):
        await store.publisher.readiness()


async def test_ms_28_what_has_expired_is_in_no_page(
    store: SqliteStore, clock: ManualClock
) -> None:
    soon = clock.now_ms() + 1_000
    await committed(store, sending("m1"), history_expires_at_ms=soon)
    await committed(store, sending("m2"))

    before = await store.commits.history_page(EVERYTHING)
    clock.advance(1)
    after = await store.commits.history_page(EVERYTHING)

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
