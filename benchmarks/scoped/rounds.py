"""`bright bench scoped-reads`: one account's pending, alone and among everybody else's.

Two Chromiums, one with the account alone and one with the others' records too, and the
model with the same two databases; they take turns. A figure is a median over the rounds
and a ratio is one of medians. All ways must give the same records.
"""

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.children import Child, module
from benchmarks.errors import MiscountError
from benchmarks.options import Tell
from benchmarks.quiet import Meter, wait_for_quiet
from benchmarks.scoped.in_browser import InBrowser, in_browser
from benchmarks.scoped.work import READS, ScopedWork
from benchmarks.scratch import scratch

FILL_SECONDS = 1_200.0
ROUND_SECONDS = 600.0
SIDES = ("browser", "model")

_Report = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class ScopedPlan:
    """What to measure; a quiet machine is waited for before each round."""

    work: ScopedWork = field(default_factory=ScopedWork)
    rounds: int = 5
    patience_seconds: float = 0
    directory: Path = Path("var/bench")


@dataclass(frozen=True)
class ReadRound:
    """One round: milliseconds of each read, by read and then by where.

    Where is `alone` or `among`; `bare` is the time of the same requests made by hand,
    empty in the model.
    """

    verb: dict[str, dict[str, float]]
    bare: dict[str, dict[str, float]]


@dataclass(frozen=True)
class WriteRound:
    """One round of strict writes: records, and the seconds of both ways."""

    records: int
    verb_seconds: float
    bare_seconds: float


@dataclass(frozen=True)
class ScopedResult:
    """The rounds, oldest first, and what others took of the CPUs meanwhile."""

    browser: tuple[ReadRound, ...]
    model: tuple[ReadRound, ...]
    writes: tuple[WriteRound, ...]
    chromium: str
    others_share: float

    def verb_ms(self, side: str, read: str, where: str) -> float:
        """Median milliseconds of a verb."""
        return statistics.median(one.verb[read][where] for one in self._of(side))

    def bare_ms(self, read: str, where: str) -> float:
        """Median milliseconds of the same requests by hand, in Chromium."""
        return statistics.median(one.bare[read][where] for one in self.browser)

    def ratio(self, side: str, read: str) -> float:
        """What the others cost: the time among them as a share of the time alone."""
        alone = self.verb_ms(side, read, "alone")
        return self.verb_ms(side, read, "among") / alone

    def highest_ratio(self, sides: Iterable[str] = SIDES) -> float:
        """The ratio of the read to which the others do most."""
        return max(self.ratio(side, read) for side in sides for read in READS)

    def of_bare(self, read: str) -> float:
        """The verb's time among the others as a share of the bare requests' time."""
        return self.verb_ms("browser", read, "among") / self.bare_ms(read, "among")

    @property
    def records_per_second(self) -> tuple[float, float]:
        """Median rates of `recordBatch` and of the same records put by hand."""
        verb = statistics.median(one.records / one.verb_seconds for one in self.writes)
        bare = statistics.median(one.records / one.bare_seconds for one in self.writes)
        return verb, bare

    @property
    def write_ratio(self) -> float:
        """The rate of `recordBatch` as a share of the bare strict writes' rate."""
        verb, bare = self.records_per_second
        return verb / bare

    def _of(self, side: str) -> tuple[ReadRound, ...]:
        return self.browser if side == "browser" else self.model


def measure(plan: ScopedPlan, tell: Tell) -> ScopedResult:
    """Fill everything and run all rounds.

    Raises:
        BenchError: if Chromium or the model fails, or what was read or written is not
            what the plan says, everywhere the same.
    """
    run = _Run(plan, tell)
    with scratch(plan.directory) as folder:
        model = run.model(folder)
        with (
            in_browser(folder / "alone", plan.work) as alone,
            in_browser(folder / "among", plan.work) as among,
        ):
            alone.fill(plan.work, others=False, tell=tell)
            among.fill(plan.work, others=True, tell=tell)
            return ScopedResult(
                browser=run.browser(alone, among),
                model=model,
                writes=run.writes(alone),
                chromium=alone.version,
                others_share=statistics.median(run.meter.shares),
            )


