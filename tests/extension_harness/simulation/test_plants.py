"""Planted bugs: what the simulation is for is found, and soon."""

from __future__ import annotations

import pytest

from extension_harness.simulation.campaign import run_seeds
from extension_harness.simulation.errors import UnknownPlantError
from extension_harness.simulation.plants import PLANTS, planted

SOON = 300
"""Histories; the promise is 10,000."""

BREAKS = {
    "ack_before_commit": {"ack_means_disk"},
    "anchor_on_complete": {"no_early_anchor"},
    "confirm_on_send": {"no_early_confirmation"},
    "upload_while_waiting": {"no_early_upload"},
    "profile_by_fingerprint": {"no_early_confirmation"},
    "new_before_old": {"order"},
    "memory_cursor": {"no_loss", "no_early_anchor", "completed"},
    "device_in_key": {"no_double"},
}
"""Each plant, and the promises that it may break first."""


def test_every_plant_has_its_promise() -> None:
    assert BREAKS.keys() == PLANTS.keys() - {""}


@pytest.mark.parametrize("name", sorted(BREAKS))
def test_a_planted_bug_is_found(name: str) -> None:
    """OT-03, OT-41, OT-42, OT-50, OT-70, OT-83, MS-27: each broken, each found."""
    tally = run_seeds(range(SOON), name, first_only=True)

    assert tally.failed == 1, f"not found in {SOON} histories"
    violation = tally.failures[0].violation
    assert violation is not None
    assert violation.promise in BREAKS[name]


def test_a_plant_that_is_none_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownPlantError, match="ack_before_commit"):
        planted("no_such_bug")
