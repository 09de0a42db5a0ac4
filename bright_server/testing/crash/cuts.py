"""Where and how a commit is cut off."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

from bright_server.commit.fault_points import FaultPoint


class How(StrEnum):
    """What happens at the step that ends at a fault point."""

    KILLED_BEFORE = "killed-before"
    """The process dies before it asks for the step."""
    KILLED_DURING = "killed-during"
    """It dies after it has asked and before it has read the answer."""
    KILLED_AFTER = "killed-after"
    """It dies at the fault point itself, the step being done."""
    REPLY_LOST = "reply-lost"
    """The step is done, and the process is told that it may have failed."""


STEP_OF: Final = {
    FaultPoint.BEFORE_RESERVE: "load_commit_for_request",
    FaultPoint.AFTER_RESERVE: "reserve",
    FaultPoint.AFTER_RECORD: "put_record",
    FaultPoint.AFTER_PUBLISH: "publish",
    FaultPoint.AFTER_COMMIT: "mark_published_and_committed",
    FaultPoint.BETWEEN_TWO_STEPS: "mark_outbox_published",
}
"""The call that ends at each point of a commit."""


@dataclass(frozen=True, slots=True)
class Cut:
    """One cell of the matrix."""

    point: FaultPoint
    how: How
    two_step: bool = False
    """Whether the store is robbed of its atomic step (MS-24)."""

    def __str__(self) -> str:
        """Return the cell's name in a test's id."""
        return f"{self.point}-{self.how}" + ("-two-step" if self.two_step else "")

    @property
    def step(self) -> str:
        """Return the call that ends at the point."""
        if self.two_step and self.point is FaultPoint.AFTER_COMMIT:
            return "mark_committed"
        return STEP_OF[self.point]

    @property
    def may_have_reserved_nothing(self) -> bool:
        """Say whether the key may be unknown after this cut."""
        if self.point is FaultPoint.AFTER_RESERVE:
            return self.how in {How.KILLED_BEFORE, How.KILLED_DURING}
        return self.point is FaultPoint.BEFORE_RESERVE

    def as_json(self) -> dict[str, object]:
        """Return the cut as plain values."""
        return asdict(self)

    @classmethod
    def of_json(cls, said: dict[str, object]) -> Cut:
        """Return the cut of `as_json`."""
        return cls(
            FaultPoint(str(said["point"])),
            How(str(said["how"])),
            bool(said["two_step"]),
        )


COMMIT_CUTS: Final = [
    Cut(point, how)
    for point in STEP_OF
    if point is not FaultPoint.BETWEEN_TWO_STEPS
    for how in How
] + [
    Cut(point, how, two_step=True)
    for point in (FaultPoint.BETWEEN_TWO_STEPS, FaultPoint.AFTER_COMMIT)
    for how in How
]
RECOVERY_POINTS: Final = (
    FaultPoint.LEASE_HELD,
    FaultPoint.DUE_READ,
    FaultPoint.ONE_RESUMED,
)
