"""What `bright store copy` and `dump` say, and to whom: in words that each one has."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from bright_server import backends
from bright_server.cli import main
from bright_server.commit.transfer import (
    CopyMark,
    StoreFacts,
    begun_otherwise,
)
from bright_server.database_address import InMemory, SqliteFile
from bright_server.errors import CopyRefused, SchemaRefused
from bright_server.settings import Settings
from bright_server.stores.postgresql.connection import connected
from bright_server.stores.sqlite.dump import dump
from bright_server.testing.engines.valkey import Valkey, ValkeyOptions
from tests.bright_server.databases.conftest import Places
from tests.bright_server.databases.filling import fill
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.processes import BRIGHT, DEADLINE_SECONDS

NEWER: Final = 99
OPTIONS_OF_OTHERS: Final = ("--database", "BRIGHT_DATABASE)")


async def copied(*arguments: object) -> int:
    return await asyncio.to_thread(main, ["store", "copy", *map(str, arguments)])


def set_version(database: Path, **columns: int) -> None:
    with closing(sqlite3.connect(database)) as file, file:
        for name, value in columns.items():
            file.execute(f"UPDATE store SET {name} = ?", (value,))


async def make_newer(settings: Settings, valkey: Valkey) -> None:
    """A store of a newer Bright that calls itself fit for this one."""
    if isinstance(settings.database, SqliteFile):
        set_version(settings.database_path, schema_version=NEWER)
    elif str(settings.database).startswith("redis"):
        valkey.ask("HSET", "bright:store", "version", str(NEWER))
    else:
        async with connected(settings) as connection:
            await connection.execute(b"UPDATE store SET schema_version = 99")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "redis"])
async def test_what_a_newer_bright_has_written_is_not_left_out_of_a_copy(
    kind: str, places: Places, clock: ManualClock, tmp_path: Path
) -> None:
    """Both would be equal in all that this one knows; nobody would miss the rest."""
    with Valkey(tmp_path / "valkey") as valkey:
        source = places(kind)
        if kind == "redis":
            address = f"redis://127.0.0.1:{valkey.port}/0"
            source = Settings.model_validate({"database": address})
        await fill(source, clock)
        await make_newer(source, valkey)

        with pytest.raises(CopyRefused, match=f"has schema {NEWER}, this Bright knows"):
            async with backends.exporting(source, clock):
                pass
        # It may be opened all the same.
        async with backends.opened(source, clock):
            pass


@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "redis"])
async def test_an_unfinished_copy_is_not_dumped(
    kind: str, places: Places, clock: ManualClock
) -> None:
    """Half a store looks like a whole one, and would be compared as one."""
    source, target = places("sqlite"), places(kind)
    await fill(source, clock)
    async with (
        backends.exporting(source, clock) as one,
        backends.importing(target, clock) as two,
    ):
        await two.begin(one.facts, one.facts.store_id)

    with pytest.raises(SchemaRefused, match="is not finished"):
        async for _ in backends.dump(target):
            pass


async def test_a_file_that_needs_a_newer_bright_is_not_dumped(
    places: Places, clock: ManualClock
) -> None:
    source = places("sqlite")
    await fill(source, clock)
    set_version(
        source.database_path, schema_version=98, oldest_compatible_version=NEWER
    )

    with pytest.raises(
        SchemaRefused, match=f"needs a server that knows schema {NEWER}"
    ):
        next(dump(source.database_path))


async def test_a_finished_copy_is_done_when_it_is_asked_for_again(
    places: Places, clock: ManualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    source, moved, cloned = places("sqlite"), places("sqlite"), places("redis")
    await fill(source, clock)
    for target, options in ((moved, []), (cloned, ["--new-id"])):
        sides = (source.database, target.database, *options)
        assert await copied(*sides) == 0
        first = capsys.readouterr().out
        assert await copied(*sides) == 0
        again = capsys.readouterr().out
        assert "nothing to do, the copy was finished before" in again
        assert again.replace("nothing to do, the copy was finished before:\n", "") == (
            first
        )

    # The other name was asked for now; or something has come since.
    assert await copied(source.database, moved.database, "--new-id") == 2
    with closing(sqlite3.connect(moved.database_path)) as file, file:
        file.execute("UPDATE conversation SET title = 'written since'")
    assert await copied(source.database, moved.database) == 2
    assert "holds something already" in capsys.readouterr().err


async def test_where_it_may_be_the_source_itself_an_equal_store_is_called_no_copy(
    places: Places, clock: ManualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    """By another name, or as a replica: FROM would be given up, and all be lost."""
    source = places("redis")
    await fill(source, clock)
    by_another_name = str(source.database).replace("127.0.0.1", "localhost")

    assert await copied(source.database, by_another_name) == 2

    words = capsys.readouterr().err
    assert "both were read and are equal: if it is the copy" in words
    assert "FROM by another name" in words


async def test_a_second_name_of_the_file_is_the_store_itself(
    places: Places, clock: ManualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    source = places("sqlite")
    await fill(source, clock)
    hard_link = source.database_path.with_name("hard.db")
    hard_link.hardlink_to(source.database_path)

    assert await copied(source.database, hard_link) == 2
    assert "it is the store itself" in capsys.readouterr().err


def test_a_copy_begun_from_elsewhere_is_not_called_another_store() -> None:
    facts = StoreFacts("one", 1)
    mark = CopyMark(facts, "one", "bindings", None)

    assert "another store (one)" in begun_otherwise(mark, StoreFacts("two", 1))
    words = begun_otherwise(mark, StoreFacts("one", 1, "shards:4"))
    assert words == (
        "a copy of this store (one) was begun there from another database than this one"
    )


async def test_a_copy_speaks_of_its_own_arguments_alone(
    places: Places,
    clock: ManualClock,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = places("sqlite")
    await fill(source, clock)
    password = tmp_path / "secret"
    password.write_text("wrong\n")
    new = tmp_path / "new.db"
    with (
        backends.held(source),
        Valkey(tmp_path / "valkey", ValkeyOptions(password="right")) as guarded,
    ):
        redis = f"redis://127.0.0.1:{guarded.port}/0"
        own = "password: check --from-password-file\n"
        for arguments, expected in (
            ((tmp_path / "none.db", new), f"no database at {tmp_path / 'none.db'}"),
            ((source.database, new), f"{source.database} is in use (process"),
            ((InMemory(), new), "give another FROM"),
            ((tmp_path, new), "give the path of a file as FROM"),
            ((source.database, tmp_path), "give the path of a file as TO"),
            (("postgresql://b@127.0.0.1:1/b", new), "check FROM, --from-password-file"),
            ((redis, new, f"--from-password-file={password}"), own),
        ):
            assert await copied(*arguments) == 2
            words = capsys.readouterr().err
            assert expected in words
            assert not any(each in words for each in OPTIONS_OF_OTHERS), words
            assert "another server" not in words
    assert not new.exists()


async def test_of_postgresql_it_is_said_when_a_server_is_seen(
    places: Places,
    clock: ManualClock,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = places("postgresql")
    await fill(source, clock)

    assert await copied(source.database, tmp_path / "new.db") == 0

    words = capsys.readouterr().err
    assert "seen as the copy begins, and not later" in words
    assert "nobody here can tell" not in words


@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "redis"])
@pytest.mark.parametrize("buffered", ["", "1"])
async def test_who_has_read_enough_of_a_dump_ends_it_quietly(
    kind: str, buffered: str, places: Places, clock: ManualClock
) -> None:
    """In the middle of it; or, if it is short, as all of it is printed in the end."""
    source = places(kind)
    await fill(source, clock)
    process = await asyncio.create_subprocess_exec(
        *BRIGHT,
        "store",
        "dump",
        f"--database={source.database}",
        stdout=(writing := closed_pipe()),
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"},
    )
    os.close(writing)
    async with asyncio.timeout(DEADLINE_SECONDS):
        _, words = await process.communicate()

    assert (process.returncode, words) == (1, b"")


def closed_pipe() -> int:
    """The end to write into of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing
