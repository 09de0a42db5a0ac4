"""One history from its seed to its end: chosen, written down, or played again.

A history has two parts. In the first the scheduler chooses, faults among the rest. In
the second nothing more goes wrong and everything possible happens in turn, until all is
as it has to be: what is not there by then is lost.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final

from extension_harness.simulation.course import Choice, Course
from extension_harness.simulation.narration import told
from extension_harness.simulation.plants import Plant
from extension_harness.simulation.rest import faults_at_rest
from extension_harness.simulation.scenario import Scenario
from extension_harness.simulation.violation import Violation
from extension_harness.simulation.world import World

_INSTANTS: Final = (None, None, "step", "step", "answer", "down", "up", "write")
"""After what a fault strikes: a death just there finds more than one anywhere."""
_MOST_STEPS_AT_REST: Final = 20_000
_PATIENCE_MS: Final = 15 * 60_000
"""How long, in simulated time, everything has to come right after the last fault."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a history."""

    scenario: Scenario
    schedule: tuple[Choice, ...]
    """What was chosen, faults included; not what came after it by itself."""
    violation: Violation | None
    steps: int
    digest: str
    """Names the history: equal ones have equal digests."""
    faults: dict[str, int] = field(default_factory=dict)


def run(scenario: Scenario, plant: Plant | None = None) -> Outcome:
    """Run the history of a scenario, choosing by its seed."""
    rng = Random(f"choices {scenario.seed}")  # noqa: S311 - a seed is the point
    return _History(scenario, plant or Plant()).run(_Chooser(rng, scenario))


def replay(
    scenario: Scenario,
    schedule: Sequence[Choice],
    plant: Plant | None = None,
    *,
    tell: Callable[[str], object] | None = None,
    tells_rest: bool = True,
) -> Outcome:
    """Play a schedule again; what is not possible of it is passed over.

    `tell` is given a line for each choice, those that follow by themselves only if it
    `tells_rest`.
    """
    history = _History(scenario, plant or Plant(), tell, tells_rest=tells_rest)
    return history.run(iter(schedule))


class _History:
    def __init__(
        self,
        scenario: Scenario,
        plant: Plant,
        tell: Callable[[str], object] | None = None,
        *,
        tells_rest: bool = True,
    ) -> None:
        self._tell = tell
        self._tells_rest = tells_rest
        self._scenario = scenario
        self._plant = plant
        self._schedule: list[Choice] = []
        self._digest = hashlib.sha256()
        self._faults: dict[str, int] = {}
        self._steps = 0

    def run(self, choices: _Chooser | Iterator[Choice]) -> Outcome:
        violation: Violation | None = None
        with _quiet():
            world = World(self._scenario)
            self._plant.put_into(world)
            course = Course(world)
            try:
                course.begin()
                self._choose(course, choices)
                self._rest(course)
            except Violation as broken:
                violation = broken
            finally:
                world.server.kill(())
        return Outcome(
            self._scenario,
            tuple(self._schedule),
            violation,
            self._steps,
            self._digest.hexdigest(),
            self._faults,
        )

    def _choose(self, course: Course, choices: _Chooser | Iterator[Choice]) -> None:
        chooser = choices if isinstance(choices, _Chooser) else None
        chosen = choices.choices(course) if isinstance(choices, _Chooser) else choices
        for choice in chosen:
            self._schedule.append(choice)  # also one that breaks a promise
            is_done = self._do_one(course, choice)
            if not is_done:
                self._schedule.pop()
            elif choice[0] == "fault":
                kind = str(choice[1])
                self._faults[kind] = self._faults.get(kind, 0) + 1
            if chooser is not None:
                chooser.heard(choice, is_done=is_done)

    def _rest(self, course: Course) -> None:
        """Let everything come right: all that is possible happens, in turn."""
        if not self._tells_rest:
            self._tell = None
        self._calm(course)
        for promise, what in faults_at_rest(course.world):
            raise Violation(promise, f"{what}, when all had come to rest")

    def _calm(self, course: Course) -> None:
        """Heal, and do what is possible in turn, until all is as it has to be."""
        world = course.world
        course.faults.heal()
        until_ms = world.steady.now_ms + _PATIENCE_MS
        turn = 0
        for _ in range(_MOST_STEPS_AT_REST):
            possible = course.choices()
            if possible:
                self._do(course, possible[turn % len(possible)])
                turn += 1
                continue
            if not any(faults_at_rest(world)):
                return
            if world.steady.now_ms > until_ms or not self._do(course, ("tick",)):
                return

    def _do_one(self, course: Course, choice: Choice) -> bool:
        if choice[0] == "calm":
            self._calm(course)
            return True
        return self._do(course, choice)

    def _do(self, course: Course, choice: Choice) -> bool:
        world = course.world
        line = told(world, choice) if self._tell else ""
        try:
            done = course.apply(choice)
        finally:
            if self._tell:
                self._tell(line)
        if done:
            self._steps += 1
            self._digest.update(f"{choice}{world.mark()}".encode())
        if world.server.faults:
            raise Violation("no_fault", f"Bright failed: {world.server.faults[0]}")
        return done


