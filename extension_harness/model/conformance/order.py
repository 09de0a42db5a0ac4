"""Which of several tasks a recorded transaction was, where the recording does not say.

Two tasks may ask the store the same and find and leave the same. One of them is
recorded, and not which; the first to ask is the likely one. When the model then parts
from the real one, another of the last such choices is tried instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from extension_harness.model.conformance.errors import DivergenceError

TRIED_CHOICES = 16
"""So many of the last open choices before a divergence are made otherwise, one each."""
T = TypeVar("T")


class Order:
    """The choices of one try: the first that asked, but at one place."""

    def __init__(self, place: int | None = None, other: int = 0) -> None:
        self._place = place
        self._other = other
        self.counts: list[int] = []

    def choose(self, count: int) -> int:
        """Which of so many, from 0; each call with more than one is a place."""
        if count < 2:
            return 0
        place = len(self.counts)
        self.counts.append(count)
        return min(self._other, count - 1) if place == self._place else 0

    def others(self) -> Iterator[Order]:
        """Those that differ from this one at one of the last places, latest first."""
        for place in reversed(range(len(self.counts))[-TRIED_CHOICES:]):
            for other in range(1, self.counts[place]):
                yield Order(place, other)


def in_some_order(attempt: Callable[[Order], T]) -> T:
    """What an attempt gives in the first order in which it does not diverge.

    Raises:
        DivergenceError: that of the first order, as it diverges in every one.
    """
    first = Order()
    try:
        return attempt(first)
    except DivergenceError as diverged:
        for order in first.others():
            try:
                return attempt(order)
            except DivergenceError:
                continue
        raise diverged from None
