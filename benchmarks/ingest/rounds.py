"""`bright bench ingest`: Bright beside its two yardsticks, round by round in turns.

The three do the same work alternately on one machine, so that what disturbs one
disturbs the others; a figure is a median over the rounds and a ratio is one of medians.
Absolute figures do not transfer to another machine, ratios do.
"""

import dataclasses
import shutil
import statistics
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ingest.contenders import BareSqlite, BareWebSocket, Bright
from benchmarks.ingest.figures import Round, median_of
from benchmarks.ingest.prefill import prefilled
from benchmarks.ingest.workload import Workload
from benchmarks.options import Tell
from benchmarks.quiet import wait_for_quiet
from benchmarks.scratch import scratch

FLAT_SHARE = 1.1
"""Memory is flat when the last rounds use at most this share of what the first used."""


@dataclass(frozen=True)
class IngestPlan:
    """What to measure.

    `rows` are stored before the first round. With `memory` one server and one database
    take all rounds; without it every round has fresh ones. Before each round a quiet
    machine is waited for, `patience_seconds` over all of them.
    """

    workload: Workload = dataclasses.field(default_factory=Workload)
    rounds: int = 5
    rows: int = 0
    in_flight: int = 1
    memory: bool = False
    patience_seconds: float = 0
    directory: Path = Path("var/bench")


@dataclass(frozen=True)
class IngestResult:
    """The rounds of each contender, oldest first."""

    bright: tuple[Round, ...]
    sqlite: tuple[Round, ...]
    numbering: tuple[Round, ...]
    websocket: tuple[Round, ...]

    @property
    def ratio_to_sqlite(self) -> float:
        """Bright's median rate as a share of the rate of prepared rows."""
        bare = median_of(self.sqlite, "per_second")
        return median_of(self.bright, "per_second") / bare

    @property
    def ratio_to_numbering(self) -> float:
        """The same of the bare writer that has to find out which are repeats."""
        bare = median_of(self.numbering, "per_second")
        return median_of(self.bright, "per_second") / bare

    @property
    def memory_growth(self) -> float:
        """The server's memory after the last rounds, as a share of the early ones.

        The first round is left out where there are enough: it fills caches.
        """
        used = [one.resident_bytes or 0 for one in self.bright]
        settled = used[1:] if len(used) > 2 else used
        third = max(1, len(settled) // 3)
        return statistics.median(settled[-third:]) / statistics.median(settled[:third])

    @property
    def memory_is_flat(self) -> bool:
        """Whether the memory stayed within `FLAT_SHARE`."""
        return self.memory_growth <= FLAT_SHARE


def measure(plan: IngestPlan, tell: Tell) -> IngestResult:
    """Run all rounds.

    Args:
        plan: what to measure.
        tell: takes a sentence about each round as it ends.

    Raises:
        BenchError: if a process fails or the counts of a round differ from the plan.
    """
    bright: list[Round] = []
    sqlite: list[Round] = []
    numbering: list[Round] = []
    websocket: list[Round] = []
    with scratch(plan.directory) as folder, _contenders(plan, folder, tell) as start:
        patience = plan.patience_seconds
        for number in range(plan.rounds):
            workload = start.workload(number)
            patience = wait_for_quiet(patience)
            with start.bright() as server:
                bright.append(server.round(workload))
            sqlite.append(start.sqlite().round(workload))
            numbering.append(start.numbering().round(workload))
            with BareWebSocket(folder, in_flight=plan.in_flight) as stack:
                websocket.append(stack.round(workload))
            tell(
                f"round {number + 1} of {plan.rounds}:"
                f" Bright {bright[-1].per_second:,.0f}/s,"
                f" bare SQLite {sqlite[-1].per_second:,.0f}/s,"
                f" bare WebSocket {websocket[-1].per_second:,.0f}/s"
            )
    return IngestResult(
        tuple(bright), tuple(sqlite), tuple(numbering), tuple(websocket)
    )


class _Fresh:
    """Every round on a copy of the prepared database, with a server of its own."""

    def __init__(self, plan: IngestPlan, folder: Path, tell: Tell) -> None:
        self._plan = plan
        self._folder = folder
        self._template = folder / "template.sqlite"
        self._first_batch = prefilled(self._template, plan.workload, plan.rows, tell)

    def workload(self, _: int) -> Workload:
        return dataclasses.replace(self._plan.workload, first_batch=self._first_batch)

    def bright(self) -> AbstractContextManager[Bright]:
        return Bright(
            self._copy("bright"), self._folder, in_flight=self._plan.in_flight
        )

    def sqlite(self) -> BareSqlite:
        return BareSqlite(self._copy("bare"), self._folder)

    def numbering(self) -> BareSqlite:
        return BareSqlite(self._copy("numbering"), self._folder, numbering=True)

    def _copy(self, name: str) -> Path:
        for old in self._folder.glob(f"{name}.sqlite*"):
            old.unlink()
        return Path(shutil.copyfile(self._template, self._folder / f"{name}.sqlite"))


class _Continued:
    """All rounds on one database and one server, which is what shows leaks."""

    def __init__(self, plan: IngestPlan, folder: Path, tell: Tell) -> None:
        self._plan = plan
        bare = folder / "bare.sqlite"
        self._first_batch = prefilled(bare, plan.workload, plan.rows, tell)
        database = shutil.copyfile(bare, folder / "bright.sqlite")
        told = shutil.copyfile(bare, folder / "numbering.sqlite")
        self._sqlite = BareSqlite(bare, folder)
        self._numbering = BareSqlite(told, folder, numbering=True)
        self.server = Bright(database, folder, in_flight=plan.in_flight)

    def workload(self, number: int) -> Workload:
        first = self._first_batch + number * self._plan.workload.batches
        return dataclasses.replace(self._plan.workload, first_batch=first)

    @contextmanager
    def bright(self) -> Iterator[Bright]:
        yield self.server

    def sqlite(self) -> BareSqlite:
        return self._sqlite

    def numbering(self) -> BareSqlite:
        return self._numbering


@contextmanager
def _contenders(
    plan: IngestPlan, folder: Path, tell: Tell
) -> Iterator[_Fresh | _Continued]:
    if not plan.memory:
        yield _Fresh(plan, folder, tell)
        return
    continued = _Continued(plan, folder, tell)
    with continued.server:
        yield continued
