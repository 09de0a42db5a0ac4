"""Pages of history: which queries can be, and where a page ends. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

from bright_server.commit.encoding import encode_record
from bright_server.commit.records import HistoryItem, HistoryPage, HistoryQuery
from bright_server.errors import HistoryQueryInvalid
from bright_server.settings import Settings

_HIGHEST_SEQUENCE = 2**63 - 1


def check_query(query: HistoryQuery, settings: Settings) -> None:
    """Refuse a query whose bounds cannot be (MS-28).

    Raises:
        HistoryQueryInvalid: and which of them, with what it may be.
    """
    if query.direction not in {"older", "newer"}:
        raise HistoryQueryInvalid(
            f"direction is {query.direction!a}: give 'older' or 'newer'"
        )
    if query.anchor is not None and not 0 <= query.anchor <= _HIGHEST_SEQUENCE:
        raise HistoryQueryInvalid(
            f"anchor is {query.anchor}: give a sequence, or None to begin at the end"
        )
    _check_bound("max_items", query.max_items, settings.max_history_items)
    _check_bound("max_bytes", query.max_bytes, settings.max_history_bytes)


def cut(
    candidates: Iterable[HistoryItem],
    query: HistoryQuery,
    lowest: int | None,
    highest: int | None,
) -> HistoryPage:
    """Return the page that begins with the first of the candidates.

    They are what there is after the anchor, in the direction of reading. So that a page
    knows whether it is the last, give one more than `query.max_items`, if there is one.
    """
    items: list[HistoryItem] = []
    size = 0
    for item in candidates:
        size += len(encode_record(item.record))
        # The first is given however large it is, or reading would end at it.
        if items and (len(items) == query.max_items or size > query.max_bytes):
            return HistoryPage(tuple(items), items[-1].sequence, lowest, highest)
        items.append(item)
    return HistoryPage(tuple(items), None, lowest, highest)


def _check_bound(name: str, given: int, limit: int) -> None:
    if not 1 <= given <= limit:
        raise HistoryQueryInvalid(f"{name} is {given}: give 1 to {limit}")
