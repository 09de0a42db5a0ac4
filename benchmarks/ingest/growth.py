"""`bright bench growth`: does Bright slow down as its history grows?

Two databases, one with little history and one with much, take the same rounds in
turns; the figure is the share of the rate that is left. Keys that lie in random order
fail this.
"""

import dataclasses
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ingest.contenders import Bright
from benchmarks.ingest.figures import Round, median_of
from benchmarks.ingest.prefill import prefilled
from benchmarks.ingest.workload import Workload
from benchmarks.quiet import wait_for_quiet
from benchmarks.scratch import scratch


@dataclass(frozen=True)
class GrowthPlan:
    """What to compare: `small` and `large` are rows stored before the rounds."""

    workload: Workload = dataclasses.field(default_factory=Workload)
    rounds: int = 5
    small: int = 100_000
    large: int = 1_500_000
    in_flight: int = 1
    patience_seconds: float = 0
    directory: Path = Path("var/bench")


@dataclass(frozen=True)
class GrowthResult:
    """The rounds on the small and on the large database."""

    small: tuple[Round, ...]
    large: tuple[Round, ...]

    @property
    def ratio(self) -> float:
        """The rate on the large database as a share of that on the small one."""
        small = median_of(self.small, "per_second")
        return median_of(self.large, "per_second") / small


def measure(plan: GrowthPlan, tell: Callable[[str], None]) -> GrowthResult:
    """Fill both databases and run all rounds.

    The small database is a fresh copy each round, so that it stays small; the large one
    goes on. Both get a server of their own each round.

    Raises:
        BenchError: if a process fails or the counts of a round differ from the plan.
    """
    small: list[Round] = []
    large: list[Round] = []
    with scratch(plan.directory) as folder:
        template, copy = folder / "template.sqlite", folder / "small.sqlite"
        much = folder / "large.sqlite"
        small_first = prefilled(template, plan.workload, plan.small, tell)
        large_first = prefilled(much, plan.workload, plan.large, tell)
        patience = plan.patience_seconds
        for number in range(plan.rounds):
            patience = wait_for_quiet(patience)
            for old in folder.glob("small.sqlite*"):
                old.unlink()
            shutil.copyfile(template, copy)
            small.append(_round(plan, copy, small_first))
            first = large_first + number * plan.workload.batches
            large.append(_round(plan, much, first))
            tell(
                f"round {number + 1} of {plan.rounds}:"
                f" {small[-1].per_second:,.0f}/s at {plan.small:,} rows,"
                f" {large[-1].per_second:,.0f}/s at {plan.large:,} rows"
            )
    return GrowthResult(tuple(small), tuple(large))


def _round(plan: GrowthPlan, database: Path, first_batch: int) -> Round:
    workload = dataclasses.replace(plan.workload, first_batch=first_batch)
    with Bright(database, database.parent, in_flight=plan.in_flight) as server:
        return server.round(workload)
