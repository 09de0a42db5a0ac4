"""The time, as something that is handed in.

Nothing below the composition root asks the system for the time itself, so a test can
say what time it is.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for records, steady time for durations."""

    def now_ms(self) -> int:
        """Return the wall time in milliseconds since the epoch."""
        ...

    def steady_seconds(self) -> float:
        """Return a time in seconds that never goes back; only differences mean."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now_ms(self) -> int:
        """Return the wall time in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def steady_seconds(self) -> float:
        """Return the machine's monotonic time in seconds."""
        return time.monotonic()
