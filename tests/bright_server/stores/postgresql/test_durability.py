"""A server that could lose an ACK is refused in words (MS-15)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from bright_server.commit.encoding import envelope_of
from bright_server.commit.groups import BatchCommitted
from bright_server.commit.records import CommitIntent, CommitState, OutboxPublication
from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.fanout.contract import LogPosition
from bright_server.settings import Settings
from bright_server.stores.postgresql.connection import connected
from bright_server.stores.postgresql.database import Transaction
from bright_server.stores.postgresql.durability import fault_of
from bright_server.stores.postgresql.store import PostgresqlBackend, opened
from bright_server.testing.engines.postgresql import USER, PostgresqlServer
from bright_server.testing.sends import (
    DELIVERY,
    Everybody,
    batch_of,
    brought_to,
    candidate_of,
    committed,
    granted,
    sending,
    showing,
)
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.postgresql.under_test import PostgresqlUnderTest

_NO_WRITING = b"""
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no room for a probe'; END $$
"""
_TO_READINESS = b"""
    CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON readiness
    FOR EACH STATEMENT EXECUTE FUNCTION refuse()
"""
GOOD = (False, "on", "on", "on", "off", "UTF8")


def changed(place: int, value: object) -> tuple[object, ...]:
    return (*GOOD[:place], value, *GOOD[place + 1 :])


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, True, "standby"),
        (1, "off", "set fsync = on"),
        (2, "off", "set full_page_writes = on"),
        (3, "off", "synchronous_commit is off"),
        (4, "on", "default_transaction_read_only"),
        (5, "SQL_ASCII", "ENCODING 'UTF8'"),
    ],
)
def test_ms_15_what_is_wrong_is_said_with_what_to_do(
    place: int, value: object, words: str
) -> None:
    """MS-15: each setting by which an ACK could be lost, or nothing be written."""
    assert words in (fault_of(changed(place, value)) or "")


@pytest.mark.parametrize("level", ["on", "local", "remote_write", "remote_apply"])
def test_ms_15_what_is_durable_is_let_be(level: str) -> None:
    """MS-15: the session itself raises what is weaker than it need be."""
    assert fault_of(changed(3, level)) is None


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with PostgresqlServer() as server:
        yield server


async def refusal_of(address: str) -> str:
    """What the store, its log and its commits say alike."""
    async with opened(Settings(database=address), ManualClock()) as backend:
        with pytest.raises(StoreUnavailable) as refused:
            await backend.prove_writable()
        with pytest.raises(StoreUnavailable) as by_commits:
            await backend.commits.readiness()
        with pytest.raises(PublicationNotDurable):
            await backend.publisher.readiness()
    assert str(by_commits.value) == str(refused.value)
    assert address in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("whose", ["DATABASE {database}", f"ROLE {USER}"])
async def test_ms_15_synchronous_commit_off_is_refused_wherever_it_is_set(
    server: PostgresqlServer, whose: str
) -> None:
    """MS-15: for a database, or for a role; and the session is durable all the same."""
    address = server.create_database()
    target = whose.format(database=address.rpartition("/")[2])
    server.execute(f"ALTER {target} SET synchronous_commit = off")
    try:
        assert "synchronous_commit is off" in await refusal_of(address)
        async with opened(Settings(database=address), ManualClock()) as backend:
            level = await backend.database.run("look", "session_durability")
    finally:
        server.execute(f"ALTER {target} RESET synchronous_commit")
    assert level == [("on",)]


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit"])
async def test_ms_15_a_server_set_up_unsafely_is_refused(setting: str) -> None:
    """MS-15: really started like that."""
    with PostgresqlServer(options={setting: "off"}) as unsafe:
        assert f"{setting} is off" in await refusal_of(unsafe.create_database())


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
async def test_ms_27_and_15_a_server_that_is_made_unsafe_acks_nothing_until_it_is_safe(
    server: PostgresqlServer, setting: str
) -> None:
    """MS-27: while it is served, on the connections that there are."""
    stores = PostgresqlUnderTest(server.create_database())
    async with stores.opened(ManualClock(), Everybody()) as backend:
        grant = await granted(backend)
        intent = await brought_to(CommitState.RECORDED, backend, sending("s1"))
        assert isinstance(intent, CommitIntent)
        batch = batch_of(grant, showing("p1"))
        server.execute(f"ALTER SYSTEM SET {setting} = off")
        server.execute("SELECT pg_reload_conf()")
        try:
            await until_it_is_seen(backend, setting, "off")
            for asked in (
                backend.observations.commit_group([batch]),
                backend.commits.reserve(
                    sending("s2"), DELIVERY, candidate_of(sending("s2"))
                ),
                backend.commits.mark_published_and_committed(
                    intent, OutboxPublication(LogPosition("outbox", 1))
                ),
                backend.commits.hold_lease("recovery", "me", 1_000),
                backend.prove_writable(),
            ):
                with pytest.raises(StoreUnavailable, match=f"set {setting} = on"):
                    await asked
            with pytest.raises(PublicationNotDurable, match=f"set {setting} = on"):
                await backend.publisher.publish(envelope_of(intent))
        finally:
            server.execute(f"ALTER SYSTEM RESET {setting}")
            server.execute("SELECT pg_reload_conf()")
        await until_it_is_seen(backend, setting, "on")

        assert await stores.published(backend) == []
        [outcome] = await backend.observations.commit_group([batch])
        assert isinstance(outcome, BatchCommitted)
        assert (list(outcome.sequences), len(outcome.repeats)) == ([2], 0)
        await backend.prove_writable()


async def until_it_is_seen(
    backend: PostgresqlBackend, setting: str, value: str
) -> None:
    """Wait until the session that the pool gives next has a server's new setting."""
    place = {"fsync": 1, "full_page_writes": 2}[setting]
    async with asyncio.timeout(20):
        while (await backend.database.run("look", "durability"))[0][place] != value:
            pass


