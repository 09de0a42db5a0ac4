"""A worker begins anew, and its open page does not answer the first looks."""

from __future__ import annotations

from extension_harness.simulation.history import replay
from extension_harness.simulation.scenario import Scenario

ALONE = Scenario.from_json(
    {
        "seed": 3484,
        "device_accounts": [["a"]],
        "conversations": 1,
        "history": 1,
        "live": 1,
        "steps": 50,
        "calms": [],
        "is_authority_remote": False,
        "is_page_shuffled": False,
        "blocked": [],
        "faults": [
            "store_restored",
            "page_silent",
            "frames_reordered",
            "worker_killed",
        ],
        "most_faults": 8,
    }
)


def test_a_page_that_does_not_answer_a_new_worker_is_asked_until_it_does() -> None:
    """OT-43, OT-63, P3: nobody knows it, and it has said all that it had to say."""
    schedule: list[tuple[object, ...]] = [
        ("speak", 0, 0),
        ("step", 0, 0),
        ("step", 0, 0),
        ("step", 0, 0),
        ("step", 0, 1),
        ("accept", 0),
        ("step", 0, 0),
        ("step", 0, 0),
        ("up", 0),
        ("down", 0),
        ("step", 0, 0),
        ("answer", 0, 0, 0),
        ("answer", 0, 0, 0),
        ("step", 0, 1),
        ("answer", 0, 0, 0),
        ("step", 0, 1),
        ("up", 0),
        ("write",),
        ("fault", "store_restored", 1, 13),
        ("fault", "worker_killed", 0, 51),
        ("tick",),
        ("step", 0, 0),
        ("step", 0, 0),
        ("step", 0, 1),
        ("step", 0, 0),
        ("step", 0, 1),
        ("fault", "page_silent", 2, 65),
        ("step", 0, 0),
        ("fault", "page_silent", 0, 30),
    ]

    outcome = replay(ALONE, schedule)

    assert outcome.schedule == tuple(schedule)
    assert outcome.violation is None
