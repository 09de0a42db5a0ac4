"""`bright bench model`: the model of IndexedDB beside fake-indexeddb, in turns.

Each round gives both a process of its own and the same plan; who goes first alternates.
A figure is a median over the rounds and a ratio is one of medians.
"""

import json
import shutil
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.children import Child, module, timed
from benchmarks.errors import MiscountError, WorkloadError
from benchmarks.model.work import ADDED, INDEXES, ModelWork
from benchmarks.options import Tell
from benchmarks.quiet import wait_for_quiet
from benchmarks.scratch import scratch

PARTS = ("puts", "reads", "upgrade")
ROUND_SECONDS = 600.0
_ROOT = Path(__file__).resolve().parents[2]
FAKE_INDEXEDDB = _ROOT / "extension_harness/node_modules/fake-indexeddb"


@dataclass(frozen=True)
class ModelPlan:
    """What to measure; a quiet machine is waited for before each round."""

    work: ModelWork = field(default_factory=ModelWork)
    rounds: int = 5
    patience_seconds: float = 0
    directory: Path = Path("var/bench")


@dataclass(frozen=True)
class ModelRound:
    """What one contender did in one round: seconds, counts and digests by part."""

    seconds: dict[str, float]
    found: dict[str, tuple[int, str]]
    cpu_seconds: float
    others_share: float
    runtime: str = ""

    @property
    def total(self) -> float:
        """Seconds of all parts."""
        return sum(self.seconds.values())


@dataclass(frozen=True)
class ModelResult:
    """The rounds of both, oldest first."""

    ours: tuple[ModelRound, ...]
    theirs: tuple[ModelRound, ...]
    fake_indexeddb: str

    def ratio(self, part: str) -> float:
        """Their median seconds as a share of ours: 1 or more is not slower."""
        theirs = statistics.median(one.seconds[part] for one in self.theirs)
        return theirs / statistics.median(one.seconds[part] for one in self.ours)

    @property
    def total_ratio(self) -> float:
        """The same for all parts together."""
        theirs = statistics.median(one.total for one in self.theirs)
        return theirs / statistics.median(one.total for one in self.ours)

    @property
    def lowest_ratio(self) -> float:
        """The ratio of the part in which the model does worst."""
        return min(self.ratio(part) for part in PARTS)


def measure(plan: ModelPlan, tell: Tell) -> ModelResult:
    """Run all rounds.

    Raises:
        BenchError: if a process fails, a part is missing on this machine, or the two
            did not find the same, which is what the plan says.
    """
    node, package = _node(), _package()
    done: dict[str, list[ModelRound]] = {"ours": [], "theirs": []}
    with scratch(plan.directory) as folder:
        file = folder / "plan.json"
        file.write_text(json.dumps(plan.work.to_plan()), encoding="utf-8")
        entry = (FAKE_INDEXEDDB / package["module"]).as_uri()
        config = {"plan": str(file), "module": entry}
        script = Path(__file__).with_name("in_node.mjs")
        commands = {
            "ours": module("benchmarks.model.in_python"),
            "theirs": [node, str(script)],
        }
        patience = plan.patience_seconds
        for number in range(plan.rounds):
            patience = wait_for_quiet(patience)
            for name in sorted(commands, reverse=bool(number % 2)):
                with Child(commands[name], config, folder) as child:
                    done[name].append(_round(timed(child, child, ROUND_SECONDS)))
            check(plan.work, done["ours"][-1], done["theirs"][-1])
            tell(f"round {number + 1} of {plan.rounds}: {_line(done)}")
    return ModelResult(tuple(done["ours"]), tuple(done["theirs"]), package["version"])


def check(work: ModelWork, ours: ModelRound, theirs: ModelRound) -> None:
    """Hold what both found against each other and against the plan.

    Raises:
        MiscountError: if it differs.
    """
    planned = {
        "puts": work.records * len(INDEXES),
        "reads": work.hits,
        "upgrade": work.records * len(ADDED),
    }
    for part in PARTS:
        counts = (ours.found[part][0], theirs.found[part][0])
        if counts != (planned[part],) * 2:
            raise MiscountError(
                f"{part}: {planned[part]} entries or hits are planned, the model has"
                f" {counts[0]} and fake-indexeddb {counts[1]}"
            )
        if ours.found[part] != theirs.found[part]:
            raise MiscountError(
                f"{part}: the model and fake-indexeddb give as many, but not the same"
            )


def find_node() -> str | None:
    """The Node of this environment, else the system's, else None."""
    beside_python = str(Path(sys.executable).parent)
    return shutil.which("node", path=beside_python) or shutil.which("node")


def _node() -> str:
    node = find_node()
    if node is None:
        raise WorkloadError("no node: `make setup` puts it beside this Python")
    return node


def _package() -> dict[str, Any]:
    try:
        found = json.loads((FAKE_INDEXEDDB / "package.json").read_bytes())
    except OSError as cause:
        raise WorkloadError(
            f"no fake-indexeddb ({cause}): `make setup` installs it"
        ) from cause
    return dict(found)


def _round(report: dict[str, Any]) -> ModelRound:
    parts = report["parts"]
    return ModelRound(
        seconds={part: float(parts[part]["seconds"]) for part in PARTS},
        found={part: (parts[part]["counted"], parts[part]["digest"]) for part in PARTS},
        cpu_seconds=report["cpuSeconds"],
        others_share=report["othersShare"],
        runtime=report["runtime"],
    )


def _line(done: dict[str, list[ModelRound]]) -> str:
    return "; ".join(
        f"{part} {done['ours'][-1].seconds[part]:.3f} s,"
        f" fake-indexeddb {done['theirs'][-1].seconds[part]:.3f} s"
        for part in PARTS
    )
