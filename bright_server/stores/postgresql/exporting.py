"""A whole store in PostgreSQL as records, page by page."""

from __future__ import annotations

from typing import Final

import psycopg

from bright_server.commit.encoding import decode_intent
from bright_server.commit.records import CommitKey, CommitState, Coordinates
from bright_server.commit.transfer import (
    CopiedCommit,
    CopiedPage,
    CopiedRecord,
    StoreFacts,
)
from bright_server.errors import StoreUnavailable
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey
from bright_server.sql_file import statements_in
from bright_server.stores.copied_rows import BUILDERS, Row, log_of, statement
from bright_server.stores.postgresql.commit_rows import record_of_row
from bright_server.stores.postgresql.connection import StoreConnection, worded
from bright_server.wire.text import canonical_json, parse_json

SQL: Final = {
    name: text.encode()
    for name, text in statements_in(__package__, "transfer.sql").items()
}


class PostgresqlExport:
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
        after: object = None if cursor is None else parse_json(cursor)
        try:
            if kind == "log":
                behind = after or 0
                named = {"after": behind, "limit": limit}
                messages = await self._rows("page_messages", named)
                envelopes = await self._rows("page_envelopes", (behind, limit))
                records, last = log_of(messages, envelopes, limit)
                return CopiedPage(records, None if last is None else str(last))
            if kind == "commits":
                after = bytes.fromhex(str(after or ""))
            elif after is None:
                after = "" if kind == "bindings" else 0
            rows = await self._rows(statement("page", kind), (after, limit))
        except psycopg.Error as error:
            raise StoreUnavailable(f"read its {kind}", worded(error)) from error
        build = _commit if kind == "commits" else BUILDERS[kind]
        records = list(map(build, rows))
        if len(rows) < limit:
            return CopiedPage(records, None)
        key = rows[-1][0]
        return CopiedPage(
            records, canonical_json(key.hex() if kind == "commits" else key)
        )

    async def _rows(
        self, name: str, parameters: tuple[object, ...] | dict[str, object]
    ) -> list[Row]:
        return await (await self._connection.execute(SQL[name], parameters)).fetchall()


def _commit(row: Row) -> CopiedRecord:
    identity, account, name, message_id, sequence, state, created_at_ms = row[5:12]
    frozen, partition, offset, received_at_ms, *columns = row[12:]
    conversation = ConversationKey(account, name)
    record = delivery = None
    if frozen is not None:
        intent = decode_intent(frozen, identity, sequence, CommitState(state), None)
        record, delivery = intent.record, intent.delivery
    elif received_at_ms is not None:
        record = record_of_row(conversation, received_at_ms, tuple(columns))
    return CopiedCommit(
        CommitKey(*row[1:5]),
        identity,
        Coordinates(conversation, message_id, sequence),
        CommitState(state),
        created_at_ms,
        None if offset is None else LogPosition(partition, offset),
        record,
        delivery,
    )
