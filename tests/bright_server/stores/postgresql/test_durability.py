"""A server that could lose an ACK is refused in words (MS-15)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bright_server.commit.groups import BatchCommitted
from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.postgresql.connection import connected
from bright_server.stores.postgresql.durability import fault_of
from bright_server.stores.postgresql.store import opened
from bright_server.testing.engines.postgresql import USER, PostgresqlServer
from bright_server.testing.sends import (
    Everybody,
    batch_of,
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