class _Chooser:
    """Chooses by a seed: mostly what is possible, at times a fault or a word."""

    def __init__(self, rng: Random, scenario: Scenario) -> None:
        self._rng = rng
        self._scenario = scenario
        self._faults_left = scenario.most_faults if scenario.faults else 0
        self._waiting: list[Choice] = []
        self._armed: dict[str, list[Choice]] = {}
        self._tick_rate = rng.choice((0.0, 0.02, 0.1))

    def choices(self, course: Course) -> Iterator[Choice]:
        live = self._scenario.live
        word_rate = live / self._scenario.steps
        fault_rate = self._scenario.most_faults / self._scenario.steps * 1.5
        for step in range(self._scenario.steps):
            if step in self._scenario.calms:
                yield ("calm",)
                if self._rng.random() < 0.4:
                    yield from self._absence()
            # A fault that could not strike yet does as soon as it can.
            yield from tuple(self._waiting)
            chance = self._rng.random()
            if live and chance < word_rate * 1.5:
                live -= 1
                yield self._word()
            elif self._faults_left and self._rng.random() < fault_rate:
                self._faults_left -= 1
                self._arm(self._fault())
            else:
                yield self._ordinary(course)

    def heard(self, choice: Choice, *, is_done: bool) -> None:
        """Learn whether a choice was possible."""
        if choice[0] != "fault":
            if is_done:
                self._waiting += self._armed.pop(choice[0], [])
            return
        if not is_done and choice not in self._waiting:
            self._waiting.append(choice)
        elif is_done and choice in self._waiting:
            self._waiting.remove(choice)

    def _absence(self) -> Iterator[Choice]:
        """The tabs are closed while a few messages come: a scan has to find them."""
        a, c = self._rng.randrange(4), self._rng.randrange(4)
        for device in range(len(self._scenario.device_accounts)):
            yield ("fault", "tabs_closed", device, self._rng.randrange(3))
        for _ in range(self._rng.randint(1, 2)):
            yield ("say", a, c, self._rng.randint(1, 4))
        yield ("tick",)

    def _word(self) -> Choice:
        a, c = self._rng.randrange(4), self._rng.randrange(4)
        chance = self._rng.random()
        if chance < 0.12:
            return ("spoil", a, c)
        for kind, below in (("card", 0.24), ("render", 0.32), ("facts", 0.4)):
            if chance < below:
                return (kind, a, c)
        return ("say", a, c, self._rng.choice((1, 1, 2, 3, 4)))

    def _arm(self, fault: Choice) -> None:
        """Have a fault strike at once, or right after something of a chosen kind."""
        kind = self._rng.choice(_INSTANTS)
        if kind is None:
            self._waiting.append(fault)
        else:
            self._armed.setdefault(kind, []).append(fault)

    def _fault(self) -> Choice:
        kind = self._rng.choice(self._scenario.faults)
        return ("fault", kind, self._rng.randrange(4), self._rng.randrange(72))

    def _ordinary(self, course: Course) -> Choice:
        possible = course.choices()
        if not possible or self._rng.random() < self._tick_rate:
            return ("tick",)
        return self._rng.choice(possible)


@contextmanager
def _quiet() -> Iterator[None]:
    """Bright's log speaks of every fault: it is kept quiet."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
