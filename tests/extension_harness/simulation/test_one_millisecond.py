"""Messages of one millisecond, said apart while no page is there for the later."""

from __future__ import annotations

import pytest

from extension_harness.simulation.history import replay
from extension_harness.simulation.scenario import Scenario

ALONE = Scenario.from_json(
    {
        "seed": 24,
        "device_accounts": [["a"]],
        "conversations": 1,
        "history": 1,
        "live": 3,
        "steps": 160,
        "calms": [0, 80],
        "is_authority_remote": False,
        "is_page_shuffled": False,
        "blocked": [],
        "faults": ["tabs_closed", "tab_reloaded"],
        "most_faults": 2,
    }
)


@pytest.mark.parametrize("fault", ["tabs_closed", "tab_reloaded"])
@pytest.mark.parametrize("missed", [1, 2, 5])
def test_what_a_page_missed_beside_the_newest_message_is_found(
    fault: str, missed: int
) -> None:
    """OT-42, OT-43, OT-46: its list tells nothing new, and a page that opens has the
    history read all the same; five are more than a page of history holds."""
    schedule: list[tuple[object, ...]] = [
        ("calm",),
        ("say", 0, 0, 1),
        ("calm",),
        *([("say", 0, 0, missed)] if fault == "tab_reloaded" else []),
        ("fault", fault, 0, 0),
        *([("say", 0, 0, missed)] if fault == "tabs_closed" else []),
    ]

    outcome = replay(ALONE, schedule)

    assert outcome.schedule == tuple(schedule)
    assert outcome.violation is None
