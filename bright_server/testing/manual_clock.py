"""A clock that a test moves."""

from __future__ import annotations


class ManualClock:
    """See `Clock`: stands still until it is told to go on."""

    def __init__(self, now_ms: int = 1_750_000_500_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        return self._now_ms

    def steady_seconds(self) -> float:
        """See `Clock.steady_seconds`."""
        return self._now_ms / 1000

    def advance(self, seconds: float) -> None:
        """Let so much time pass."""
        self._now_ms += round(seconds * 1000)
