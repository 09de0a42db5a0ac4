"""The database's version: made, stepped forward, or refused."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from bright_server.errors import SchemaRefused, StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.sqlite import schema
from bright_server.stores.sqlite.store import opened
from tests.bright_server.manual_clock import ManualClock


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
    other = settings.model_copy(update={"database": tmp_path / "other.db"})

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
    with closing(sqlite3.connect(settings.database)) as database, database:
        database.execute(
            "UPDATE store SET schema_version = 9, oldest_compatible_version = 8"
        )

    with pytest.raises(SchemaRefused, match="needs a server that knows schema 8"):
        await open_once(settings)


async def test_a_newer_schema_that_says_it_is_compatible_is_opened(
    settings: Settings,
) -> None:
    await open_once(settings)
    with closing(sqlite3.connect(settings.database)) as database, database:
        database.execute("UPDATE store SET schema_version = 9")

    await open_once(settings)

    with closing(sqlite3.connect(settings.database)) as database:
        assert database.execute("SELECT schema_version FROM store").fetchone() == (9,)


async def test_another_programs_database_is_refused_and_left_alone(
    settings: Settings,
) -> None:
    with closing(sqlite3.connect(settings.database)) as database, database:
        database.execute("CREATE TABLE theirs (x)")

    with pytest.raises(SchemaRefused, match="another program"):
        await open_once(settings)

    with closing(sqlite3.connect(settings.database)) as database:
        names = database.execute("SELECT name FROM sqlite_schema").fetchall()
    assert names == [("theirs",)]


async def test_bug_48_a_failed_opening_leaves_no_thread_behind(
    settings: Settings, tmp_path: Path
) -> None:
    settings.database.write_bytes(b"this is no database at all, by any reading" * 99)
    folder = settings.model_copy(update={"database": tmp_path})

    with pytest.raises(SchemaRefused, match="not a SQLite database"):
        await open_once(settings)
    with pytest.raises(StoreUnavailable, match="unable to open"):
        await open_once(folder)

    assert not [
        thread for thread in threading.enumerate() if "_connection_" in thread.name
    ]
