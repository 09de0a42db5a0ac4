"""How busy the machine is with something else, and the warning that says so."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

import psutil
from rich.console import Console

_QUIET_SHARE = 0.1
_LOOK_SECONDS = 0.5
_QUIET_PERCENT = 10


@dataclass(frozen=True)
class MachineTime:
    """What all CPUs together have done since the machine started, in seconds."""

    busy_seconds: float
    all_seconds: float

    @classmethod
    def now(cls) -> Self:
        """What they have done until now."""
        times = psutil.cpu_times()
        every = (
            sum(times) - getattr(times, "guest", 0) - getattr(times, "guest_nice", 0)
        )
        return cls(every - times.idle - getattr(times, "iowait", 0), every)

    def others_share_since(self, before: "MachineTime", own_seconds: float) -> float:
        """The share of the CPUs that was taken by other programs meanwhile.

        Both figures count in ticks, so a span of a few ticks says little.
        """
        passed = self.all_seconds - before.all_seconds
        if passed <= 0:
            return 0.0
        others = self.busy_seconds - before.busy_seconds - own_seconds
        return min(1.0, max(0.0, others / passed))


def wait_for_quiet(patience_seconds: float) -> float:
    """Wait until other programs leave the CPUs alone, but not for ever.

    Returns:
        What is left of the patience.
    """
    until = time.monotonic() + patience_seconds
    while time.monotonic() < until:
        if psutil.cpu_percent(interval=_LOOK_SECONDS) < _QUIET_PERCENT:
            break
    return max(0.0, until - time.monotonic())


class Meter:
    """Notes the share of the CPUs that others took, span by span.

    Own is this process with all its children: those that end in a span are not counted.
    """

    def __init__(self) -> None:
        self.shares: list[float] = []

    @contextmanager
    def span(self) -> Iterator[None]:
        """Measure while the block runs."""
        machine, own = MachineTime.now(), _own_cpu_seconds()
        yield
        own = _own_cpu_seconds() - own
        self.shares.append(MachineTime.now().others_share_since(machine, own))


def _own_cpu_seconds() -> float:
    this = psutil.Process()
    used = 0.0
    for one in (this, *this.children(recursive=True)):
        with suppress(psutil.Error):
            times = one.cpu_times()
            used += times.user + times.system
    return used


def warn_of_others(console: Console, share: float) -> None:
    """Warn when other programs took more than a tenth of the CPUs meanwhile."""
    if share > _QUIET_SHARE:
        console.print(
            f"[yellow]Other programs took {share:.0%} of the CPUs meanwhile: repeat"
            " this on a quiet machine before you believe a figure."
        )
