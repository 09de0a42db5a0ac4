"""The crash matrix leaves out no fault point, and no way to die at one (MS-40)."""

from __future__ import annotations

from bright_server.commit.fault_points import FaultPoint
from bright_server.testing.crash.cuts import COMMIT_CUTS, RECOVERY_POINTS, Cut, How


def test_every_fault_point_has_all_of_its_cells() -> None:
    """MS-40: before, during and after the step, and with its reply lost."""
    of_points = {
        point: [c.how for c in COMMIT_CUTS if c.point is point] for point in FaultPoint
    }
    recovery = {point for point, how in of_points.items() if not how}

    assert recovery == {*RECOVERY_POINTS}
    for point in of_points.keys() - recovery:
        assert {*of_points[point]} == {*How}, point


def test_the_second_step_of_two_is_cut_off_too() -> None:
    """MS-24: where the store has no atomic step, at both ends of it."""
    points = {cut.point for cut in COMMIT_CUTS if cut.two_step}

    assert points == {FaultPoint.BETWEEN_TWO_STEPS, FaultPoint.AFTER_COMMIT}


def test_a_cell_is_told_to_the_process_that_dies() -> None:
    for cut in COMMIT_CUTS:
        assert Cut.of_json(cut.as_json()) == cut
