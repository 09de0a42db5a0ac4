"""Pages of history: a member's view of a conversation (MS-14, MS-28)."""

from __future__ import annotations

from bright_server.commit.contract import Membership
from bright_server.commit.records import HistoryItem, HistoryPage, HistoryQuery
from bright_server.errors import NotAMember
from bright_server.settings import Settings
from bright_server.stores.history_pages import check_query, cut
from bright_server.stores.postgresql.commit_rows import record_of_row
from bright_server.stores.postgresql.database import Database

_READING = "read a page of history"
_BEYOND = 2**63 - 1


async def read_page(
    database: Database,
    membership: Membership,
    settings: Settings,
    query: HistoryQuery,
    now_ms: int,
) -> HistoryPage:
    """See `MessageStore.history_page`."""
    if not await membership.is_member(query.actor, query.conversation):
        raise NotAMember(query.actor)
    check_query(query, settings)
    key = query.conversation
    found = await database.run_named(
        _READING,
        "history_bounds",
        account=key.channel_account_id,
        name=key.conversation_id,
        now_ms=now_ms,
    )
    if not found or found[0][1] is None:
        return HistoryPage((), None, None, None)
    ref, lowest, highest = found[0]
    is_newer = query.direction == "newer"
    start = 0 if is_newer else _BEYOND
    rows = await database.run_named(
        _READING,
        "history_newer" if is_newer else "history_older",
        conversation=ref,
        anchor=start if query.anchor is None else query.anchor,
        now_ms=now_ms,
        limit=query.max_items + 1,
        max_bytes=query.max_bytes,
    )
    items = [
        HistoryItem(sequence, record_of_row(key, received_at_ms, tuple(columns)))
        for sequence, received_at_ms, *columns in rows
    ]
    return cut(items, query, lowest, highest)
