"""A file where nothing can be written, as in a snapshot: it is read, and all of it."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from bright_server import backends
from bright_server.errors import StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.sqlite import reading
from bright_server.stores.sqlite.reading import opened_for_reading
from tests.bright_server.databases.filling import fill
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.processes import BRIGHT, DEADLINE_SECONDS

# Root may write into a folder of any mode until this capability is dropped; 24 is
# PR_CAPBSET_DROP and 1 is CAP_DAC_OVERRIDE.
_AS_AN_ORDINARY_USER = """
import ctypes, os, sys
if os.geteuid() == 0 and ctypes.CDLL(None).prctl(24, 1, 0, 0, 0) != 0:
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
"""
_CANNOT_DROP = 77


async def told(*arguments: object) -> tuple[int, str, str]:
    """Exit status, output and words of a command that an ordinary user gives."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _AS_AN_ORDINARY_USER, *BRIGHT),
        *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(DEADLINE_SECONDS):
        out, words = await process.communicate()
    assert process.returncode is not None
    if process.returncode == _CANNOT_DROP:
        pytest.skip("root's power over files cannot be given up here")
    return process.returncode, out.decode(), words.decode()


@pytest.fixture
async def database(tmp_path: Path, clock: ManualClock) -> Path:
    """A filled store, in a folder of its own."""
    folder = tmp_path / "snapshot"
    folder.mkdir()
    path = folder / "bright ?#%.db"
    await fill(Settings(database=path), clock)
    return path


@contextmanager
def sealed(folder: Path) -> Iterator[None]:
    before = sorted(each.name for each in folder.iterdir())
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o755)
    assert sorted(each.name for each in folder.iterdir()) == before


@asynccontextmanager
async def in_use(database: Path, clock: ManualClock) -> AsyncIterator[None]:
    """With a message in its log that is not in the file itself."""
    async with backends.opened(Settings(database=database), clock):
        with closing(sqlite3.connect(database)) as other, other:
            other.execute("UPDATE conversation SET title = 'in the log'")
        yield


def titles(out: str) -> set[str | None]:
    records = map(json.loads, out.splitlines())
    return {each["title"] for each in records if each["type"] == "conversation"}


async def test_a_snapshot_is_dumped_checked_and_copied(
    database: Path, tmp_path: Path
) -> None:
    _, expected, _ = await told("store", "dump", "--database", database)
    assert expected
    with sealed(database.parent):
        assert await told("store", "dump", "--database", database) == (0, expected, "")
        status, checked, _ = await told("migrate", "--check", "--database", database)
        assert (status, "nothing to do" in checked) == (0, True)
        status, said, words = await told("store", "copy", database, tmp_path / "to.db")

    assert (status, "are equal" in said) == (0, True), words
    # No lock can be made there: this is said, and what follows from it.
    assert "nobody here can tell whether" in words


async def test_a_file_that_can_be_locked_is_copied_without_a_warning(
    database: Path, tmp_path: Path
) -> None:
    status, _, words = await told("store", "copy", database, tmp_path / "to.db")
    assert (status, "nobody here can tell" in words) == (0, False)


async def test_ms_28_a_log_that_cannot_be_read_there_is_not_left_out(
    database: Path, tmp_path: Path, clock: ManualClock
) -> None:
    copy = database.with_name("copy.db")
    async with in_use(database, clock):
        for ending in ("", "-wal"):
            shutil.copyfile(f"{database}{ending}", f"{copy}{ending}")
    with sealed(database.parent):
        for command in (
            ("store", "dump", "--database", copy),
            ("migrate", "--check", "--database", copy),
            ("store", "copy", copy, tmp_path / "to.db"),
        ):
            status, out, words = await told(*command)
            assert (status, out) == (2, "")
            assert f"{copy}-wal holds what is not in it yet" in words
            assert "copy both" in words

    # Where something can be written it is all there.
    _, out, _ = await told("store", "dump", "--database", copy)
    assert titles(out) == {"in the log"}


async def test_ms_28_what_a_server_has_in_its_log_is_read_there_too(
    database: Path, clock: ManualClock
) -> None:
    async with in_use(database, clock):
        with sealed(database.parent):
            status, out, words = await told("store", "dump", "--database", database)
    assert (status, words) == (0, "")
    assert titles(out) == {"in the log"}


async def test_a_server_that_holds_the_file_there_is_seen_by_a_copy(
    database: Path, tmp_path: Path
) -> None:
    with backends.held(Settings(database=database)), sealed(database.parent):
        status, _, words = await told("store", "copy", database, tmp_path / "to.db")
    assert status == 2
    assert f"{database} is in use (process" in words


async def test_what_was_written_there_meanwhile_is_found(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By somebody who may: this reader would not see it, or only half of it."""
    monkeypatch.setattr(reading, "is_writable", lambda _: False)

    with (
        pytest.raises(StoreUnavailable, match="written meanwhile"),
        opened_for_reading(database),
        database.open("ab") as file,
    ):
        file.write(b"more")
