"""Many histories, over all the processors there are."""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field

from extension_harness.simulation.history import Outcome, run
from extension_harness.simulation.plants import planted
from extension_harness.simulation.scenario import drawn

_CHUNK = 25
_MOST_FAILURES = 10
"""Failing histories that are kept; the others are counted."""


@dataclass(slots=True)
class Tally:
    """What histories came to; those of a chunk, or of all."""

    histories: int = 0
    steps: int = 0
    failures: list[Outcome] = field(default_factory=list)
    failed: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    digests: dict[int, str] = field(default_factory=dict)
    """By seed."""
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Count one history."""
        self.histories += 1
        self.steps += outcome.steps
        self.faults.update(outcome.faults)
        if outcome.scenario.blocked:
            self.faults["upgrade_blocked"] += 1
        if len(outcome.scenario.device_accounts) > 1:
            self.faults["several_devices"] += 1
        if outcome.scenario.is_page_shuffled:
            self.faults["rows_in_any_order"] += 1
        self.digests[outcome.scenario.seed] = outcome.digest
        if outcome.violation is not None:
            self.failed += 1
            if len(self.failures) < _MOST_FAILURES:
                self.failures.append(outcome)

    def join(self, other: Tally) -> None:
        """Count what another tally has counted."""
        self.histories += other.histories
        self.steps += other.steps
        self.failed += other.failed
        self.faults += other.faults
        self.digests |= other.digests
        room = _MOST_FAILURES - len(self.failures)
        self.failures += other.failures[: max(0, room)]

    @property
    def rate(self) -> float:
        """Return histories a second."""
        return self.histories / self.seconds if self.seconds else 0.0

    @property
    def digest(self) -> str:
        """Name all of it: equal campaigns have equal digests."""
        text = "".join(f"{seed}={self.digests[seed]};" for seed in sorted(self.digests))
        return hashlib.sha256(text.encode()).hexdigest()


def run_seeds(seeds: range, plant: str = "", *, first_only: bool = False) -> Tally:
    """Run histories in this process, up to the first failure if that is enough."""
    tally = Tally()
    began = time.perf_counter()
    for seed in seeds:
        tally.add(run(drawn(seed), planted(plant)))
        if first_only and tally.failed:
            break
    tally.seconds = time.perf_counter() - began
    return tally


def run_campaign(
    first_seed: int,
    histories: int,
    *,
    plant: str = "",
    processes: int | None = None,
    first_only: bool = False,
    progress: Callable[[Tally], object] = lambda _tally: None,
) -> Tally:
    """Run the histories of consecutive seeds; `first_only` ends it at a failure.

    `progress` is told of what was counted so far.
    """
    count = processes or os.cpu_count() or 1
    seeds = range(first_seed, first_seed + histories)
    if count == 1 or histories <= _CHUNK:
        tally = run_seeds(seeds, plant, first_only=first_only)
        progress(tally)
        return tally
    total = Tally()
    began = time.perf_counter()
    # Not forked: the process that asks may have threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, context, initializer=_begin) as pool:
        chunks = _chunks(seeds)
        waiting: set[Future[Tally]] = set()
        while True:
            while len(waiting) < count * 2 and (chunk := next(chunks, None)):
                waiting.add(pool.submit(run_seeds, chunk, plant, first_only=first_only))
            if not waiting:
                break
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in done:
                total.join(each.result())
            total.seconds = time.perf_counter() - began
            progress(total)
            if first_only and total.failed:
                chunks = iter(())
    total.failures.sort(key=lambda each: each.scenario.seed)
    return total


def _begin() -> None:
    """A process that does nothing else: what is loaded now is never thrown away."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _chunks(seeds: range) -> Iterator[range]:
    for start in range(0, len(seeds), _CHUNK):
        yield seeds[start : start + _CHUNK]
