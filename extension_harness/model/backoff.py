"""When to come back: pure decisions, the random source is handed in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

LONGEST_TIMER_MS = 25_000
DISPLACED_REST_MS = 600_000


def is_final(close_code: int) -> bool:
    """Whether a close code says that the same credentials will not do."""
    return 4400 <= close_code < 4500 and close_code != 4408


def stop_holds(stop: dict[str, Any], now_ms: int) -> bool:
    """Whether a remembered stop still holds: one for being displaced lapses."""
    if stop["closeCode"] != 4409:
        return True
    return abs(now_ms - int(stop.get("atMs") or 0)) < DISPLACED_REST_MS


def rounded(value: float) -> int:
    """`Math.round`: halves go up."""
    return math.floor(value + 0.5)


def full_jitter(
    attempt: int, base_ms: float, cap_ms: float, random: Callable[[], float]
) -> int:
    """Anything between nothing and the exponential bound, in ms."""
    bound = min(cap_ms, base_ms * 2 ** min(attempt, 30))
    return rounded(random() * bound)


def after_close(
    close_code: int,
    attempt: int,
    base_ms: float,
    cap_ms: float,
    random: Callable[[], float],
) -> int | None:
    """What a close code asks for: a delay in ms, or None not to come back."""
    if is_final(close_code):
        return None
    if close_code == 1012:
        return 5_000 + rounded(random() * 25_000)
    return full_jitter(attempt, base_ms, cap_ms, random)
