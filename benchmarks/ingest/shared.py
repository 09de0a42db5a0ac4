"""`bright bench ingest --database postgresql`: beside a bare writer on the same server.

As for SQLite, the contenders take turns on one machine, each round on a fresh database
of one server; a ratio is one of medians.
"""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.children import Child, module, timed
from benchmarks.errors import WorkloadError
from benchmarks.ingest.contenders import (
    BATCHES_OF_GROUP,
    ROUND_SECONDS,
    BareWebSocket,
    Bright,
    check,
    create_database,
    round_of,
)
from benchmarks.ingest.figures import Round, median_of
from benchmarks.ingest.workload import Workload
from benchmarks.options import Tell
from benchmarks.quiet import wait_for_quiet
from benchmarks.scratch import scratch
from bright_server.database_address import PostgresqlServer as ServerAddress
from bright_server.database_address import database_address
from bright_server.testing.engines.errors import EngineError
from bright_server.testing.engines.postgresql import GivenServer, PostgresqlServer

ENGINE = "postgresql"
# What a small server of production has; durability is the server's own default.
_SIZE = "SELECT pg_database_size(current_database())"
_OPTIONS = {"shared_buffers": "256MB", "max_wal_size": "4GB", "wal_buffers": "16MB"}


@dataclass(frozen=True)
class SharedPlan:
    """What to measure; `database` is `postgresql`, or the address of a server."""

    database: str = ENGINE
    workload: Workload = dataclasses.field(default_factory=Workload)
    rounds: int = 5
    in_flight: int = 1
    patience_seconds: float = 0
    directory: Path = Path("var/bench")

    @property
    def engine(self) -> str:
        """The engine's name."""
        return ENGINE


@dataclass(frozen=True)
class SharedResult:
    """The rounds of each contender, oldest first."""

    bright: tuple[Round, ...]
    bare: tuple[Round, ...]
    websocket: tuple[Round, ...]

    @property
    def ratio_to_bare(self) -> float:
        """Bright's median rate as a share of the bare writer's."""
        bare = median_of(self.bare, "per_second")
        return median_of(self.bright, "per_second") / bare


def measure(plan: SharedPlan, tell: Tell) -> SharedResult:
    """Run all rounds.

    Raises:
        BenchError: if a process fails or the counts of a round differ from the plan.
    """
    bright: list[Round] = []
    bare: list[Round] = []
    websocket: list[Round] = []
    patience = plan.patience_seconds
    with scratch(plan.directory) as folder, _engine(plan, folder) as engine:
        for number in range(plan.rounds):
            patience = wait_for_quiet(patience)
            bright.append(engine.bright(plan, folder))
            bare.append(engine.bare(plan, folder))
            with BareWebSocket(folder, in_flight=plan.in_flight) as stack:
                websocket.append(stack.round(plan.workload))
            tell(
                f"round {number + 1} of {plan.rounds}:"
                f" Bright {bright[-1].per_second:,.0f}/s,"
                f" bare {plan.engine} {bare[-1].per_second:,.0f}/s,"
                f" bare WebSocket {websocket[-1].per_second:,.0f}/s"
            )
    return SharedResult(tuple(bright), tuple(bare), tuple(websocket))


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


class _Engine:
    """A server on which each round has a database of its own."""

    def __init__(self, server: PostgresqlServer | GivenServer) -> None:
        self._server = server

    def bright(self, plan: SharedPlan, folder: Path) -> Round:
        address = self._server.create_database()

        def do() -> Round:
            size = _asking(address, _SIZE)
            with Bright(
                address, folder, in_flight=plan.in_flight, stored_bytes=size
            ) as server:
                return server.round(plan.workload)

        return self._watched(address, plan.workload, do)

    def bare(self, plan: SharedPlan, folder: Path) -> Round:
        address = self._server.create_database()
        create_database(address)
        writer = BarePostgresql(address, folder)
        return self._watched(
            address, plan.workload, lambda: writer.round(plan.workload)
        )

    def _watched(
        self, address: str, workload: Workload, do: Callable[[], Round]
    ) -> Round:
        """Add what the server itself took, its start of a database included."""
        written = _asking(address, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
        log, cpu = written(), self._cpu_seconds()
        done = do()
        took = None if cpu is None else (self._cpu_seconds() or 0) - cpu
        return dataclasses.replace(
            done,
            engine_cpu_seconds=took,
            log_bytes_per_message=(written() - log) / workload.new,
        )

    def _cpu_seconds(self) -> float | None:
        """CPU of the server's processes, of those that have ended too."""
        if not isinstance(self._server, PostgresqlServer):
            return None
        first = psutil.Process(self._server.pid)
        ended = first.cpu_times()
        used = [each.cpu_times() for each in (first, *first.children(recursive=True))]
        living = sum(times.user + times.system for times in used)
        return float(living + ended.children_user + ended.children_system)


@contextmanager
def _engine(plan: SharedPlan, folder: Path) -> Iterator[_Engine]:
    try:
        if plan.database == ENGINE:
            # As root the server runs as another user, who has to get there.
            folder.chmod(0o711)
            with PostgresqlServer(folder / "postgresql", options=_OPTIONS) as own:
                yield _Engine(own)
            return
        with GivenServer(_address(plan.database)) as given:
            yield _Engine(given)
    except (EngineError, psycopg.Error) as error:
        raise WorkloadError(f"PostgreSQL: {error}") from error


def _address(text: str) -> str:
    """Return the address of a server; what is none may hold a secret, so it is unsaid.

    Raises:
        WorkloadError: it is none, or it holds a password.
    """
    try:
        address = database_address(text)
    except ValueError as error:
        raise WorkloadError(f"--database cannot be used: {error}") from None
    if not isinstance(address, ServerAddress):
        raise WorkloadError(
            "no engine has this name: give sqlite, postgresql or an address"
            " postgresql://USER@HOST:PORT/NAME"
        )
    return str(address)


def _asking(address: str, query: str) -> Callable[[], int]:
    """Return what asks a database for a number."""

    def ask() -> int:
        with closing(psycopg.connect(address)) as connection:
            row: Any = connection.execute(query.encode()).fetchone()
        return int(row[0])

    return ask