async def test_ms_27_a_session_that_somebody_has_reset_acks_nothing(
    server: PostgresqlServer,
) -> None:
    """MS-27: by what stands between Bright and a server that is set up so."""
    address = server.create_database()
    name = address.rpartition("/")[2]
    server.execute(f"ALTER DATABASE {name} SET synchronous_commit = local")
    stores = PostgresqlUnderTest(address)
    changes = {"database_connections": 1}
    async with stores.opened(ManualClock(), Everybody(), **changes) as backend:
        grant = await granted(backend)

        async def reset(transaction: Transaction) -> None:
            await transaction.connection.execute(b"RESET ALL")

        await backend.database.write("reset", reset)
        with pytest.raises(StoreUnavailable, match="reset its sessions"):
            await backend.observations.commit_group([batch_of(grant, showing("p1"))])
        assert await stores.published(backend) == []


async def test_ms_15_a_read_only_role_is_refused(server: PostgresqlServer) -> None:
    """MS-15: where reading alone would look well."""
    address = server.create_database()
    name = address.rpartition("/")[2]
    async with opened(Settings(database=address), ManualClock()) as backend:
        await backend.prove_writable()
    server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    assert "default_transaction_read_only" in await refusal_of(address)


async def test_ms_15_readiness_really_writes(server: PostgresqlServer) -> None:
    """MS-15: set up well, it can be read, and takes no write all the same."""
    address = server.create_database()
    async with opened(Settings(database=address), ManualClock()) as backend:
        await backend.prove_writable()
    async with connected(Settings(database=address)) as connection:
        await connection.execute(_NO_WRITING)
        await connection.execute(_TO_READINESS)

    assert "no room for a probe" in await refusal_of(address)


