"""A replay tries another of two tasks that a recording cannot tell apart."""

from __future__ import annotations

import pytest

from extension_harness.model.conformance.errors import DivergenceError
from extension_harness.model.conformance.order import (
    TRIED_CHOICES,
    Order,
    in_some_order,
)


def lived(order: Order, *wanted: int) -> list[int]:
    """Choose three times, once among one alone; diverge unless as wanted."""
    chosen = [order.choose(count) for count in (2, 1, 3)]
    if chosen != list(wanted):
        raise DivergenceError(f"chose {chosen}", 0, len(order.counts), "done")
    return chosen


@pytest.mark.parametrize("wanted", [(0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 0, 2)])
def test_an_open_choice_is_made_otherwise_once_the_first_diverges(
    wanted: tuple[int, ...],
) -> None:
    """OT-70: the recording says that one of them did it, and not which."""
    assert in_some_order(lambda order: lived(order, *wanted)) == list(wanted)


def test_what_diverges_in_every_order_is_told_as_the_first_told_it() -> None:
    """OT-70: a fault of the model is hidden by no choice."""
    with pytest.raises(DivergenceError, match=r"chose \[0, 0, 0\]"):
        in_some_order(lambda order: lived(order, 7, 7, 7))


def test_tries_are_bounded() -> None:
    """Only the last places are tried, each of them alone."""
    tries = 0

    def diverges(order: Order) -> None:
        nonlocal tries
        tries += 1
        for _ in range(1_000):
            order.choose(2)
        raise DivergenceError("always", 0, 0, "done")

    with pytest.raises(DivergenceError):
        in_some_order(diverges)
    assert tries == 1 + TRIED_CHOICES
