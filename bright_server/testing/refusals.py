"""Saying which error a store must raise, without any test framework."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import SkipTest

# Of types, tables, keys and scripts: nobody who calls a store may have to know them.
_BACK_ENDS_WORDS = (
    "sqlite3.", "psycopg", "redis.", "Traceback", "constraint", "relation \"",
    "no such table", "single_commit", "commit_intent", "syntax error", "NOSCRIPT",
    "WRONGTYPE", "user_script", "SQLSTATE",
)  # fmt: skip


@contextmanager
def refused(*expected: type[Exception], where: str = "") -> Iterator[None]:
    """Demand that the block raises one of these errors, and nothing else."""
    try:
        yield
    except expected as error:
        see_that_no_back_end_shows_through(error)
        return
    names = " or ".join(each.__name__ for each in expected)
    raise AssertionError(f"nothing was refused, {names} was due {where}".rstrip())


def see_that_no_back_end_shows_through(error: Exception) -> None:
    """Demand that the words are the contract's own; the cause may be a driver's."""
    said = str(error)
    found = [each for each in _BACK_ENDS_WORDS if each.lower() in said.lower()]
    assert not found, f"{found} shows through in: {said}"


def needs(claimed: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Pass over a test of what a back end does not claim."""
    if not claimed:
        raise SkipTest(f"this back end does not claim: {what}")
