"""Time in the simulation: one steady time, and a wall clock for each machine."""

from __future__ import annotations

from typing import Final

EPOCH_MS: Final = 1_800_000_000_000
"""When every history begins, by a clock that is right."""


class SteadyTime:
    """Milliseconds since the history began; only the scheduler moves them."""

    def __init__(self) -> None:
        self.now_ms = 0

    def move_to(self, now_ms: int) -> None:
        """Let time pass; it never goes back."""
        self.now_ms = max(self.now_ms, now_ms)


class WallClock:
    """A machine's clock: steady time, and how far it is off; see `bright_server.clock`.

    A jump moves it either way. Timers are not moved by it, as in every browser.
    """

    def __init__(self, steady: SteadyTime) -> None:
        self._steady = steady
        self.off_ms = 0

    def now_ms(self) -> int:
        """Return the wall time in milliseconds since the epoch."""
        return EPOCH_MS + self._steady.now_ms + self.off_ms

    def steady_seconds(self) -> float:
        """Return the steady time in seconds."""
        return self._steady.now_ms / 1000

    def jump(self, by_ms: int) -> None:
        """Put the clock forward, or back."""
        self.off_ms += by_ms
