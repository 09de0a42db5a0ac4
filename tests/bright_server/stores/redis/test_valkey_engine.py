"""The starter of real servers: they do as told, and none is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bright_server.testing.engines.errors import EngineError
from bright_server.testing.engines.valkey import Valkey, ValkeyOptions, lent

CHILD = """
import pathlib, sys, time
from bright_server.testing.engines.valkey import Valkey
with Valkey(pathlib.Path(sys.argv[1])) as server:
    print(server.pid, flush=True)
    time.sleep(60)
"""


def test_it_keeps_its_port_and_its_data_through_a_kill(tmp_path: Path) -> None:
    with Valkey(tmp_path / "valkey") as server:
        port = server.port
        server.ask("SET", "a", "b")
        server.restart()
        assert server.port == port
        assert server.ask("GET", "a") == b"$1\r\nb\r\n"
        first = server.pid
        server.stop()
        assert not server.is_running
        server.start()
        assert server.pid != first
        assert server.ask("GET", "a") == b"$1\r\nb\r\n"


def test_it_is_ended_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path / "valkey")],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())
        assert is_alive(pid)
        child.kill()
    deadline = time.monotonic() + 20
    while is_alive(pid):
        assert time.monotonic() < deadline, "it outlived its starter"
        time.sleep(0.01)


def test_a_password_stands_in_no_list_of_processes(tmp_path: Path) -> None:
    options = ValkeyOptions(password="correct-horse")
    with Valkey(tmp_path / "valkey", options) as server:
        assert server.ask("PING") == b"+PONG\r\n"
        words = Path(f"/proc/{server.pid}/cmdline").read_bytes()
        assert b"correct-horse" not in words
        assert "correct-horse" not in repr(options)
        (file,) = tmp_path.glob("*.conf")
        assert file.stat().st_mode & 0o077 == 0


def test_one_that_cannot_start_says_why(tmp_path: Path) -> None:
    options = ValkeyOptions(extra={"no-such-setting": "1"})
    with pytest.raises(EngineError, match="no-such-setting"):
        Valkey(tmp_path / "valkey", options).start()


def test_a_database_that_is_not_empty_is_not_touched(tmp_path: Path) -> None:
    with Valkey(tmp_path / "valkey") as server:
        url = f"redis://127.0.0.1:{server.port}"
        with lent(f"{url}/3") as given:
            assert given.url == f"{url}/3"
            server.ask("SET", "precious", "1")
            with pytest.raises(EngineError, match="not lent"):
                given.empty(0)
        with pytest.raises(EngineError, match="not empty"), lent(f"{url}/0"):
            pytest.fail("it was lent")
        assert server.ask("EXISTS", "precious") == b":1\r\n"
        for wrong in (url, "redis://:secret@h/1", "http://h/1"):
            with pytest.raises(EngineError) as refused, lent(wrong):
                pytest.fail("it was lent")
            assert "secret" not in str(refused.value)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state.rpartition(")")[2].split()[0] != "Z"
