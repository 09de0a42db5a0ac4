"""Several real servers on one database, killed again and again under model clients.

BRIGHT_SOAK=120 lets it run so many seconds with 60 clients, a kill every four seconds.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import pytest

from bright_server.testing.engines.postgresql import postgresql_databases
from bright_server.testing.engines.valkey import Valkey
from extension_harness.load.balancer import Balancer
from extension_harness.load.fleet import Fleet
from extension_harness.load.run import Plan, run

SOAK_SECONDS = float(os.environ.get("BRIGHT_SOAK", "0"))
KILL_EVERY_SECONDS = 4
SERVERS = 3


def plan() -> Plan:
    if SOAK_SECONDS:
        return Plan(
            extensions=60,
            seconds=SOAK_SECONDS,
            seed=5,
            kill_seconds=20,
            message_seconds=2,
            server_kills=round(SOAK_SECONDS / KILL_EVERY_SECONDS),
            rest_seconds=180,
        )
    return Plan(
        extensions=8,
        seconds=4,
        seed=5,
        kill_seconds=2,
        message_seconds=0.3,
        server_kills=2,
        rest_seconds=60,
        alarm_seconds=3,
    )


@contextmanager
def empty(kind: str, folder: Path) -> Iterator[str]:
    if kind == "postgresql":
        with postgresql_databases() as databases:
            yield databases.create_database()
    else:
        with Valkey(folder / "valkey") as valkey:
            yield f"redis://127.0.0.1:{valkey.port}/0"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["postgresql", "redis"])
def test_servers_of_one_database_lose_and_double_nothing_through_kills(
    kind: str, tmp_path: Path
) -> None:
    """MS-20, OT-01, OT-18: no loss, no double, no number twice or left out."""
    with (
        empty(kind, tmp_path) as database,
        Fleet(database, SERVERS, Random(5)) as fleet,  # noqa: S311 - chance
    ):
        report = run(fleet, plan())
        given = fleet.given

    assert report.holds, report.faults
    assert report.messages > 100
    least = max(1, plan().server_kills // 3)
    assert report.server_kills >= least, "hardly a server was killed"
    assert all(given), f"a server was given no connection: {given}"


def test_several_servers_on_a_file_are_refused() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "extension_harness.load", "--servers", "3"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 1
    assert "a file has one server" in run.stdout


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("redis://u:hunter2@127.0.0.1:1/0", "a password does not belong into"),
        ("memory:", "memory: ends with each kill"),
        ("redis://127.0.0.1:1/0", "ended before it listened"),
    ],
)
def test_a_database_that_cannot_be_used_is_said_with_no_secret_in_the_words(
    address: str, words: str
) -> None:
    run = subprocess.run(
        [
            *(sys.executable, "-m", "extension_harness.load"),
            *("--servers", "2", "--database", address),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 1
    said = run.stdout + run.stderr
    assert words in said
    assert "hunter2" not in said
    assert "never awaited" not in said


def test_a_balancer_passes_over_whoever_takes_no_connections() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as closed:
        dead = closed.getsockname()[1]
    with closing(socket.create_server(("127.0.0.1", 0))) as living:
        port = living.getsockname()[1]
        threading.Thread(target=_echo, args=(living,), daemon=True).start()
        chance = Random(1)  # noqa: S311 - no secrecy
        with Balancer("127.0.0.1", [dead, port], chance) as balancer:
            for _ in range(4):
                address = ("127.0.0.1", balancer.port)
                with closing(socket.create_connection(address, 10)) as connection:
                    connection.sendall(b"x")
                    assert connection.recv(1) == b"x"
            given = dict(balancer.given)

    assert given == {dead: 0, port: 4}


def _echo(server: socket.socket) -> None:
    for _ in range(4):
        connection, _ = server.accept()
        with closing(connection):
            connection.sendall(connection.recv(1))
