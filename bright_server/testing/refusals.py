"""Saying which error a store must raise, without any test framework."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import SkipTest


@contextmanager
def refused(*expected: type[Exception]) -> Iterator[None]:
    """Demand that the block raises one of these errors, and nothing else."""
    try:
        yield
    except expected:
        return
    names = " or ".join(each.__name__ for each in expected)
    raise AssertionError(f"nothing was refused, {names} was due")


def needs(claimed: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Pass over a test of what a back end does not claim."""
    if not claimed:
        raise SkipTest(f"this back end does not claim: {what}")
