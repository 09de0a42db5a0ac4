"""Histories of the product as it is: every promise kept, and the same every time."""

from __future__ import annotations

import pytest

from extension_harness.simulation.campaign import run_campaign, run_seeds
from extension_harness.simulation.history import replay, run
from extension_harness.simulation.scenario import FAULTS, Scenario, drawn

HISTORIES = 150


def test_no_history_breaks_a_promise() -> None:
    """OT-30, OT-31, OT-42, OT-43, OT-50, OT-51, OT-70: after every step, whatever
    fails."""
    tally = run_seeds(range(HISTORIES))

    assert [(f.scenario.seed, str(f.violation)) for f in tally.failures] == []
    assert tally.histories == HISTORIES


def test_most_kinds_of_fault_strike_in_a_few_histories() -> None:
    tally = run_seeds(range(HISTORIES, HISTORIES + 60))

    assert len(set(FAULTS) & tally.faults.keys()) >= 16


def test_equal_seeds_give_equal_histories() -> None:
    first, second = run(drawn(7)), run(drawn(7))

    assert first.digest == second.digest
    assert first.schedule == second.schedule


def test_unequal_seeds_give_unequal_histories() -> None:
    assert run(drawn(7)).digest != run(drawn(8)).digest


def test_a_campaign_is_the_same_in_one_process_and_in_two() -> None:
    alone = run_seeds(range(40))
    together = run_campaign(0, 40, processes=2)

    assert together.digest == alone.digest
    assert together.steps == alone.steps


@pytest.mark.parametrize("seed", range(20, 30))
def test_a_schedule_played_again_is_the_same_history(seed: int) -> None:
    outcome = run(drawn(seed))

    again = replay(outcome.scenario, outcome.schedule)

    assert again.digest == outcome.digest
    assert again.schedule == outcome.schedule


def test_a_schedule_with_parts_left_out_is_still_one() -> None:
    outcome = run(drawn(21))

    thinned = replay(outcome.scenario, outcome.schedule[::3])

    assert thinned.violation is None


def test_a_scenario_survives_its_json() -> None:
    for seed in range(20):
        scenario = drawn(seed)
        assert Scenario.from_json(scenario.as_json()) == scenario
