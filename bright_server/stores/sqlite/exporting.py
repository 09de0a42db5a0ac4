"""A whole SQLite store as records, page by page."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias, cast

from bright_server.authorization.contract import Binding
from bright_server.commit.encoding import decode_intent
from bright_server.commit.records import CommitKey, CommitState, Coordinates
from bright_server.commit.transfer import (
    CopiedAnchor,
    CopiedBinding,
    CopiedCard,
    CopiedCardConflict,
    CopiedCommit,
    CopiedConflict,
    CopiedConversation,
    CopiedFacts,
    CopiedLogEntry,
    CopiedMessage,
    CopiedPage,
    CopiedProfile,
    CopiedRecord,
    StoreFacts,
)
from bright_server.fanout.contract import LogPosition
from bright_server.logs.sqlite import PARTITION
from bright_server.messages import BindingId, ConversationKey, ObservedMessage
from bright_server.sql_file import statements_in
from bright_server.stores.sqlite.connection import StoreConnection, translated
from bright_server.stores.sqlite.history import record_of
from bright_server.stores.sqlite.queries import SQL as STORE_SQL
from bright_server.wire.text import canonical_json, parse_json

Row: TypeAlias = tuple[Any, ...]

SQL: Final = statements_in(__package__, "transfer.sql")


class SqliteExport:
    """See `StoreExport`; it does not own its connection."""

    def __init__(self, connection: StoreConnection, facts: StoreFacts) -> None:
        self._connection = connection
        self._facts = facts

    @property
    def facts(self) -> StoreFacts:
        """See `StoreExport.facts`."""
        return self._facts

    async def page(self, kind: str, cursor: str | None, limit: int) -> CopiedPage:
        """See `StoreExport.page`."""
        with translated(f"read its {kind}"):
            return await self._connection.do(
                partial(_page, kind=kind, cursor=cursor, limit=limit)
            )


def _page(
    database: sqlite3.Connection, kind: str, cursor: str | None, limit: int
) -> CopiedPage:
    first: object = "" if kind == "bindings" else -(2**63)
    after = first if cursor is None else parse_json(cursor)
    rows = database.execute(_statement("page", kind), (after, limit)).fetchall()
    build = _BUILDERS[kind]
    records = [build(database, row) for row in rows]
    if len(rows) < limit:
        return CopiedPage(records, None)
    return CopiedPage(records, canonical_json(rows[-1][0]))


def _statement(verb: str, kind: str) -> str:
    return SQL[f"{verb}_{kind.replace(' ', '_')}"]


def _binding(_: sqlite3.Connection, row: Row) -> CopiedRecord:
    binding_id, label, accounts, version, created_at_ms, revoked_at_ms, digest = row
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


def _conversation(_: sqlite3.Connection, row: Row) -> CopiedRecord:
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


def _message(_: sqlite3.Connection, row: Row) -> CopiedRecord:
    position, account, name, sequence, received_at_ms, committed_at_ms = row[:6]
    return CopiedMessage(
        ConversationKey(account, name),
        sequence,
        ObservedMessage._make(row[6:]),
        received_at_ms,
        committed_at_ms,
        LogPosition(PARTITION, position),
    )


def _log_entry(_: sqlite3.Connection, row: Row) -> CopiedRecord:
    position, key, body = row
    return CopiedLogEntry(LogPosition(PARTITION, position), key, body)


def _commit(database: sqlite3.Connection, row: Row) -> CopiedRecord:
    key = CommitKey(*row[1:5])
    identity, account, name, message_id, sequence, state, created_at_ms = row[5:12]
    frozen, partition, offset = row[12:]
    record = delivery = None
    if frozen is not None:
        intent = decode_intent(frozen, identity, sequence, CommitState(state), None)
        record, delivery = intent.record, intent.delivery
    elif offset is not None:
        there = database.execute(STORE_SQL["history_record"], (offset,)).fetchone()
        if there is not None:
            record = record_of(ConversationKey(account, name), there)
    return CopiedCommit(
        key,
        identity,
        Coordinates(ConversationKey(account, name), message_id, sequence),
        CommitState(state),
        created_at_ms,
        None if offset is None else LogPosition(partition, offset),
        record,
        delivery,
    )


def _in_conversation(
    kind: Callable[..., CopiedRecord],
) -> Callable[[sqlite3.Connection, Row], CopiedRecord]:
    """Build records whose fields are the columns behind the key and the scope."""
    return lambda _, row: kind(ConversationKey(*row[1:3]), *row[3:])


_BUILDERS: Final[dict[str, Callable[[sqlite3.Connection, Row], CopiedRecord]]] = {
    "bindings": _binding,
    "conversations": _conversation,
    "messages": _message,
    "log": _log_entry,
    "commits": _commit,
    "conflicts": _in_conversation(CopiedConflict),
    "anchors": _in_conversation(CopiedAnchor),
    "profiles": _in_conversation(CopiedProfile),
    "cards": _in_conversation(CopiedCard),
    "card conflicts": _in_conversation(CopiedCardConflict),
    "facts": _in_conversation(CopiedFacts),
}
