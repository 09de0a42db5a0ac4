"""The database's version: made, stepped forward, or refused."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bright_server.commit.groups import ObservedProfiles, ProfilesStored
from bright_server.database_address import SqliteFile
from bright_server.errors import SchemaRefused, StoreMissing, StoreUnavailable
from bright_server.messages import BindingId, Grant, ObservedProfile
from bright_server.settings import Settings
from bright_server.stores.sqlite import schema
from bright_server.stores.sqlite.dump import dump
from bright_server.stores.sqlite.store import opened
from tests.bright_server.frames import ACCOUNT, CONVERSATION
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.version_1 import (
    write_version_1,
    write_version_2,
)
from tests.bright_server.stores.sqlite.works import KEY, batch, observed, sequences


async def open_once(settings: Settings) -> str:
    async with opened(settings, ManualClock()) as store:
        return store.store_id


def test_steps_are_numbered_without_a_gap_and_end_at_the_servers_version() -> None:
    numbers = [step.version for step in schema.steps()]

    assert numbers == list(range(1, schema.SCHEMA_VERSION + 1))
    assert schema.OLDEST_COMPATIBLE_VERSION <= schema.SCHEMA_VERSION


def test_no_step_hides_a_semicolon_inside_a_statement() -> None:
    for step in schema.steps():
        for statement in schema.split_statements(step.statements):
            assert sqlite3.complete_statement(f"{statement};")


async def test_a_store_keeps_its_name_and_another_has_another(
    settings: Settings, tmp_path: Path
) -> None:
    other = settings.model_copy(update={"database": SqliteFile(tmp_path / "other.db")})

    first, again, second = [
        await open_once(each) for each in (settings, settings, other)
    ]

    assert first == again
    assert first != second


async def test_many_may_open_a_new_file_at_once(settings: Settings) -> None:
    names = await asyncio.gather(*(open_once(settings) for _ in range(8)))

    assert len(set(names)) == 1


async def test_a_newer_schema_is_refused_in_words(settings: Settings) -> None:
    await open_once(settings)
    with closing(sqlite3.connect(settings.database_path)) as database, database:
        database.execute(
            "UPDATE store SET schema_version = 9, oldest_compatible_version = 8"
        )

    with pytest.raises(SchemaRefused, match="needs a server that knows schema 8"):
        await open_once(settings)


async def test_a_newer_schema_that_says_it_is_compatible_is_opened(
    settings: Settings,
) -> None:
    await open_once(settings)
    with closing(sqlite3.connect(settings.database_path)) as database, database:
        database.execute("UPDATE store SET schema_version = 9")

    await open_once(settings)

    with closing(sqlite3.connect(settings.database_path)) as database:
        assert database.execute("SELECT schema_version FROM store").fetchone() == (9,)


async def test_another_programs_database_is_refused_and_left_alone(
    settings: Settings,
) -> None:
    with closing(sqlite3.connect(settings.database_path)) as database, database:
        database.execute("CREATE TABLE theirs (x)")

    with pytest.raises(SchemaRefused, match="another program"):
        await open_once(settings)

    with closing(sqlite3.connect(settings.database_path)) as database:
        names = database.execute("SELECT name FROM sqlite_schema").fetchall()
    assert names == [("theirs",)]


def everything(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        ).fetchall()
        return {
            name: database.execute(f"SELECT * FROM {name}").fetchall()
            for (name,) in tables
        }


async def test_a_database_of_version_1_is_stepped_forward_and_keeps_every_row(
    settings: Settings, clock: ManualClock
) -> None:
    """OT-80, OT-90: the ledgers are added; nothing is rewritten."""
    write_version_1(settings.database_path)
    before = everything(settings.database_path)

    name = await open_once(settings)
    after = everything(settings.database_path)
    again = await open_once(settings)

    assert name == again == "the store's name"
    assert after["store"] == [(1, name, schema.SCHEMA_VERSION, 3, 5)]
    added = {"contact_profile", "rendered_card", "card_conflict", "buyer_facts"}
    added |= {
        "single_commit",
        "commit_intent",
        "message_detail",
        "outbox_envelope",
        "lease",
    }
    assert after.keys() - before.keys() == added | {"commit_readiness"}
    assert all(after[table] == [] for table in added)
    kept = before.keys() - {"store"}
    assert {table: after[table] for table in kept} == {
        table: before[table] for table in kept
    }
    assert everything(settings.database_path) == after


async def test_a_database_of_version_2_is_stepped_forward_and_keeps_every_row(
    settings: Settings,
) -> None:
    """MS-01: single commits get their tables; nothing is rewritten."""
    write_version_2(settings.database_path)
    before = everything(settings.database_path)
    state = await schema.schema_state(settings)

    stepped = await schema.step_forward(settings, ManualClock())
    after = everything(settings.database_path)

    assert (state.version, [each.name for each in state.due]) == (
        2,
        ["0003_single_commits"],
    )
    assert (stepped.version, stepped.due) == (schema.SCHEMA_VERSION, [])
    assert after["store"] == [(1, "the store's name", 3, 3, 5)]
    kept = before.keys() - {"store"}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


async def test_asking_for_the_schema_changes_nothing_and_makes_no_file(
    settings: Settings,
) -> None:
    with pytest.raises(StoreMissing):
        await schema.schema_state(settings)
    with pytest.raises(StoreMissing):
        await schema.step_forward(settings, ManualClock())
    assert not settings.database_path.exists()

    settings.database_path.write_bytes(b"this is no database at all" * 99)
    with pytest.raises(SchemaRefused, match="not a SQLite database"):
        await schema.schema_state(settings)


async def test_a_stepped_database_is_as_a_new_one_and_is_written_on(
    settings: Settings, tmp_path: Path, clock: ManualClock
) -> None:
    """OT-01, OT-80: what version 1 stored is known again, and gets its profile."""
    write_version_1(settings.database_path)
    new = settings.model_copy(update={"database": SqliteFile(tmp_path / "new.db")})
    grant = Grant(BindingId("bnd_1"), 1, frozenset({ACCOUNT}))
    await open_once(new)
    async with opened(settings, clock) as store:
        told, stored = await store.commit_group(
            [
                batch(grant, observed(1), observed(2)),
                ObservedProfiles(
                    grant, ACCOUNT, [ObservedProfile(CONVERSATION, None, 1, "f", "{}")]
                ),
            ]
        )
        page, profile = await store.messages.messages_after(KEY, 0, 9)

    assert sequences(told) == [(1, True), (2, False)]
    assert stored == ProfilesStored(frozenset({0}))
    assert [each.sequence for each in page] == [1, 2]
    assert profile is not None
    assert definitions(settings.database_path) == definitions(new.database_path)


def definitions(path: Path) -> list[tuple[str, str, str | None]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(
            "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
        ).fetchall()


async def test_many_may_step_an_old_file_forward_at_once(settings: Settings) -> None:
    write_version_1(settings.database_path)

    names = await asyncio.gather(*(open_once(settings) for _ in range(8)))

    assert set(names) == {"the store's name"}
    assert everything(settings.database_path)["store"][0][2] == schema.SCHEMA_VERSION


async def test_a_step_that_fails_leaves_the_old_version_whole(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start, with the fault mended, finds version 1 and steps it forward."""
    write_version_1(settings.database_path)
    before = everything(settings.database_path)
    steps = schema.steps()
    broken = replace(steps[-1], statements=f"{steps[-1].statements}; CREATE nonsense;")
    monkeypatch.setattr(schema, "steps", lambda: [*steps[:-1], broken])

    with pytest.raises(StoreUnavailable, match="prepare"):
        await open_once(settings)
    assert everything(settings.database_path) == before

    monkeypatch.undo()
    assert await open_once(settings) == "the store's name"


