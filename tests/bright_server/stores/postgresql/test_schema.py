"""The database's version: made, stepped forward, or refused; and where it lies."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from bright_server.errors import (
    ConfigurationError,
    SchemaRefused,
    StoreMissing,
    StoreUnavailable,
)
from bright_server.settings import Settings
from bright_server.stores.postgresql import schema
from bright_server.stores.postgresql.connection import Target, connected
from bright_server.stores.postgresql.dump import dump
from bright_server.stores.postgresql.store import opened
from bright_server.testing.engines.postgresql import PostgresqlServer
from bright_server.testing.sends import committed, granted, sending
from tests.bright_server.manual_clock import ManualClock


async def open_once(settings: Settings) -> str:
    async with opened(settings, ManualClock()) as backend:
        return backend.observations.store_id


async def done(settings: Settings, statement: bytes) -> list[tuple[object, ...]]:
    async with connected(settings) as connection:
        cursor = await connection.execute(statement)
        return await cursor.fetchall() if cursor.description else []


def test_steps_are_numbered_without_a_gap_and_end_at_the_servers_version() -> None:
    numbers = [step.version for step in schema.steps()]

    assert numbers == list(range(1, schema.SCHEMA_VERSION + 1))
    assert schema.OLDEST_COMPATIBLE_VERSION <= schema.SCHEMA_VERSION


async def test_a_new_database_is_made_once_and_keeps_its_name(
    settings: Settings,
) -> None:
    empty = await schema.schema_state(settings)
    first, again = await open_once(settings), await open_once(settings)
    state = await schema.schema_state(settings)

    assert empty.version == 0
    assert next(step.name for step in empty.due) == "0001_the_store"
    assert (state.version, list(state.due)) == (schema.SCHEMA_VERSION, [])
    assert first == again


async def test_steps_are_made_without_a_server_too(settings: Settings) -> None:
    state = await schema.step_forward(settings, ManualClock())

    assert (state.version, list(state.due)) == (schema.SCHEMA_VERSION, [])
    assert await open_once(settings)


async def test_a_newer_schema_is_refused_in_words(settings: Settings) -> None:
    await open_once(settings)
    await done(
        settings,
        b"UPDATE store SET schema_version = 9, oldest_compatible_version = 8",
    )

    for use in (open_once, schema.schema_state):
        with pytest.raises(SchemaRefused, match="needs a server that knows schema 8"):
            await use(settings)


async def test_a_newer_schema_that_says_it_is_compatible_is_opened(
    settings: Settings,
) -> None:
    await open_once(settings)
    await done(settings, b"UPDATE store SET schema_version = 9")

    await open_once(settings)

    assert await done(settings, b"SELECT schema_version FROM store") == [(9,)]


async def test_another_programs_database_is_refused_and_left_alone(
    settings: Settings,
) -> None:
    await done(settings, b"CREATE TABLE theirs (x integer)")

    with pytest.raises(SchemaRefused, match="another program"):
        await open_once(settings)

    tables = b"SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    assert await done(settings, tables) == [("theirs",)]


async def test_a_step_that_fails_leaves_the_old_version_whole(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start, with the fault mended, makes it."""
    steps = schema.steps()
    broken = replace(steps[-1], statements=f"{steps[-1].statements}; CREATE nonsense;")
    monkeypatch.setattr(schema, "steps", lambda: [*steps[:-1], broken])

    with pytest.raises(StoreUnavailable, match="prepare"):
        await open_once(settings)
    monkeypatch.undo()
    assert (await schema.schema_state(settings)).version == 0

    assert await open_once(settings)


async def test_what_a_role_lacks_is_what_it_is_told_to_be_granted(
    own_server: PostgresqlServer,
) -> None:
    """Each advice is taken, and the store is open."""
    owners = own_server.create_database()
    name = owners.rpartition("/")[2]
    own_server.execute("CREATE ROLE stranger LOGIN")
    settings = Settings(database=own_server.address(name, "stranger"))
    with pytest.raises(StoreUnavailable, match="GRANT CREATE ON SCHEMA public"):
        await open_once(settings)
    store_id = await open_once(Settings(database=owners))
    advice = "GRANT ALL ON ALL TABLES IN SCHEMA public to this role"
    for use in (open_once, schema.schema_state):
        with pytest.raises(StoreUnavailable, match="denied for table") as refused:
            await use(settings)
        assert advice in str(refused.value)
    own_server.execute(f"{advice.replace('this role', 'stranger')}", name)
    async with opened(settings, ManualClock()) as backend:
        assert backend.observations.store_id == store_id
        await granted(backend)
        await committed(backend, sending("s1"))
        await backend.prove_writable()

    own_server.execute("REVOKE USAGE ON SCHEMA public FROM PUBLIC", name)
    with pytest.raises(StoreUnavailable, match="GRANT USAGE, CREATE ON SCHEMA public"):
        await open_once(settings)


async def test_a_dump_makes_no_store(settings: Settings) -> None:
    with pytest.raises(StoreMissing):
        [each async for each in dump(settings)]

    assert (await schema.schema_state(settings)).version == 0


async def test_what_cannot_be_reached_is_said_with_its_address() -> None:
    settings = Settings(database="postgresql://someone@127.0.0.1:1/nowhere")

    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1/nowhere") as refused:
        await open_once(settings)
    assert isinstance(refused.value.__cause__, psycopg.OperationalError)


def test_another_kind_of_database_is_no_address_of_this_one() -> None:
    with pytest.raises(ConfigurationError, match="no PostgreSQL"):
        Target(Settings(database="memory:")).conninfo()


def test_of_several_hosts_the_one_that_can_be_written_is_asked_for() -> None:
    several = Settings(database="postgresql://u@one,two:6/n?sslmode=verify-full")
    given = psycopg.conninfo.conninfo_to_dict(Target(several).conninfo())

    assert given["host"] == "one,two"
    assert given["port"] == "5432,6"
    assert given["target_session_attrs"] == "read-write"
    assert given["sslmode"] == "verify-full"
    assert "password" not in given
