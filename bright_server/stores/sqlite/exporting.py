"""A whole SQLite store as records, page by page."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import Final

from bright_server.commit.encoding import decode_intent
from bright_server.commit.records import CommitKey, CommitState, Coordinates
from bright_server.commit.transfer import (
    CopiedCommit,
    CopiedPage,
    CopiedRecord,
    StoreFacts,
)
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey
from bright_server.sql_file import statements_in
from bright_server.stores.copied_rows import BUILDERS, Row, log_of, statement
from bright_server.stores.sqlite.connection import StoreConnection, translated
from bright_server.stores.sqlite.history import record_of
from bright_server.stores.sqlite.queries import SQL as STORE_SQL
from bright_server.wire.text import canonical_json, parse_json

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

    def rows_of(what: str) -> list[Row]:
        query = SQL[statement("page", what)]
        return database.execute(query, (after, limit)).fetchall()

    if kind == "log":
        records, last = log_of(rows_of("messages"), rows_of("envelopes"), limit)
        return CopiedPage(records, None if last is None else str(last))
    rows = rows_of(kind)
    if kind == "commits":
        records = [_commit(database, row) for row in rows]
    else:
        records = list(map(BUILDERS[kind], rows))
    if len(rows) < limit:
        return CopiedPage(records, None)
    return CopiedPage(records, canonical_json(rows[-1][0]))


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
