"""`bright bench ingest --database …`: beside a bare writer on the same server.

For databases that are servers: PostgreSQL and Redis. As for SQLite, the contenders take
turns on one machine, each round on a fresh database; a ratio is one of medians.
"""

import dataclasses
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.errors import WorkloadError
from benchmarks.ingest.contenders import BareWebSocket
from benchmarks.ingest.engines import postgresql, redis
from benchmarks.ingest.figures import Round, median_of
from benchmarks.ingest.workload import Workload
from benchmarks.options import Tell
from benchmarks.quiet import wait_for_quiet
from benchmarks.scratch import scratch
from bright_server.database_address import (
    PostgresqlServer,
    RedisServer,
    database_address,
)

POSTGRESQL = "postgresql"
REDIS = "redis"


class Engine(Protocol):
    """A database on which both contenders do their rounds."""

    def bright(self, workload: Workload, in_flight: int) -> Round:
        """Let Bright do a round on a fresh database."""
        ...

    def bare(self, workload: Workload) -> Round:
        """Let the bare writer do a round on a fresh database."""
        ...


@dataclass(frozen=True)
class SharedPlan:
    """What to measure; `database` is an engine's name, or the address of a server."""

    database: str = POSTGRESQL
    workload: Workload = dataclasses.field(default_factory=Workload)
    rounds: int = 5
    in_flight: int = 1
    patience_seconds: float = 0
    directory: Path = Path("var/bench")

    @property
    def engine(self) -> str:
        """The engine's name."""
        return REDIS if self.database.startswith(REDIS) else POSTGRESQL


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
            bright.append(engine.bright(plan.workload, plan.in_flight))
            bare.append(engine.bare(plan.workload))
            with BareWebSocket(folder, in_flight=plan.in_flight) as stack:
                websocket.append(stack.round(plan.workload))
            tell(
                f"round {number + 1} of {plan.rounds}:"
                f" Bright {bright[-1].per_second:,.0f}/s,"
                f" bare {plan.engine} {bare[-1].per_second:,.0f}/s,"
                f" bare WebSocket {websocket[-1].per_second:,.0f}/s"
            )
    return SharedResult(tuple(bright), tuple(bare), tuple(websocket))


def _engine(plan: SharedPlan, folder: Path) -> AbstractContextManager[Engine]:
    """Return what opens the engine; a text that is none may hold a secret: unsaid.

    Raises:
        WorkloadError: there is no such engine, or the address holds a password.
    """
    if plan.database == POSTGRESQL:
        return postgresql.opened(None, folder)
    if plan.database == REDIS:
        return redis.opened(None, folder)
    try:
        address = database_address(plan.database)
    except ValueError as error:
        raise WorkloadError(f"--database cannot be used: {error}") from None
    if isinstance(address, PostgresqlServer):
        return postgresql.opened(address, folder)
    if isinstance(address, RedisServer):
        return redis.opened(address, folder)
    raise WorkloadError(
        "no engine has this name: give sqlite, postgresql, redis or an address"
        " postgresql://USER@HOST:PORT/NAME or redis://HOST:PORT/NUMBER"
    )