async def test_ms_15_a_standby_is_refused_and_the_primary_is_found_among_hosts(
    server: PostgresqlServer,
) -> None:
    """MS-15: a replica can be read, and takes no commit."""
    address = server.create_database()
    async with opened(Settings(database=address), ManualClock()) as backend:
        await backend.prove_writable()
    with server.standby() as standby:
        alone = address.replace(str(server.port), str(standby.port))
        assert "standby" in await refusal_of(alone)
        hosts = f"127.0.0.1:{standby.port},127.0.0.1:{server.port}"
        both = address.replace(f"127.0.0.1:{server.port}", hosts)
        async with opened(Settings(database=both), ManualClock()) as backend:
            await backend.prove_writable()


async def test_a_wrong_password_is_said_and_shown_nowhere(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PostgresqlServer(password="the right one") as server:
        address = server.create_database()
        for given, words in ((None, "no password supplied"), ("wr0ng-one", "failed")):
            settings = Settings(database=address, database_password=given)
            with pytest.raises(StoreUnavailable, match=words) as refused:
                async with opened(settings, ManualClock()):
                    pass
            assert "wr0ng-one" not in f"{refused.value!r}{refused.value.__cause__!r}"
        right = Settings(database=address, database_password="the right one")
        async with opened(right, ManualClock()) as backend:
            await backend.prove_writable()
    assert "wr0ng-one" not in caplog.text
    assert "the right one" not in caplog.text


async def test_ms_15_why_nobody_is_let_in_any_more_is_said_without_a_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """MS-15: in readiness' own time, for somebody else's change of the password."""
    first, second = "the f1rst one", "the s2cond one"
    with PostgresqlServer(password=first) as server:
        settings = Settings(
            database=server.create_database(),
            database_password=first,
            database_connect_seconds=120,
        )
        async with opened(settings, ManualClock()) as backend:
            await backend.prove_writable()
            server.execute(f"ALTER ROLE {USER} PASSWORD '{second}'")
            server.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                f" WHERE usename = '{USER}'"
            )
            async with asyncio.timeout(60):
                refused = await refusal_by(backend, "password authentication failed")
                server.stop()
                await refusal_by(backend, "Connection refused")
    assert first not in f"{caplog.text}{refused!r}{refused.__cause__!r}"


async def refusal_by(backend: PostgresqlBackend, words: str) -> StoreUnavailable:
    """Ask until these are the words; the pool is told in its own time."""
    while True:
        with pytest.raises(StoreUnavailable) as refused:
            await backend.prove_writable()
        if words in str(refused.value):
            return refused.value


async def test_ms_30_a_synchronous_standby_takes_over_with_every_ack(
    own_server: PostgresqlServer,
) -> None:
    """MS-27: the primary is killed; what was acknowledged is on the other."""
    address = own_server.create_database()
    standby = own_server.standby()
    with standby:
        own_server.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        own_server.execute("SELECT pg_reload_conf()")
        hosts = f"127.0.0.1:{own_server.port},127.0.0.1:{standby.port}"
        both = address.replace(f"127.0.0.1:{own_server.port}", hosts)
        stores = PostgresqlUnderTest(both)
        clock = ManualClock()
        async with stores.opened(clock, Everybody()) as backend:
            grant = await granted(backend)
            [before] = await backend.observations.commit_group(
                [batch_of(grant, *(showing(f"p{n}") for n in range(50)))]
            )
            sent = await committed(backend, sending("s1"))
            own_server.kill()
            with pytest.raises(StoreUnavailable):
                await committed(backend, sending("s2"))
            standby.execute("ALTER SYSTEM RESET synchronous_standby_names")
            standby.promote()

            # The same pool goes on, on the other host.
            [again] = await backend.observations.commit_group(
                [batch_of(grant, *(showing(f"p{n}") for n in range(51)))]
            )
            kept = await backend.commits.load_commit_for_request(sending("s1"))
            await committed(backend, sending("s2"))
            await backend.prove_writable()
    assert isinstance(before, BatchCommitted)
    assert isinstance(again, BatchCommitted)
    assert again.sequences[:50] == before.sequences
    assert len(again.repeats) == 50
    assert kept == sent
