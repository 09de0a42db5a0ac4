"""Waiting on conditions with deadlines, the only way this package waits."""

import time
from collections.abc import Callable
from typing import TypeVar

from extension_harness.errors import WaitTimeoutError

T = TypeVar("T")


def wait_until(
    probe: Callable[[], T | None],
    timeout: float,
    what: str,
    *,
    every: float = 0.02,
    error: type[WaitTimeoutError] = WaitTimeoutError,
) -> T:
    """Call ``probe`` until it gives something true, and return that.

    Args:
        probe: Asked again and again; must not block for long.
        timeout: Seconds. The probe is asked at least once, and once more at the end.
        what: Said in the error, as the thing that did not happen.
        every: Seconds between two questions.
        error: The class raised when time is up.
    """
    deadline = time.monotonic() + timeout
    while True:
        late = time.monotonic() >= deadline
        found = probe()
        if found:
            return found
        if late:
            raise error(what, timeout, repr(found)[:200])
        time.sleep(min(every, max(0.0, deadline - time.monotonic())))


def countdown(timeout: float) -> Callable[[], float]:
    """A function that tells the seconds left of ``timeout``, never below zero."""
    end = time.monotonic() + timeout
    return lambda: max(0.0, end - time.monotonic())
