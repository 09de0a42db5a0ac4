"""Arithmetic over measurements: percentiles, medians, and one round's figures."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Round:
    """What one contender did in one round.

    `messages` counts acknowledged ones, re-sent ones included; `bytes_per_message` is
    the growth of the database per stored message, None where nothing is stored;
    `others_share` what other programs took of the machine's CPUs meanwhile. Of a
    database that is a server of its own there are the CPU that it took, and the bytes
    that it wrote to its log before them.
    """

    messages: int
    seconds: float
    p50_ms: float
    p99_ms: float
    cpu_seconds: float
    others_share: float = 0.0
    bytes_per_message: float | None = None
    resident_bytes: int | None = None
    engine_cpu_seconds: float | None = None
    log_bytes_per_message: float | None = None

    @property
    def per_second(self) -> float:
        """Acknowledged messages per second."""
        return self.messages / self.seconds

    @property
    def cpu_seconds_per_100k(self) -> float:
        """CPU seconds of the contender's process per 100,000 messages."""
        return self.cpu_seconds * 100_000 / self.messages

    @property
    def engine_cpu_seconds_per_100k(self) -> float | None:
        """CPU seconds of the database's server per 100,000 messages, where known."""
        if self.engine_cpu_seconds is None:
            return None
        return self.engine_cpu_seconds * 100_000 / self.messages


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed.

    Raises:
        ValueError: if there are no values.
    """
    if not values:
        raise ValueError("a percentile of no values")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median_of(rounds: Sequence[Round], field: str) -> float:
    """The median of one figure over the rounds."""
    return float(statistics.median(getattr(one, field) for one in rounds))
