"""Pages of a conversation's history: which rows a request gets, and what comes next.

The rule, for every surface: a cursor T gives rows at T or before, newest first, at most
the asked count; the next cursor is the time of the oldest row of the page, so that this
row comes again. No I/O and no spelling here.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from extension_harness.page.switches import Switches
from extension_harness.page.truth import Message

MAX_COUNT = 200
DEFAULT_COUNT = 20


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Rows newest first, the cursor of the next page, and whether there is one."""

    rows: tuple[Message, ...]
    next_ms: int | None
    has_more: bool


def page_of(
    rows: Sequence[Message], cursor_ms: int | None, count: int, switches: Switches
) -> HistoryPage:
    """Return the page at `cursor_ms` (None: from the newest) of rows, oldest first."""
    count = max(1, min(MAX_COUNT, count + switches.page_size_bias))
    end = len(rows)
    if cursor_ms is not None:
        end = bisect_right(rows, cursor_ms, key=lambda row: row.position_ms)
    start = max(0, end - count)
    found = tuple(rows[start:end][::-1])
    has_more = start > 0
    next_ms = found[-1].position_ms if has_more and found else None
    return HistoryPage(_misbehaved(found, switches), next_ms, has_more)


def stuck_page(rows: Sequence[Message], count: int) -> HistoryPage:
    """Return the page that repeats for ever: the newest rows, and more [M06]."""
    found = tuple(rows[-max(1, count) :][::-1])
    return HistoryPage(found, found[-1].position_ms if found else None, True)


def empty_page(cursor_ms: int | None) -> HistoryPage:
    """Return a page without rows that promises more at the same place [M08]."""
    return HistoryPage((), cursor_ms, True)


def _misbehaved(rows: tuple[Message, ...], switches: Switches) -> tuple[Message, ...]:
    if switches.omit_every:
        every = switches.omit_every
        rows = tuple(row for row in rows if row.number % every)
    if switches.duplicate_rows and rows:
        rows = (rows[0], *rows)
    if switches.shuffle_rows:
        shuffled = list(rows)
        random.Random(len(rows)).shuffle(shuffled)  # noqa: S311 - not a secret
        rows = tuple(shuffled)
    return rows