def test_an_old_database_is_dumped_as_it_is_and_not_stepped(
    settings: Settings,
) -> None:
    """A dump changes nothing, and a database of version 1 has fewer kinds."""
    write_version_1(settings.database_path)
    before = everything(settings.database_path)

    kinds = [each["type"] for each in dump(settings.database_path)]

    assert kinds == ["store", "conversation", "message", "conflict", "anchor", "outbox"]
    assert everything(settings.database_path) == before


async def test_a_server_that_knows_no_single_commits_refuses_what_this_one_wrote(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MS-20: it would give an observation that is reserved a second number."""
    await open_once(settings)
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 2)
    monkeypatch.setattr(schema, "steps", list)

    with pytest.raises(SchemaRefused, match="needs a server that knows schema 3"):
        await open_once(settings)


async def test_bug_48_a_failed_opening_leaves_no_thread_behind(
    settings: Settings, tmp_path: Path
) -> None:
    settings.database_path.write_bytes(
        b"this is no database at all, by any reading" * 99
    )
    folder = settings.model_copy(update={"database": SqliteFile(tmp_path)})

    with pytest.raises(SchemaRefused, match="not a SQLite database"):
        await open_once(settings)
    with pytest.raises(StoreUnavailable, match="unable to open"):
        await open_once(folder)

    assert not [
        thread for thread in threading.enumerate() if "_connection_" in thread.name
    ]
