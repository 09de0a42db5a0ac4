"""What Bright makes on the disk, and what it says when it cannot write there."""

from __future__ import annotations

import asyncio
import stat
import sys
from pathlib import Path

import pytest

from tests.bright_server.processes import (
    BRIGHT,
    DEADLINE_SECONDS,
    create_binding,
    serving,
)

# Root may write a file of any mode until this capability is dropped; 24 is
# PR_CAPBSET_DROP and 1 is CAP_DAC_OVERRIDE.
_AS_AN_ORDINARY_USER = """
import ctypes, os, sys
if os.geteuid() == 0 and ctypes.CDLL(None).prctl(24, 1, 0, 0, 0) != 0:
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
"""
_CANNOT_DROP = 77


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "bright.db"


async def test_a_database_that_cannot_be_written_is_not_served(tmp_path: Path) -> None:
    database = tmp_path / "bright.db"
    await create_binding(database)
    database.chmod(0o444)

    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _AS_AN_ORDINARY_USER,
        *BRIGHT,
        "serve",
        "--port=0",
        f"--database={database}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), DEADLINE_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == _CANNOT_DROP:
        pytest.skip("this root cannot give up writing what it may not")

    assert (process.returncode, out) == (2, b""), err.decode()
    assert f"could not write to {database}" in err.decode()
    assert "let this user write the file" in err.decode()


async def test_what_is_made_is_for_its_owner_alone_and_said_in_the_log(
    database: Path,
) -> None:
    async with serving(database) as server:
        modes = {path.name: mode(path) for path in database.parent.iterdir()}
        _, said = await server.end()

    assert modes == {
        f"bright.db{ending}": 0o600 for ending in ("", "-wal", "-shm", ".lock")
    }
    assert f"made the folder {database.parent}" in said
    assert f"made a new database at {database}" in said


async def test_a_database_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    database = tmp_path / "bright.db"
    await create_binding(database)
    assert mode(database) == 0o600

    database.chmod(0o640)
    async with serving(database) as server:
        assert mode(database) == 0o640
        _, said = await server.end()
    assert "made a" not in said


async def test_a_database_behind_a_link_is_made_for_its_owner_alone(
    tmp_path: Path,
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "real.db")

    await create_binding(link)

    assert mode(tmp_path / "real.db") == 0o600
    assert link.is_symlink()
