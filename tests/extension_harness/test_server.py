"""Bright as a process: the same port and file whatever became of it before."""

import contextlib
import http.client
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from extension_harness.errors import ServerError
from extension_harness.server import BrightServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[BrightServer]:
    with BrightServer(tmp_path / "bright.sqlite") as server:
        yield server


def alive(server: BrightServer, timeout: float = 5) -> bool:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=timeout)
    with contextlib.closing(connection):
        connection.request("GET", "/livez")
        return connection.getresponse().status == 200


def test_it_is_reached_once_started_and_gone_once_stopped(server: BrightServer) -> None:
    assert alive(server)
    assert server.stop() == 0
    assert not server.running
    with pytest.raises(OSError, match="refused"):
        alive(server)


def test_killed_it_comes_back_on_the_same_port_and_file(server: BrightServer) -> None:
    port, store = server.port, server.dump().of("store")
    for _ in range(3):
        server.kill()
        server.start()
    assert server.port == port
    assert server.dump().of("store") == store
    assert alive(server)


def test_paused_it_answers_nothing_and_resumed_it_does(server: BrightServer) -> None:
    server.pause()
    assert server.running
    with pytest.raises(TimeoutError):
        alive(server, timeout=0.3)
    server.resume()
    assert alive(server)


def test_a_paused_server_is_closed_all_the_same(tmp_path: Path) -> None:
    with BrightServer(tmp_path / "bright.sqlite") as server:
        pid = server.pid
        server.pause()
    assert not psutil.pid_exists(pid)
    assert not server.log.exists()


def test_a_binding_is_made_and_revoked_while_it_runs(server: BrightServer) -> None:
    binding = server.create_binding(["1001", "1002"])
    assert binding.accounts == ("1001", "1002")
    assert binding.token
    assert binding.token not in repr(binding)
    server.revoke(binding)


def test_a_dead_servers_store_can_be_read(server: BrightServer) -> None:
    server.kill()
    assert len(server.dump().of("store")) == 1
    assert server.dump().messages == ()


def test_a_server_that_does_not_start_is_told_with_its_own_words(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    server = BrightServer(folder)  # a folder is no database file
    began = time.monotonic()
    with pytest.raises(ServerError, match=r"before it listened .*log ends: bright:"):
        server.start()
    assert time.monotonic() - began < 15
    server.close()


def test_a_command_that_fails_is_told(server: BrightServer) -> None:
    with pytest.raises(ServerError, match=r"`bright binding revoke` ended with status"):
        server.run("binding", "revoke", "bnd_none")


def test_what_does_not_run_is_neither_stopped_nor_signalled(tmp_path: Path) -> None:
    server = BrightServer(tmp_path / "bright.sqlite")
    for act in (server.stop, server.kill, server.pause):
        with pytest.raises(ServerError, match="does not run"):
            act()
    server.close()


def test_one_that_died_by_itself_is_started_again(server: BrightServer) -> None:
    os.kill(server.pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(server.pid)], timeout=5)
    assert not server.running
    server.start()
    assert alive(server)
