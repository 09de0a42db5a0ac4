"""How to walk back through a history whose pages overlap, repeat or stand still."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Position:
    """What a page of history is asked with; `cursor` in ms, None: the newest."""

    cursor: int | None
    count: int
    is_past_edge: bool = False


@dataclass(frozen=True)
class SeenPage:
    """What came: rows, the oldest time among them, and what the page says of more."""

    rows: int
    oldest_ms: int | None
    reported_next: int | None
    has_more: bool | None


@dataclass(frozen=True)
class Decision:
    """Where to go on; the end; or stuck, which is worth an anomaly."""

    next: Position | None
    is_complete: bool = False
    is_stuck: bool = False


def next_position(
    asked: Position, page: SeenPage, *, page_size: int, max_page_size: int
) -> Decision:
    """One page in, one decision out (OT-44)."""
    cursor, count = asked.cursor, asked.count
    candidate = page.oldest_ms if page.rows > 0 else page.reported_next
    moves_to = _older_than(cursor, candidate)
    if moves_to is not None:
        if page.has_more is False and page.rows < count:
            return Decision(None, is_complete=True)
        return Decision(Position(moves_to, page_size))
    may_have_more = page.has_more is True or (
        page.rows >= count and page.rows > 0 and cursor is not None
    )
    if not may_have_more:
        return Decision(None, is_complete=True)
    if count < max_page_size:
        return Decision(replace(asked, count=min(count * 2, max_page_size)))
    if cursor is None or asked.is_past_edge:
        return Decision(None, is_stuck=True)
    return Decision(Position(cursor - 1, page_size, is_past_edge=True), is_stuck=True)


def _older_than(cursor: int | None, candidate: int | None) -> int | None:
    if candidate is None:
        return None
    return candidate if cursor is None or candidate < cursor else None