class _Run:
    """One run: what its rounds have in common."""

    def __init__(self, plan: ScopedPlan, tell: Tell) -> None:
        self._plan = plan
        self._tell = tell
        self._same = Same(plan.work)
        self._patience = plan.patience_seconds
        self.meter = Meter()

    def model(self, folder: Path) -> tuple[ReadRound, ...]:
        work, done = self._plan.work, list[ReadRound]()
        self._tell(f"the model takes {work.others:,} records of others into each store")
        with Child(module("benchmarks.scoped.in_model"), work.to_plan(), folder) as one:
            one.hear(FILL_SECONDS)
            for number in self._rounds():
                with self.meter.span():
                    one.tell("round")
                    report = one.hear(ROUND_SECONDS)
                done.append(self._read(number, "model", report))
        return tuple(done)

    def browser(self, alone: InBrowser, among: InBrowser) -> tuple[ReadRound, ...]:
        done: list[ReadRound] = []
        places = {"alone": alone, "among": among}
        for number in self._rounds():
            with self.meter.span():
                report = {
                    where: places[where].reads(number)
                    for where in sorted(places, reverse=bool(number % 2))
                }
            done.append(self._read(number, "Chromium", report))
        return tuple(done)

    def writes(self, browser: InBrowser) -> tuple[WriteRound, ...]:
        done: list[WriteRound] = []
        for number in self._rounds():
            with self.meter.span():
                report = browser.writes(number)
            done.append(written(self._plan.work, report))
            self._tell(
                f"round {number + 1}: {done[-1].records:,} records written in"
                f" {done[-1].verb_seconds:.2f} s, by hand {done[-1].bare_seconds:.2f} s"
            )
        return tuple(done)

    def _rounds(self) -> Iterator[int]:
        for number in range(self._plan.rounds):
            self._patience = wait_for_quiet(self._patience)
            yield number

    def _read(self, number: int, who: str, report: _Report) -> ReadRound:
        for where, answers in report.items():
            self._same.check(f"in {who} ({where})", answers)
        self._tell(
            f"{who}, round {number + 1} of {self._plan.rounds}, ms alone and among: "
            + ", ".join(
                f"{read} {report['alone'][read]['verbMs']:.2f}"
                f" {report['among'][read]['verbMs']:.2f}"
                for read in READS
            )
        )
        return ReadRound(verb=_times(report, "verbMs"), bare=_times(report, "bareMs"))


class Same:
    """Holds every answer against the first one of the same read, and its count."""

    def __init__(self, work: ScopedWork) -> None:
        self._work = work
        self._digests: dict[str, str] = {}

    def check(self, who: str, answers: dict[str, dict[str, Any]]) -> None:
        """Check a round's answers, by read.

        Raises:
            MiscountError: if one has another count than planned or other records than
                whoever was first.
        """
        for read, answer in answers.items():
            planned = self._work.found(read)
            if answer["found"] != planned:
                raise MiscountError(
                    f"{read} {who} gives {answer['found']} instead of {planned}"
                )
            first = self._digests.setdefault(read, answer["verbDigest"])
            if {answer["verbDigest"], answer.get("bareDigest", first)} != {first}:
                raise MiscountError(f"{read} {who} gives as many, but not the same")


def written(work: ScopedWork, report: dict[str, Any]) -> WriteRound:
    """A round of writes, if both ways left what is planned.

    Raises:
        MiscountError: if they did not.
    """
    # Of each batch its messages, a candidate of each, and a checkpoint.
    planned = work.batches * (2 * work.batch_messages + 1)
    if report["records"] != planned:
        raise MiscountError(f"{report['records']} records written, not {planned}")
    if report["verbDigest"] != report["bareDigest"]:
        raise MiscountError("recordBatch and the writes by hand left other records")
    return WriteRound(planned, report["verbSeconds"], report["bareSeconds"])


def _times(report: _Report, what: str) -> dict[str, dict[str, float]]:
    """Milliseconds by read and where; nothing where they were not measured."""
    return {
        read: {
            where: answers[read][what]
            for where, answers in report.items()
            if what in answers[read]
        }
        for read in READS
    }
