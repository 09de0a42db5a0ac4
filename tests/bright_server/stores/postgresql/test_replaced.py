"""Another database under the address of the one that was opened, while it is served."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from bright_server.commit.encoding import envelope_of
from bright_server.commit.groups import BatchCommitted, NotStored, Outcome, Probe
from bright_server.commit.records import CommitIntent, CommitState, HistoryQuery
from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.messages import Grant
from bright_server.operations.metrics import Metrics
from bright_server.settings import Settings
from bright_server.stores.postgresql.schema import schema_state
from bright_server.stores.postgresql.store import PostgresqlBackend, opened
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
from bright_server.writer.link import linked
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.group_suite.works import sequences
from tests.bright_server.writer.test_link import writer

WORDS = "not the one that was opened"

Replace = Callable[[PostgresqlServer, str, str], None]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    """A server that these tests alone disturb."""
    with PostgresqlServer() as server:
        yield server


def empty(server: PostgresqlServer, name: str, _: str) -> None:
    server.execute(
        "DROP SCHEMA public CASCADE;"
        "CREATE SCHEMA public AUTHORIZATION pg_database_owner",
        name,
    )


def move_schemas(server: PostgresqlServer, name: str, _: str) -> None:
    """No table is touched, so nothing that is open is waited for."""
    server.execute(
        "ALTER SCHEMA public RENAME TO old;"
        "CREATE SCHEMA public AUTHORIZATION pg_database_owner",
        name,
    )


def rename(server: PostgresqlServer, name: str, other: str) -> None:
    """Have the other one's name lead to it, all its sessions being ended."""
    server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    server.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        f" WHERE datname = '{name}'"
    )
    server.execute(f"ALTER DATABASE {name} RENAME TO {name}_old")
    server.execute(f"ALTER DATABASE {other} RENAME TO {name}")


def put_back(server: PostgresqlServer, name: str) -> None:
    server.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        f" WHERE datname = '{name}'"
    )
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    server.execute(f"ALTER DATABASE {name}_old RENAME TO {name}")
    server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


@asynccontextmanager
async def store_at(address: str) -> AsyncIterator[PostgresqlBackend]:
    async with opened(
        Settings(database=address), ManualClock(), Everybody()
    ) as backend:
        yield backend


async def commit(
    backend: PostgresqlBackend, grant: Grant, *names: str
) -> list[Outcome]:
    batch = batch_of(grant, *map(showing, names))
    return list(await backend.observations.commit_group([batch]))


async def assert_refused(doing: Callable[[], Awaitable[object]]) -> None:
    with pytest.raises((StoreUnavailable, PublicationNotDurable), match=WORDS):
        await doing()


def every_door(
    backend: PostgresqlBackend, grant: Grant, intent: CommitIntent
) -> list[Callable[[], Awaitable[object]]]:
    commits, bindings = backend.commits, backend.bindings
    observations, request = backend.observations, sending("s9")
    sent = sending("s1")
    query = HistoryQuery("someone", CONVERSATION, "newer", None, 10, 10_000)
    return [
        lambda: commit(backend, grant, "p9"),
        lambda: observations.commit_group([Probe(7)]),
        observations.read_probe,
        lambda: commits.reserve(request, DELIVERY, candidate_of(request)),
        lambda: commits.put_record(intent),
        lambda: backend.publisher.publish(envelope_of(intent)),
        lambda: commits.mark_committed(intent),
        lambda: commits.load_commit(sent.key, CONVERSATION),
        lambda: commits.load_commit_for_request(sent),
        lambda: commits.conversation_of(sent.key),
        lambda: commits.scan_recoverable_commits(2**60, 10),
        lambda: commits.hold_lease("recovery", "me", 1_000),
        lambda: commits.history_page(query),
        lambda: backend.messages.messages_after(CONVERSATION, 0, 10),
        bindings.all,
        lambda: bindings.by_digest(b"1" * 32),
        lambda: bindings.by_ids([grant.binding_id]),
        lambda: bindings.revoke(grant.binding_id, 1),
        backend.prove_writable,
        commits.readiness,
        backend.publisher.readiness,
    ]


