"""The whole store as records, for comparison with the truth.

Reads one snapshot, beside running servers; changes nothing. The kinds and their fields
are those of the embedded store.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final, TypeAlias, cast

import psycopg

from bright_server.commit.encoding import envelope_key
from bright_server.commit.observed_content import CONTENT_FIELDS
from bright_server.commit.records import CommitState
from bright_server.errors import CommitUnreadable, StoreMissing, StoreUnavailable
from bright_server.logs.postgresql import envelope_digest
from bright_server.settings import Settings
from bright_server.stores.postgresql.commit_rows import intent_of
from bright_server.stores.postgresql.connection import (
    Row,
    StoreConnection,
    connected,
    worded,
)
from bright_server.stores.postgresql.queries import SQL
from bright_server.stores.postgresql.schema import stored_version
from bright_server.wire.text import parse_json

Record: TypeAlias = dict[str, object]

_ROWS_AT_ONCE: Final = 500
_SCOPE: Final = ("channelAccountId", "conversationId")
_CONVERSATION: Final = (
    *_SCOPE, "title", "latestMessageAtMs", "lastSequence", "nextTimeStamp",
    "historyComplete", "page",
)  # fmt: skip
_MESSAGE: Final = (
    *_SCOPE, "messageId", "sequence", "position", "senderId", "direction", "sentAtMs",
    "kind", "text", "content", "quote", "recall", "raw", "receivedAtMs",
)  # fmt: skip
_PROFILE: Final = (
    *_SCOPE, "aliId", "observedAtMs", "fingerprint", "profile", "committedAtMs",
    "bindingId",
)  # fmt: skip
_CARD: Final = (
    *_SCOPE, "messageId", "cardKind", "content", "committedAtMs", "bindingId",
)  # fmt: skip
_CARD_CONFLICT: Final = (
    *_SCOPE, "messageId", "cardKind", "content", "notedAtMs", "bindingId",
)  # fmt: skip
_FACTS: Final = (
    *_SCOPE, "observedAtMs", "fingerprint", "facts", "committedAtMs", "bindingId",
)  # fmt: skip
_COMMIT: Final = (
    *_SCOPE, "messageId", "sequence", "origin", "tenant", "sender", "clientMessageId",
    "state", "createdAtMs", "logPartition", "logOffset",
)  # fmt: skip
_DETAILS: Final = (
    "customType", "bodyReference", "mentions", "replyTo", "historyExpiresAtMs",
)  # fmt: skip
_ANCHOR: Final = (*_SCOPE, "latestMessageId", "anchoredAtMs")
_JSON: Final = frozenset(
    {"content", "quote", "recall", "raw", "nextTimeStamp", "profile", "facts"}
)


async def dump(settings: Settings) -> AsyncIterator[Record]:
    """Yield every record, the store's own first.

    Raises:
        StoreMissing: the database holds no store; none is made.
        SchemaRefused: it is for another Bright.
        StoreUnavailable: it could not be read.
    """
    where = str(settings.database)
    async with connected(settings) as connection:
        try:
            if not await stored_version(connection, where):
                raise StoreMissing(where)
            await connection.execute(SQL["begin_snapshot"])
            (row,) = await (await connection.execute(SQL["store"])).fetchall()
            yield {"type": "store", "storeId": row[0], "schemaVersion": row[1]}
            places = await _places_of_recorded(connection)
            for query, build in _PARTS.items():
                async for record in _records(connection, query, build):
                    if query == "dump_messages" and record["position"] is None:
                        record["position"] = places.get(_place_name(record))
                    yield record
        except psycopg.Error as error:
            raise StoreUnavailable(f"read {where}", worded(error)) from error


async def _records(
    connection: StoreConnection, query: str, build: Callable[[Row], Record]
) -> AsyncIterator[Record]:
    # On the server's side, so that a store of any size fits into this process.
    async with connection.cursor(query) as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        await cursor.execute(SQL[query])
        async for row in cursor:
            yield build(row)


async def _places_of_recorded(
    connection: StoreConnection,
) -> dict[tuple[object, ...], int]:
    """Return where the log has messages whose commits do not know of it."""
    places: dict[tuple[object, ...], int] = {}
    rows = await (await connection.execute(SQL["dump_recorded"])).fetchall()
    for account, conversation, sequence, identity, *kept in rows:
        try:
            intent = intent_of(identity, sequence, *kept)
        except CommitUnreadable:
            # It is shown as far as it can be read.
            continue
        digest = envelope_digest(envelope_key(intent.key, intent.record))
        found = await connection.execute(SQL["dump_place"], (digest,))
        row = await found.fetchone()
        if row is not None:
            places[account, conversation, sequence] = row[0]
    return places


def _place_name(record: Record) -> tuple[object, ...]:
    return tuple(record[name] for name in (*_SCOPE, "sequence"))


def _named(kind: str, names: tuple[str, ...]) -> Callable[[Row], Record]:
    def build(row: Row) -> Record:
        record: Record = {"type": kind}
        for name, value in zip(names, row, strict=True):
            record[name] = _value(name, value)
        return record

    return build


def _value(name: str, value: object) -> object:
    return parse_json(str(value)) if name in _JSON and value else value


def _conflict(row: Row) -> Record:
    account, conversation, message_id, content, received_at_ms, noted_at_ms = row
    scope = _named("conflict", (*_SCOPE, "messageId"))
    values = cast("list[object]", parse_json(content))
    said = zip(CONTENT_FIELDS, values, strict=True)
    return {
        **scope((account, conversation, message_id)),
        **{name: _value(name, value) for name, value in said},
        "receivedAtMs": received_at_ms,
        "notedAtMs": noted_at_ms,
    }


def _detail(row: Row) -> Record:
    *scope, sent_at_ms, details = row
    known = {} if details is None else cast("Record", parse_json(details))
    return {
        **_named("messageDetail", (*_SCOPE, "messageId"))(tuple(scope)),
        "sentAtMs": sent_at_ms,
        **{name: known.get(name) for name in _DETAILS},
    }


def _commit(row: Row) -> Record:
    record = _named("commit", _COMMIT)(row)
    record["state"] = CommitState(cast("int", record["state"])).name
    return record


def _outbox(row: Row) -> Record:
    *known, body = row
    if body is not None:
        known[1:] = _scope_of(body)
    return _named("outbox", ("position", *_SCOPE, "messageId"))(tuple(known))


def _scope_of(body: bytes) -> tuple[object, object, object]:
    """Return what an envelope is about, as far as it says so."""
    try:
        told = cast("Mapping[str, Any]", parse_json(body.decode()))
        record = told["record"]
        conversation = record["conversation"]
        return (
            conversation["channel_account_id"],
            conversation["conversation_id"],
            record["message_id"],
        )
    except (ValueError, TypeError, KeyError):
        return (None, None, None)


_PARTS: Final[dict[str, Callable[[Row], Record]]] = {
    "dump_conversations": _named("conversation", _CONVERSATION),
    "dump_messages": _named("message", _MESSAGE),
    "dump_conflicts": _conflict,
    "dump_anchors": _named("anchor", _ANCHOR),
    "dump_outbox": _outbox,
    "dump_profiles": _named("contactProfile", _PROFILE),
    "dump_cards": _named("renderedCard", _CARD),
    "dump_card_conflicts": _named("cardConflict", _CARD_CONFLICT),
    "dump_facts": _named("buyerFacts", _FACTS),
    "dump_details": _detail,
    "dump_commits": _commit,
}
