"""Named points around each durable step of a commit, where a test may end the process.

The committer says that it has reached a point; in production nobody listens. A test
that does kills the process there, or raises, and then proves that what was persisted
is enough to go on from (MS-40).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Protocol


class FaultPoint(StrEnum):
    """A place between two durable steps."""

    BEFORE_RESERVE = "M-COMMIT-01"
    AFTER_RESERVE = "M-COMMIT-02"
    AFTER_RECORD = "M-COMMIT-03"
    AFTER_PUBLISH = "M-COMMIT-04"
    """The log has given its durable ack; the store does not know of it yet (MS-25)."""
    AFTER_COMMIT = "M-COMMIT-05"
    """It is committed; nobody was told."""
    BETWEEN_TWO_STEPS = "M-COMMIT-06"
    """In a store without the atomic step: OUTBOXED, not yet COMMITTED (MS-24)."""

    LEASE_HELD = "M-RECOVERY-01"
    """This process may recover; nothing was read yet."""
    DUE_READ = "M-RECOVERY-02"
    """What is due was read; nothing of it was resumed."""
    ONE_RESUMED = "M-RECOVERY-03"
    """One commit was finished; others may be due."""


class FaultPoints(Protocol):
    """Is told of each point that is reached."""

    async def reach(self, point: FaultPoint) -> None:
        """Take note of a point, before the next step begins."""
        ...


class NoFaults:
    """Production: nothing happens anywhere."""

    async def reach(self, point: FaultPoint) -> None:
        """Do nothing."""


NO_FAULTS: Final = NoFaults()
