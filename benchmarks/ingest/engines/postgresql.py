"""PostgreSQL: each round on a fresh database of one server."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.children import Child, module, timed
from benchmarks.errors import WorkloadError
from benchmarks.ingest.contenders import (
    BATCHES_OF_GROUP,
    ROUND_SECONDS,
    Bright,
    check,
    create_database,
    round_of,
)
from benchmarks.ingest.engines.watching import watched
from benchmarks.ingest.figures import Round
from benchmarks.ingest.workload import Workload
from bright_server.database_address import PostgresqlServer as ServerAddress
from bright_server.testing.engines.errors import EngineError
from bright_server.testing.engines.postgresql import GivenServer, PostgresqlServer

_SIZE = "SELECT pg_database_size(current_database())"
_WRITTEN = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"
_LOOKS = 10
# What a small server of production has; durability is the server's own default.
_OPTIONS = {"shared_buffers": "256MB", "max_wal_size": "4GB", "wal_buffers": "16MB"}


class BarePostgresql:
    """The prepared rows into Bright's own schema, 20 batches a transaction."""

    def __init__(self, address: str, logs: Path) -> None:
        self._address = address
        self._logs = logs

    def round(self, workload: Workload) -> Round:
        """Write the whole workload; every new message must be a row afterwards."""
        size = _asking(self._address, _SIZE)
        before = size()
        config = {
            "address": self._address,
            "workload": dataclasses.asdict(workload),
            "batchesOfGroup": BATCHES_OF_GROUP,
        }
        command = module("benchmarks.ingest.yardsticks.postgresql")
        with Child(command, config, self._logs) as writer:
            report = timed(writer, writer, ROUND_SECONDS)
        check(report, workload, duplicates=workload.sent - workload.new)
        return dataclasses.replace(
            round_of(report, workload),
            bytes_per_message=(size() - before) / workload.new,
        )


class PostgresqlEngine:
    """A server on which each round has a database of its own."""

    def __init__(self, server: PostgresqlServer | GivenServer, folder: Path) -> None:
        self._server = server
        self._folder = folder

    def bright(self, workload: Workload, in_flight: int) -> Round:
        """Let Bright do a round."""
        address = self._server.create_database()

        def do() -> Round:
            size = _asking(address, _SIZE)
            with Bright(
                address, self._folder, in_flight=in_flight, stored_bytes=size
            ) as server:
                return server.round(workload)

        return self._watched(address, workload, do)

    def bare(self, workload: Workload) -> Round:
        """Let the bare writer do a round."""
        address = self._server.create_database()
        create_database(address)
        writer = BarePostgresql(address, self._folder)
        return self._watched(address, workload, lambda: writer.round(workload))

    def _watched(
        self, address: str, workload: Workload, do: Callable[[], Round]
    ) -> Round:
        return watched(workload, do, self._cpu_seconds, _asking(address, _WRITTEN))

    def _cpu_seconds(self) -> float | None:
        if not isinstance(self._server, PostgresqlServer):
            return None
        for _ in range(_LOOKS):
            # A session that ends meanwhile is looked for again, among the ended.
            with suppress(psutil.NoSuchProcess):
                return _used_seconds(psutil.Process(self._server.pid))
        return None


@contextmanager
def opened(given: ServerAddress | None, folder: Path) -> Iterator[PostgresqlEngine]:
    """Hold a server: the one that is given, or one from the wheel in this folder.

    Raises:
        WorkloadError: it cannot be used.
    """
    try:
        if given is None:
            # As root the server runs as another user, who has to get there.
            folder.chmod(0o711)
            with PostgresqlServer(folder / "postgresql", options=_OPTIONS) as own:
                yield PostgresqlEngine(own, folder)
            return
        with GivenServer(str(given)) as server:
            yield PostgresqlEngine(server, folder)
    except (EngineError, psycopg.Error) as error:
        raise WorkloadError(f"PostgreSQL: {error}") from error


def _used_seconds(first: psutil.Process) -> float:
    """Return the CPU of a server's processes, of those that have ended too."""
    ended = first.cpu_times()
    used = [each.cpu_times() for each in (first, *first.children(recursive=True))]
    living = sum(times.user + times.system for times in used)
    return float(living + ended.children_user + ended.children_system)


def _asking(address: str, query: str) -> Callable[[], int]:
    """Return what asks a database for a number."""

    def ask() -> int:
        with closing(psycopg.connect(address)) as connection:
            row: Any = connection.execute(query.encode()).fetchone()
        return int(row[0])

    return ask
