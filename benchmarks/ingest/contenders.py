"""The three that do the same work: Bright, the bare WebSocket stack, bare SQLite.

Each runs as a process of its own and is told to do a round at a time; a round whose
counts differ from the plan raises instead of giving a figure.
"""

import dataclasses
import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from benchmarks.children import Child, module, timed
from benchmarks.errors import ChildError, MiscountError
from benchmarks.ingest.figures import Round
from benchmarks.ingest.workload import ACCOUNT, Workload

BRIGHT = module("bright_server")
BATCHES_OF_GROUP = 20
START_SECONDS = 30.0
ROUND_SECONDS = 300.0
PATH = "/v1/extension"


class Contender(Protocol):
    """Something that can do a round of the work."""

    def round(self, workload: Workload) -> Round:
        """Do all of the work once.

        Raises:
            ChildError: if a process of the contender fails.
            MiscountError: if not exactly the planned messages were acknowledged.
        """
        ...


class Bright:
    """A real `bright serve` on a database, driven over its own protocol.

    `database` is what `--database` takes; `stored_bytes` says how large it is.
    """

    def __init__(
        self,
        database: Path | str,
        logs: Path,
        *,
        in_flight: int = 1,
        stored_bytes: Callable[[], int] | None = None,
    ) -> None:
        self._stored_bytes = stored_bytes or partial(disk_bytes, Path(database))
        self._logs = logs
        self._in_flight = in_flight
        self._token = _bind(database)
        self._server = Child(
            [*BRIGHT, "serve", "--database", str(database), "--port", "0", "--json"],
            None,
            logs,
        )
        self._address = _listening(self._server)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()

    def round(self, workload: Workload) -> Round:
        """Send the whole workload; every message must be confirmed."""
        before = self._stored_bytes()
        report = _drive(
            self._server,
            self._address,
            self._token,
            workload,
            self._in_flight,
            self._logs,
        )
        check(report, workload, duplicates=workload.sent - workload.new)
        grown = self._stored_bytes() - before
        return dataclasses.replace(
            round_of(report, workload),
            bytes_per_message=grown / workload.new,
            resident_bytes=self._server.resident_bytes(),
        )


class BareWebSocket:
    """Bright's stack without Bright: frames in, answers out, nothing stored."""

    def __init__(self, logs: Path, *, in_flight: int = 1) -> None:
        self._logs = logs
        self._in_flight = in_flight
        self._server = Child(
            module("benchmarks.ingest.yardsticks.websocket"), None, logs
        )
        self._address = _listening(self._server)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def round(self, workload: Workload) -> Round:
        """Send the whole workload; every message must be answered."""
        report = _drive(
            self._server, self._address, "none", workload, self._in_flight, self._logs
        )
        check(report, workload, duplicates=0)
        return round_of(report, workload)


class BareSqlite:
    """The prepared rows into Bright's own schema, 20 batches a transaction.

    With `numbering` it has to find out which messages are repeats, as a server has.
    """

    def __init__(self, database: Path, logs: Path, *, numbering: bool = False) -> None:
        self._database = database
        self._logs = logs
        self._numbering = numbering

    def round(self, workload: Workload) -> Round:
        """Write the whole workload; every new message must be a row afterwards."""
        before = disk_bytes(self._database)
        config = {
            "database": str(self._database),
            "workload": dataclasses.asdict(workload),
            "batchesOfGroup": BATCHES_OF_GROUP,
            "numbering": self._numbering,
        }
        command = module("benchmarks.ingest.yardsticks.sqlite")
        with Child(command, config, self._logs) as writer:
            report = timed(writer, writer, ROUND_SECONDS)
        check(report, workload, duplicates=workload.sent - workload.new)
        grown = disk_bytes(self._database) - before
        return dataclasses.replace(
            round_of(report, workload), bytes_per_message=grown / workload.new
        )


def create_database(database: Path | str) -> None:
    """Let Bright create its database, with the schema that it ships.

    Raises:
        ChildError: if it does not.
    """
    _bind(database)


def disk_bytes(database: Path) -> int:
    """Bytes of the database on disk once everything in its log is moved into it."""
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    files = (database, database.with_name(database.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _bind(database: Path | str) -> str:
    command = [*BRIGHT, "binding", "create", "--database", str(database)]
    done = subprocess.run(
        [*command, "--account", ACCOUNT, "--label", "bench", "--json"],
        capture_output=True,
        check=False,
        timeout=START_SECONDS,
    )
    if done.returncode != 0:
        wrote = done.stderr.decode(errors="replace").strip()
        raise ChildError(
            f"`bright binding create` ended with {done.returncode}: {wrote}"
        )
    return str(json.loads(done.stdout)["token"])


def _listening(server: Child) -> tuple[str, int]:
    said = server.hear(START_SECONDS)
    return str(said["host"]), int(said["port"])


def _drive(
    server: Child,
    address: tuple[str, int],
    token: str,
    workload: Workload,
    in_flight: int,
    logs: Path,
) -> dict[str, Any]:
    host, port = address
    config = {
        "host": host,
        "port": port,
        "uri": f"ws://{host}:{port}{PATH}",
        "token": token,
        "inFlight": in_flight,
        "workload": dataclasses.asdict(workload),
        "deadlineSeconds": ROUND_SECONDS,
    }
    with Child(module("benchmarks.ingest.load"), config, logs) as load:
        return timed(load, server, ROUND_SECONDS)


def check(report: dict[str, Any], workload: Workload, *, duplicates: int) -> None:
    """Refuse a report whose counts differ from the plan.

    Raises:
        MiscountError: they do.
    """
    counted = (report["confirmed"], report["duplicates"], report["otherwise"])
    if counted != (workload.sent, duplicates, 0):
        raise MiscountError(
            f"of {workload.sent} messages sent, {duplicates} of them twice,"
            f" {counted[0]} were confirmed, {counted[1]} called duplicates and"
            f" {counted[2]} answered otherwise"
        )


def round_of(report: dict[str, Any], workload: Workload) -> Round:
    """Return the figures of a report."""
    return Round(
        messages=workload.sent,
        seconds=report["seconds"],
        p50_ms=report["p50Ms"],
        p99_ms=report["p99Ms"],
        cpu_seconds=report["cpuSeconds"],
        others_share=report["othersShare"],
    )
