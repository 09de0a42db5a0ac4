"""A campaign: many seeds, and of each difference a short case that shows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extension_harness.differential.comparing import Difference, first_difference
from extension_harness.differential.known import KnownDifference
from extension_harness.differential.shrinking import shrink
from extension_harness.differential.sides import Sides

BATCH = 100
"""Cases that one call carries."""
MAX_FINDINGS = 5
"""Differences after which a campaign stops: more of them say no more."""
SHRINK_ROUNDS = 200
FORMAT = "idb-vectors/1"


@dataclass(frozen=True)
class Finding:
    """A difference that is not known, with the short case that shows it."""

    kind: str
    seed: int
    case: Any
    difference: Difference
    browser: Any

    def __str__(self) -> str:
        return (
            f"{self.kind} of seed {self.seed} differs {self.difference}\n"
            f"  shortened: {json.dumps(self.case)}\n"
            f"  again: bright differ --only-{self.kind} {self.seed}"
        )

    def write(self, folder: Path) -> Path:
        """Write the case down and give the file.

        A script becomes a vector file with the browser's outcomes, which ``python -m
        storage_schema.script`` replays; a history its own JSON.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.kind}-{self.seed}.json"
        name = f"{self.kind}{self.seed}"
        vector = {"id": name, "title": "a difference", "seed": self.seed}
        vector |= {self.kind: self.case, **self.browser}
        head = {"category": "difference", "format": FORMAT}
        path.write_text(json.dumps(head | {"vectors": [vector]}), encoding="utf-8")
        return path


@dataclass(frozen=True)
class Report:
    """What a campaign came to: how many cases ran, known differences met, and new."""

    cases: int
    known: dict[str, int]
    findings: tuple[Finding, ...]


def run_campaign(
    sides: Sides,
    seeds: Sequence[int],
    known: Sequence[KnownDifference] = (),
    progress: Callable[[int], object] = lambda _: None,
) -> Report:
    """Run the seeds' cases on both sides; ends early after MAX_FINDINGS differences.

    ``progress`` is told how many cases have run.
    """
    met: dict[str, int] = {}
    findings: list[Finding] = []
    ran = 0
    for start in range(0, len(seeds), BATCH):
        batch = seeds[start : start + BATCH]
        cases = [sides.generate(seed) for seed in batch]
        found = sides.differences(cases)
        ran += len(batch)
        progress(ran)
        for seed, case, difference in zip(batch, cases, found, strict=True):
            if difference is None:
                continue
            finding = _shortened(sides, seed, case, difference)
            entry = _known(known, finding)
            if entry is not None:
                met[entry.name] = met.get(entry.name, 0) + 1
                continue
            findings.append(finding)
            if len(findings) >= MAX_FINDINGS:
                return Report(ran, met, tuple(findings))
    return Report(ran, met, tuple(findings))


def _shortened(sides: Sides, seed: int, case: Any, found: Difference) -> Finding:  # noqa: ANN401 - JSON
    def fails(cases: Sequence[Any]) -> list[bool]:
        return [
            other is not None and other.signature == found.signature
            for other in sides.differences(cases)
        ]

    short = shrink(case, fails, SHRINK_ROUNDS)
    browser, model = sides.run_both([short])[0]
    # Gone when asked alone: what is not the same each time is told as it was.
    again = first_difference(browser, model)
    return Finding(sides.kind, seed, short, again or found, browser)


def _known(
    known: Sequence[KnownDifference], finding: Finding
) -> KnownDifference | None:
    if finding.kind != "script":
        return None
    for entry in known:
        if entry.is_this(finding.case, finding.difference):
            return entry
    return None
