"""Pages of history from this file: observed and sent messages alike (MS-28)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, cast

from bright_server.commit.records import (
    HistoryItem,
    HistoryPage,
    HistoryQuery,
    MessageContent,
    MessageRecord,
)
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.stores.history_pages import cut
from bright_server.stores.observed_commits import record_of_observed
from bright_server.stores.sqlite.queries import SQL
from bright_server.wire.text import parse_json

_BEYOND_ALL = 2**63 - 1


def read_page(
    database: sqlite3.Connection, query: HistoryQuery, now_ms: int
) -> HistoryPage:
    """Return a page of one moment; what has expired by now is not in it.

    Messages are read one by one, so that a page of few bytes reads few.
    """
    database.execute("BEGIN")
    try:
        return _read_page(database, query, now_ms)
    finally:
        database.execute(SQL["rollback"])  # it has read only


def _read_page(
    database: sqlite3.Connection, query: HistoryQuery, now_ms: int
) -> HistoryPage:
    key = query.conversation
    scope = (key.channel_account_id, key.conversation_id)
    ref = database.execute(SQL["find_ref"], scope).fetchone()
    if ref is None:
        return HistoryPage((), None, None, None)
    lowest, highest = database.execute(SQL["history_bounds"], (*ref, now_ms)).fetchone()
    if query.direction == "newer":
        anchor = -1 if query.anchor is None else query.anchor
    else:
        anchor = _BEYOND_ALL if query.anchor is None else query.anchor
    positions = database.execute(
        SQL[f"history_{query.direction}"], (*ref, now_ms, anchor, query.max_items + 1)
    ).fetchall()
    return cut(_items(database, key, positions), query, lowest, highest)


def _items(
    database: sqlite3.Connection,
    conversation: ConversationKey,
    positions: Iterable[tuple[int]],
) -> Iterator[HistoryItem]:
    for position in positions:
        row = database.execute(SQL["history_record"], position).fetchone()
        yield HistoryItem(row[0], record_of(conversation, row))


def record_of(conversation: ConversationKey, row: tuple[Any, ...]) -> MessageRecord:
    """Return the record of `history_record`'s columns."""
    _, created_at_ms, has_detail, *detail = row[:9]
    message = ObservedMessage._make(row[9:])
    if not has_detail:
        return record_of_observed(conversation, message, created_at_ms)
    sent_at_ms, custom_type, body_reference, mentions, reply_to, expires_at_ms = detail
    content = MessageContent(
        author_id=message.sender_id,
        direction=message.direction,
        kind=message.kind,
        text=message.text,
        content=message.content,
        quote=message.quote,
        recall=message.recall,
        sent_at_ms=sent_at_ms,
        custom_type=custom_type,
        body_reference=body_reference,
    )
    return MessageRecord(
        message_id=message.message_id,
        conversation=conversation,
        content=content,
        mentions=tuple(cast("list[str]", parse_json(mentions))) if mentions else (),
        reply_to=reply_to,
        created_at_ms=created_at_ms,
        history_expires_at_ms=expires_at_ms,
        raw=message.raw,
    )
