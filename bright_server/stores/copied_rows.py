"""Rows of a copied store, in both directions: what SQL stores have in common. No I/O.

A page's statement shows the key that the next page goes on behind first, and then the
columns in the order that is read here; a load's statement takes them in that order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Any, Final, TypeAlias, cast

from bright_server.authorization.contract import Binding
from bright_server.commit.transfer import (
    COPIED_KINDS,
    ONE_PARTITION,
    CopiedAnchor,
    CopiedBinding,
    CopiedCard,
    CopiedCardConflict,
    CopiedCommit,
    CopiedConflict,
    CopiedConversation,
    CopiedFacts,
    CopiedInConversation,
    CopiedLogEntry,
    CopiedMessage,
    CopiedProfile,
    CopiedRecord,
    CopyMark,
    StoreFacts,
)
from bright_server.fanout.contract import LogPosition
from bright_server.messages import BindingId, ConversationKey, ObservedMessage
from bright_server.wire.text import canonical_json, compact_json, parse_json

Row: TypeAlias = tuple[Any, ...]

_ENVELOPE_COLUMNS: Final = 3
LOADED_BY_SCOPE: Final[dict[str, type[CopiedRecord]]] = {
    name: kind
    for name, (kind, *_) in COPIED_KINDS.items()
    if name not in {"bindings", "log", "commits"}
}
"""Kinds of which `row_in_conversation` is all that is loaded."""


def statement(verb: str, kind: str) -> str:
    """Return the name of a statement that pages or loads records of a kind."""
    return f"{verb}_{kind.replace(' ', '_')}"


def binding_of(row: Row) -> CopiedRecord:
    """Return a binding; see `row_of_binding` for the columns."""
    binding_id, label, accounts, version, created_at_ms, revoked_at_ms, digest = row[1:]
    return CopiedBinding(
        Binding(
            BindingId(binding_id),
            label,
            tuple(cast("list[str]", parse_json(accounts))),
            version,
            created_at_ms,
            revoked_at_ms,
        ),
        digest,
    )


def row_of_binding(record: CopiedBinding) -> Row:
    """Return the columns of a binding."""
    binding = record.binding
    return (
        binding.binding_id,
        binding.label,
        compact_json(binding.accounts),
        binding.authorization_version,
        binding.created_at_ms,
        binding.revoked_at_ms,
        record.token_digest,
    )


def message_of(row: Row) -> CopiedMessage:
    """Return a message; its key is its position."""
    position, account, name, sequence, received_at_ms, committed_at_ms = row[:6]
    return CopiedMessage(
        ConversationKey(account, name),
        sequence,
        ObservedMessage._make(row[6:]),
        received_at_ms,
        committed_at_ms,
        LogPosition(ONE_PARTITION, position),
    )


def log_of(
    messages: Sequence[Row], envelopes: Sequence[Row], limit: int
) -> tuple[list[CopiedRecord], int | None]:
    """Return the first records of a log by their positions, and where to go on.

    Both lists are of the log behind the same position, each up to the limit.
    """
    rows = sorted((*messages, *envelopes), key=lambda row: cast("int", row[0]))[:limit]
    records: list[CopiedRecord] = [
        _log_entry_of(row) if len(row) == _ENVELOPE_COLUMNS else message_of(row)
        for row in rows
    ]
    return records, rows[-1][0] if len(rows) == limit else None


def _log_entry_of(row: Row) -> CopiedLogEntry:
    position, key, body = row
    return CopiedLogEntry(LogPosition(ONE_PARTITION, position), key, body)


def row_of_message(record: CopiedMessage) -> Row:
    """Return the columns of a message, without its position."""
    return (
        *scope_of(record),
        record.sequence,
        record.received_at_ms,
        record.committed_at_ms,
        *record.message,
    )


def row_in_conversation(record: CopiedInConversation) -> Row:
    """Return the scope and the other fields; a conflict's digest comes last."""
    row = (*scope_of(record), *astuple(record)[1:])
    if isinstance(record, CopiedConflict | CopiedCardConflict):
        return (*row, hashlib.sha256(record.content.encode()).digest())
    return row


def scope_of(record: CopiedInConversation) -> tuple[str, str]:
    """Return a record's conversation as two columns."""
    key = record.conversation
    return (key.channel_account_id, key.conversation_id)


def envelope_key_of(record: CopiedCommit) -> str:
    """Return what the log calls a message, also where its record is gone."""
    if record.key.origin == "sent":
        return record.coordinates.message_id
    key = record.key
    return canonical_json((key.tenant, key.sender, key.client_message_id))


def mark_text(mark: CopyMark) -> str:
    """Return a mark as text; equal marks are equal texts."""
    source = astuple(mark.source)
    return canonical_json(
        [source, mark.store_id, mark.kind, mark.cursor, dict(mark.loaded)]
    )


def mark_of(text: str) -> CopyMark:
    """Return the mark of `mark_text`."""
    source, *others = cast("list[Any]", parse_json(text))
    return CopyMark(StoreFacts(*source), *others)


def _conversation_of(row: Row) -> CopiedRecord:
    title, latest_at_ms, last_sequence, next_time_stamp, is_complete, page = row[3:]
    return CopiedConversation(
        ConversationKey(*row[1:3]),
        title,
        latest_at_ms,
        last_sequence,
        next_time_stamp,
        None if is_complete is None else bool(is_complete),
        page,
    )


def _in_conversation(
    kind: Callable[..., CopiedInConversation],
) -> Callable[[Row], CopiedRecord]:
    return lambda row: kind(ConversationKey(*row[1:3]), *row[3:])


BUILDERS: Final[dict[str, Callable[[Row], CopiedRecord]]] = {
    "bindings": binding_of,
    "conversations": _conversation_of,
    "conflicts": _in_conversation(CopiedConflict),
    "anchors": _in_conversation(CopiedAnchor),
    "profiles": _in_conversation(CopiedProfile),
    "cards": _in_conversation(CopiedCard),
    "card conflicts": _in_conversation(CopiedCardConflict),
    "facts": _in_conversation(CopiedFacts),
}
"""Make records of rows, where a kind is a table."""
