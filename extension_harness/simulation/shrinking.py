"""Makes a failing history short: leaves out whatever the failure does not need.

Ever smaller parts of the schedule go first, then the scenario becomes smaller where it
can, then single faults go. A shorter history counts when it breaks the same promise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from extension_harness.simulation.course import Choice
from extension_harness.simulation.history import Outcome, replay
from extension_harness.simulation.plants import Plant
from extension_harness.simulation.scenario import Scenario

_MOST_REPLAYS = 1_500


class _Shrinking:
    def __init__(self, failing: Outcome, plant: Plant, seconds: float) -> None:
        self.best = failing
        self._promise = failing.violation.promise if failing.violation else ""
        self._plant = plant
        self._until = time.monotonic() + seconds
        self._left = _MOST_REPLAYS

    @property
    def is_over(self) -> bool:
        return self._left <= 0 or time.monotonic() > self._until

    def tries(self, scenario: Scenario, schedule: Sequence[Choice]) -> bool:
        """Keep a shorter history if it fails in the same way."""
        if self.is_over:
            return False
        self._left -= 1
        outcome = replay(scenario, schedule, self._plant)
        violation = outcome.violation
        if violation is None or violation.promise != self._promise:
            return False
        self.best = outcome
        return True


def shrunk(
    failing: Outcome, plant: Plant | None = None, seconds: float = 60
) -> Outcome:
    """Return a history that breaks the same promise with less; bounded in time."""
    work = _Shrinking(failing, plant or Plant(), seconds)
    _in_parts(work)
    for scenario in _smaller(work.best.scenario):
        work.tries(_with_rest_of(work.best.scenario, scenario), work.best.schedule)
    before = -1
    while before != len(work.best.schedule) and not work.is_over:
        before = len(work.best.schedule)
        _without(work, lambda choice: choice[0] == "fault")
        _in_parts(work)
    return work.best


def _without(work: _Shrinking, is_candidate: Callable[[Choice], bool]) -> None:
    """Leave out single choices of a kind, the last first."""
    places = [n for n, each in enumerate(work.best.schedule) if is_candidate(each)]
    for place in reversed(places):
        schedule = work.best.schedule
        if place < len(schedule):
            work.tries(work.best.scenario, schedule[:place] + schedule[place + 1 :])


def _in_parts(work: _Shrinking) -> None:
    size = max(1, len(work.best.schedule) // 2)
    while size and not work.is_over:
        start = 0
        while start < len(work.best.schedule) and not work.is_over:
            schedule = work.best.schedule
            shorter = schedule[:start] + schedule[start + size :]
            if not work.tries(work.best.scenario, shorter):
                start += size
        size //= 2


Change = tuple[str, Any]


def _smaller(scenario: Scenario) -> Iterator[Change]:
    """Smaller settings, one at a time."""
    for count in range(1, len(scenario.device_accounts)):
        yield "device_accounts", scenario.device_accounts[:count]
    for history in range(scenario.history):
        yield "history", history
    for conversations in range(1, scenario.conversations):
        yield "conversations", conversations
    yield "is_page_shuffled", False
    yield "is_authority_remote", False
    yield "blocked", ()


def _with_rest_of(scenario: Scenario, change: Change) -> Scenario:
    name, value = change
    before = getattr(scenario, name)
    is_smaller = value < before
    changes: dict[str, Any] = {name: value}
    return replace(scenario, **changes) if is_smaller else scenario
