"""A worker that dies in mid scan and is woken by a word of its page goes on at once."""

from __future__ import annotations

import pytest

from extension_harness.simulation.course import Course
from extension_harness.simulation.device import ALARM_MS
from extension_harness.simulation.plants import Plant
from extension_harness.simulation.rest import faults_at_rest
from extension_harness.simulation.scenario import Scenario
from extension_harness.simulation.world import World

SCENARIO = Scenario.from_json(
    {
        "seed": 1,
        "device_accounts": [["a"]],
        "conversations": 3,
        "history": 12,
        "live": 1,
        "steps": 100,
        "calms": [],
        "is_authority_remote": False,
        "is_page_shuffled": False,
        "blocked": [],
        "faults": ["worker_killed"],
        "most_faults": 1,
    }
)
MOST_STEPS = 3_000


def begun() -> Course:
    world = World(SCENARIO)
    Plant().put_into(world)
    course = Course(world)
    course.begin()
    return course


def run(course: Course, *, steps: int = MOST_STEPS) -> None:
    """All that is possible in turn, then time; until nothing is missing any more."""
    for turn in range(steps):
        possible = course.choices()
        if not possible and not any(faults_at_rest(course.world)):
            return
        course.apply(possible[turn % len(possible)] if possible else ("tick",))


@pytest.mark.parametrize("steps", range(20, 320, 20))
def test_a_scan_that_was_cut_is_at_rest_before_the_next_alarm(steps: int) -> None:
    """OT-43, OT-70: what was seen in mid scan has the history walked again, and that is
    done at once: it waits for no alarm."""
    course = begun()
    world = course.world
    try:
        run(course, steps=steps)
        assert any(faults_at_rest(world)), "the scan is over before the kill"
        world.devices[0].kill_worker(delivers=True)
        killed_at_ms = world.steady.now_ms
        course.apply(("say", 0, 0, 1))
        run(course)

        assert not any(faults_at_rest(world))
        assert world.steady.now_ms - killed_at_ms < ALARM_MS / 2
    finally:
        world.server.kill(())