@pytest.mark.parametrize("has_another", [True, False], ids=["another", "none"])
@pytest.mark.parametrize("replace", [empty, move_schemas, rename])
async def test_ms_27_and_15_another_store_under_the_address_acks_nothing(
    server: PostgresqlServer, replace: Replace, *, has_another: bool
) -> None:
    """MS-27, MS-20: its conversations are numbered anew, under the old store's name.

    MS-15: and readiness is red, though that database is in good health.
    """
    address, other = server.create_database(), server.create_database()
    name, other_name = (each.rpartition("/")[2] for each in (address, other))
    async with store_at(address) as backend:
        grant = await granted(backend)
        await commit(backend, grant, "p1")
        await committed(backend, sending("s1"))
        intent = await brought_to(CommitState.RECORDED, backend, sending("s2"))
        assert isinstance(intent, CommitIntent)

        replace(server, name, other_name)
        if has_another:
            async with store_at(address) as another:
                # The same binding, as a restored copy of one would have it.
                theirs = await granted(another)
                await another.prove_writable()

        for each in every_door(backend, theirs if has_another else grant, intent):
            await assert_refused(each)
    async with store_at(address) as another:
        assert await another.messages.messages_after(CONVERSATION, 0, 9) == ([], None)
        assert await another.commits.load_commit_for_request(sending("s9")) is None


async def test_ms_27_a_step_is_not_refused_for_what_another_store_has(
    server: PostgresqlServer,
) -> None:
    """MS-27, MS-30: nor for what it has not; only its own store says who conflicts."""
    address = server.create_database()
    name = address.rpartition("/")[2]
    async with store_at(address) as backend:
        intent = await brought_to(CommitState.RECORDED, backend, sending("s1"))
        assert isinstance(intent, CommitIntent)
        publication = await published(backend, intent)
        empty(server, name, "")
        async with store_at(address) as another:
            # Open, of the same request, and not as far.
            await brought_to(CommitState.RESERVED, another, sending("s1"))

            for each in (
                lambda: backend.commits.mark_outbox_published(intent, publication),
                lambda: backend.commits.mark_published_and_committed(
                    intent, publication
                ),
            ):
                await assert_refused(each)


@pytest.mark.parametrize("has_another", [True, False], ids=["another", "none"])
async def test_ms_27_a_writer_that_starts_again_takes_no_other_store(
    server: PostgresqlServer, *, has_another: bool
) -> None:
    """MS-27: it opens the database anew, while its server goes on; and makes none."""
    address = server.create_database()
    settings = Settings(
        database=address, writer_restart_seconds=0.01, max_writer_deaths=2
    )
    async with store_at(address) as backend:
        store_id, grant = backend.observations.store_id, await granted(backend)
    async with linked(settings, Metrics(), None, store_id) as link:
        stored = await link.submit(batch_of(grant, showing("p1")), 1)
        assert isinstance(stored, BatchCommitted)
        empty(server, address.rpartition("/")[2], "")
        if has_another:
            async with store_at(address) as another:
                grant = await granted(another)
        writer().kill()

        refused = await link.submit(batch_of(grant, showing("p2")), 1)

        assert refused == NotStored("the writer process ended again and again")
    if not has_another:
        assert not (await schema_state(settings)).version
    async with store_at(address) as another:
        assert await another.messages.messages_after(CONVERSATION, 0, 9) == ([], None)


async def test_ms_27_a_database_that_is_put_back_is_gone_on_with(
    server: PostgresqlServer,
) -> None:
    """MS-27: without a hand, where the numbers were."""
    address, other = server.create_database(), server.create_database()
    name, other_name = (each.rpartition("/")[2] for each in (address, other))
    async with store_at(other):
        pass
    async with store_at(address) as backend:
        grant = await granted(backend)
        await commit(backend, grant, "p1")
        rename(server, name, other_name)
        await assert_refused(lambda: commit(backend, grant, "p2"))
        put_back(server, name)

        (outcome,) = await commit(backend, grant, "p1", "p2")
        assert sequences(outcome) == [(1, True), (2, False)]
        await backend.prove_writable()
