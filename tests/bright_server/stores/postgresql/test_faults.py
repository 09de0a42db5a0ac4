"""Connections lost, locks held, servers killed: no false ACK, and no hand is needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from bright_server.authorization.contract import Standing
from bright_server.commit.groups import BatchCommitted, Denied, Outcome
from bright_server.commit.records import CommitIntent, CommitState, CommittedMessage
from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.messages import Grant
from bright_server.stores.observed_commits import request_of
from bright_server.stores.postgresql.connection import StoreConnection, connected
from bright_server.stores.postgresql.database import Transaction
from bright_server.stores.postgresql.store import PostgresqlBackend
from bright_server.testing.engines.postgresql import PostgresqlServer
from bright_server.testing.sends import (
    CONVERSATION,
    DELIVERY,
    Everybody,
    batch_of,
    brought_to,
    candidate_of,
    committed,
    granted,
    published,
    sending,
    showing,
)
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.group_suite.works import sequences
from tests.bright_server.stores.postgresql.under_test import PostgresqlUnderTest

DEADLINE_SECONDS = 20
_WAITS_FOR_NOBODY = (
    "SELECT 1 WHERE current_setting('synchronous_standby_names') = 'nobody'"
)
_OTHERS = (
    "FROM pg_stat_activity WHERE application_name = 'bright'"
    " AND pid <> pg_backend_pid()"
)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    """A server that these tests alone disturb."""
    with PostgresqlServer() as server:
        yield server


@pytest.fixture
def stores(server: PostgresqlServer) -> Iterator[PostgresqlUnderTest]:
    with server.lent_database() as address:
        yield PostgresqlUnderTest(address)


@asynccontextmanager
async def conversation_locked(
    stores: PostgresqlUnderTest,
) -> AsyncIterator[StoreConnection]:
    """Hold the lock of the conversation, as another server would."""
    async with connected(stores.settings()) as other, other.transaction():
        await other.execute("SET application_name = 'another'")
        await other.execute("SELECT FROM conversation FOR UPDATE")
        yield other


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not is_so():  # noqa: ASYNC110 - the server's state tells no event
            await asyncio.sleep(0.01)


def waiting_for(server: PostgresqlServer, event: str) -> Callable[[], bool]:
    """Whether a session of Bright waits for this."""
    query = f"SELECT 1 {_OTHERS} AND wait_event = '{event}'"
    return lambda: bool(server.execute(query))


def commit(
    backend: PostgresqlBackend, grant: Grant, *names: str
) -> Awaitable[list[Outcome]]:
    async def work() -> list[Outcome]:
        batch = batch_of(grant, *map(showing, names))
        return list(await backend.observations.commit_group([batch]))

    return asyncio.ensure_future(work())


async def test_a_connection_lost_before_the_commit_costs_nothing(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    """MS-20: it was surely rolled back, so it is done again, once."""
    async with stores.opened(ManualClock(), Everybody()) as backend:
        grant = await granted(backend)
        await commit(backend, grant, "p1")
        async with conversation_locked(stores):
            waiting = commit(backend, grant, "p2")
            await until(waiting_for(server, "transactionid"))
            server.execute(f"SELECT pg_terminate_backend(pid) {_OTHERS}")
        (outcome,) = await waiting

        assert sequences(outcome) == [(2, False)]
        assert len(await stores.published(backend)) == 2


@pytest.mark.parametrize("way", ["terminate", "cancel"])
async def test_ms_27_a_commit_that_no_standby_has_is_no_ack(
    server: PostgresqlServer, stores: PostgresqlUnderTest, way: str
) -> None:
    """MS-27: on this disk alone it may be lost with it; sent again, it is a repeat.

    A wait for a standby that is called off looks like success: the server only warns.
    """
    async with stores.opened(ManualClock(), Everybody()) as backend:
        grant = await granted(backend)
        await commit(backend, grant, "p1")
        server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        server.execute("SELECT pg_reload_conf()")
        try:
            waiting = commit(backend, grant, "p2", "p3")
            await until(waiting_for(server, "SyncRep"))
            server.execute(
                f"SELECT pg_{way}_backend(pid) {_OTHERS} AND wait_event = 'SyncRep'"
            )
            with pytest.raises(StoreUnavailable):
                await waiting
        finally:
            server.execute("ALTER SYSTEM RESET synchronous_standby_names")
            server.execute("SELECT pg_reload_conf()")

        (again,) = await commit(backend, grant, "p2", "p3", "p4")
        assert sequences(again) == [(2, True), (3, True), (4, False)]
        assert len(await stores.published(backend)) == 4


@asynccontextmanager
async def without_its_standby(server: PostgresqlServer) -> AsyncIterator[None]:
    """Have the server wait, for each commit, for a standby that is not there."""
    server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    server.execute("SELECT pg_reload_conf()")
    try:
        await until(lambda: bool(server.execute(_WAITS_FOR_NOBODY)))
        yield
    finally:
        server.execute("ALTER SYSTEM RESET synchronous_standby_names")
        server.execute("SELECT pg_reload_conf()")


async def test_ms_27_an_ack_is_not_repeated_before_the_standby_has_it(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    """MS-27: a commit whose wait was called off is seen, and is on this disk alone."""
    changes = {"database_transaction_seconds": 0.5}
    async with stores.opened(ManualClock(), Everybody(), **changes) as backend:
        commits = backend.commits
        grant = await granted(backend)
        await commit(backend, grant, "p1")
        shown = request_of(CONVERSATION, showing("p1"))
        request = sending("s2")
        intent = await brought_to(CommitState.RECORDED, backend, request)
        assert isinstance(intent, CommitIntent)
        publication = await published(backend, intent)
        async with without_its_standby(server):
            with pytest.raises(StoreUnavailable):
                await commits.mark_published_and_committed(intent, publication)
            for each in (request, shown):
                for asked in (
                    commits.load_commit_for_request(each),
                    commits.load_commit(each.key, CONVERSATION),
                    commits.reserve(each, DELIVERY, candidate_of(each)),
                ):
                    with pytest.raises(StoreUnavailable):
                        await asked
            nothing = await commits.load_commit_for_request(sending("s3"))
            assert nothing is None

        again = await commits.load_commit_for_request(request)
        assert isinstance(again, CommittedMessage)
        assert again.coordinates == intent.coordinates


async def test_ms_30_what_ends_with_nothing_done_leaves_nothing_open(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    """MS-30: its lock is let go of at once, and not by the driver's own commit."""
    async with stores.opened(ManualClock(), Everybody()) as backend:
        grant = await granted(backend)
        await commit(backend, grant, "p1")

        async def look(transaction: Transaction) -> None:
            await transaction.begin(("lock_outbox_end", ()))
            server.execute(f"SELECT pg_terminate_backend(pid) {_OTHERS}")

        with pytest.raises(StoreUnavailable):
            await backend.database.write("look", look)


async def test_a_lock_that_is_held_too_long_has_its_bound(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    changes = {"database_statement_seconds": 0.3}
    async with stores.opened(ManualClock(), Everybody(), **changes) as backend:
        grant = await granted(backend)
        await commit(backend, grant, "p1")
        async with conversation_locked(stores):
            with pytest.raises(StoreUnavailable, match="statement timeout"):
                await commit(backend, grant, "p2")

        (outcome,) = await commit(backend, grant, "p3")
        assert sequences(outcome) == [(2, False)]


async def test_a_transaction_has_its_bound(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    """MS-30: also where the server says nothing at all."""
    changes = {"database_transaction_seconds": 0.3}
    async with stores.opened(ManualClock(), Everybody(), **changes) as backend:
        grant = await granted(backend)
        await commit(backend, grant, "p1")
        async with conversation_locked(stores):
            with pytest.raises(StoreUnavailable, match="may or may not"):
                await commit(backend, grant, "p2")
        await until(lambda: not waiting_for(server, "transactionid")())

        (outcome,) = await commit(backend, grant, "p3")
        assert sequences(outcome) == [(2, False)]


async def test_a_pool_without_a_free_connection_says_so(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    changes = {"database_connections": 1, "database_connect_seconds": 0.2}
    async with stores.opened(ManualClock(), Everybody(), **changes) as backend:
        grant = await granted(backend)
        await commit(backend, grant, "p1")
        async with conversation_locked(stores):
            waiting = commit(backend, grant, "p2")
            await until(waiting_for(server, "transactionid"))
            with pytest.raises(StoreUnavailable, match="BRIGHT_DATABASE_CONNECTIONS"):
                await backend.observations.read_probe()
        (outcome,) = await waiting
        assert sequences(outcome) == [(2, False)]


async def test_ot_60_a_revocation_waits_for_the_groups_that_were_judged_before(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    """OT-60: once it is told, nothing of the binding is stored any more."""
    async with stores.opened(ManualClock(), Everybody()) as backend:
        grant = await granted(backend)
        await commit(backend, grant, "p1")
        async with conversation_locked(stores):
            judged = asyncio.ensure_future(commit(backend, grant, "p2"))
            await until(waiting_for(server, "transactionid"))
            revoking = asyncio.create_task(backend.bindings.revoke(grant.binding_id, 1))
            await until(waiting_for(server, "advisory"))
            assert not revoking.done()
        await revoking
        assert judged.done()
        (outcome,) = await judged
        assert sequences(outcome) == [(2, False)]
        assert await commit(backend, grant, "p3") == [Denied(Standing.REVOKED)]


async def test_ms_15_a_server_that_is_gone_is_no_ack_and_its_return_needs_no_hand(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    """MS-15, MS-30: killed, asked in vain, started again; the same doors go on."""
    changes = {"database_connect_seconds": 1}
    async with stores.opened(ManualClock(), Everybody(), **changes) as backend:
        grant = await granted(backend)
        await commit(backend, grant, "p1")
        sent = await committed(backend, sending("s1"))
        server.kill()
        with pytest.raises(StoreUnavailable):
            await commit(backend, grant, "p2")
        with pytest.raises(StoreUnavailable):
            await backend.commits.readiness()
        with pytest.raises(PublicationNotDurable):
            await backend.publisher.readiness()
        server.start()

        await backend.prove_writable()
        (outcome,) = await commit(backend, grant, "p1", "p2")
        assert sequences(outcome) == [(1, True), (3, False)]
        again = await backend.commits.load_commit_for_request(sending("s1"))
        assert again == sent


async def test_a_restart_of_the_server_between_two_commits_is_not_noticed(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    """Connections that it has left behind are seen to be dead before they are used."""
    async with stores.opened(ManualClock(), Everybody()) as backend:
        grant = await granted(backend)
        await asyncio.gather(*(backend.observations.read_probe() for _ in range(6)))
        server.restart()

        await committed(backend, sending("s1"))
        (outcome,) = await commit(backend, grant, "p1")
        assert sequences(outcome) == [(2, False)]


async def test_ms_30_however_many_connections_are_dead_the_next_work_is_done(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    """MS-30: all that the pool has, and more than there is patience for, one by one."""
    changes = {"database_connections": 8, "database_connect_seconds": 1}
    async with stores.opened(ManualClock(), Everybody(), **changes) as backend:
        grant = await granted(backend)

        async def hold(transaction: Transaction) -> None:
            await transaction.begin(("store", ()))
            await all_held.wait()

        all_held = asyncio.Barrier(8)
        write = backend.database.write
        await asyncio.gather(*(write("hold all", hold) for _ in range(8)))
        server.execute(f"SELECT pg_terminate_backend(pid) {_OTHERS}")
        await until(lambda: not server.execute(f"SELECT 1 {_OTHERS}"))

        (outcome,) = await commit(backend, grant, "p1")
        assert sequences(outcome) == [(1, False)]


async def test_ms_20_a_server_killed_among_groups_loses_no_ack_and_leaves_no_gap(
    server: PostgresqlServer, stores: PostgresqlUnderTest
) -> None:
    """MS-20, MS-27: by SIGKILL, three times, while groups go through two pools."""
    acknowledged: dict[str, int] = {}
    changes = {"database_connect_seconds": 1}
    stopping = asyncio.Event()

    async def send(backend: PostgresqlBackend, grant: Grant, who: int) -> None:
        number = 0
        while not stopping.is_set():
            name = f"{who}-{number}"
            try:
                (outcome,) = await commit(backend, grant, name)
            except StoreUnavailable:
                continue  # sent again, as an extension would
            assert isinstance(outcome, BatchCommitted)
            acknowledged[name] = outcome.sequences[0]
            number += 1

    opened = stores.opened
    async with (
        opened(ManualClock(), Everybody(), **changes) as one,
        opened(ManualClock(), Everybody(), **changes) as two,
    ):
        grant = await granted(one)
        sending_all = [
            asyncio.create_task(send(backend, grant, who))
            for who, backend in enumerate((one, two))
        ]
        for _ in range(3):
            before = len(acknowledged)
            await until(lambda before=before: len(acknowledged) > before + 5)  # type: ignore[misc]
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        before = len(acknowledged)
        await until(lambda: len(acknowledged) > before + 5)
        stopping.set()
        await asyncio.gather(*sending_all)
        found, _ = await one.messages.messages_after(CONVERSATION, 0, 10_000)
        log = await stores.published(one)

    assert [each.sequence for each in found] == list(range(1, len(found) + 1))
    kept = {each.message.message_id: each.sequence for each in found}
    assert kept == acknowledged
    assert len(log) == len(set(log)) == len(found)
