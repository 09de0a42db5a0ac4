"""The whole store as records, for comparison with the truth.

Reads one snapshot, beside a running server or after its death; changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from bright_server.commit.observed_content import CONTENT_FIELDS
from bright_server.commit.records import CommitState
from bright_server.errors import StoreMissing
from bright_server.stores.sqlite.connection import translated
from bright_server.stores.sqlite.queries import SQL
from bright_server.stores.sqlite.reading import opened_for_reading
from bright_server.stores.sqlite.schema import stored_version
from bright_server.wire.text import parse_json

_SCOPE: Final = ("channelAccountId", "conversationId")
_MESSAGE: Final = (
    *_SCOPE, "messageId", "sequence", "position", "senderId", "direction", "sentAtMs",
    "kind", "text", "content", "quote", "recall", "raw", "receivedAtMs",
)  # fmt: skip
_COMMIT: Final = (
    *_SCOPE, "messageId", "sequence", "origin", "tenant", "sender", "clientMessageId",
    "state", "createdAtMs", "logPartition", "logOffset",
)  # fmt: skip
_JSON: Final = frozenset(
    {
        "content", "quote", "recall", "raw", "nextTimeStamp", "profile", "facts",
        "mentions",
    }
)  # fmt: skip


def dump(database: Path) -> Iterator[dict[str, object]]:
    """Yield every record, the store's own first.

    A database that an older server wrote, and none has opened since, has fewer kinds.

    Raises:
        StoreMissing: there is no such file, or an empty one; none is made.
        SchemaRefused: it is another program's, needs a newer Bright, or is a copy that
            is not finished.
        StoreUnavailable: it could not be read.
    """
    with translated(f"read {database}"), opened_for_reading(database) as reader:
        reader.execute("BEGIN")
        if not stored_version(reader, database):
            raise StoreMissing(database)
        store_id, version = reader.execute(SQL["store"]).fetchone()
        yield {"type": "store", "storeId": store_id, "schemaVersion": version}
        parts = _PARTS | (_PARTS_OF_2 if version >= 2 else {})
        parts |= _PARTS_OF_3 if version >= 3 else {}
        for query, build in parts.items():
            for row in reader.execute(SQL[query]):
                yield build(row)


def _named(
    kind: str, names: tuple[str, ...], row: tuple[Any, ...]
) -> dict[str, object]:
    record: dict[str, object] = {"type": kind}
    for name, value in zip(names, row, strict=True):
        record[name] = parse_json(value) if name in _JSON and value else value
    return record


def _conversation(row: tuple[Any, ...]) -> dict[str, object]:
    record = _named(
        "conversation",
        (
            *_SCOPE, "title", "latestMessageAtMs", "lastSequence", "nextTimeStamp",
            "historyComplete", "page",
        ),
        row,
    )  # fmt: skip
    if record["historyComplete"] is not None:
        record["historyComplete"] = bool(record["historyComplete"])
    return record


def _commit(row: tuple[Any, ...]) -> dict[str, object]:
    record = _named("commit", _COMMIT, row)
    record["state"] = CommitState(cast("int", record["state"])).name
    return record


def _conflict(row: tuple[Any, ...]) -> dict[str, object]:
    account, conversation, message_id, content, received_at_ms, noted_at_ms = row
    record = _named(
        "conflict", (*_SCOPE, "messageId"), (account, conversation, message_id)
    )
    values = parse_json(content)
    assert isinstance(values, list)  # noqa: S101 - written by canonical_content
    for name, value in zip(CONTENT_FIELDS, values, strict=True):
        record[name] = parse_json(value) if name in _JSON and value else value
    return record | {"receivedAtMs": received_at_ms, "notedAtMs": noted_at_ms}


_Parts: TypeAlias = dict[str, Callable[[tuple[Any, ...]], dict[str, object]]]
_PARTS: Final[_Parts] = {
    "dump_conversations": _conversation,
    "dump_messages": lambda row: _named("message", _MESSAGE, row),
    "dump_conflicts": _conflict,
    "dump_anchors": lambda row: _named(
        "anchor", (*_SCOPE, "latestMessageId", "anchoredAtMs"), row
    ),
    "dump_outbox": lambda row: _named(
        "outbox", ("position", *_SCOPE, "messageId"), row
    ),
}
_PARTS_OF_2: Final[_Parts] = {
    "dump_profiles": lambda row: _named(
        "contactProfile",
        (
            *_SCOPE, "aliId", "observedAtMs", "fingerprint", "profile",
            "committedAtMs", "bindingId",
        ),
        row,
    ),
    "dump_cards": lambda row: _named(
        "renderedCard",
        (*_SCOPE, "messageId", "cardKind", "content", "committedAtMs", "bindingId"),
        row,
    ),
    "dump_card_conflicts": lambda row: _named(
        "cardConflict",
        (*_SCOPE, "messageId", "cardKind", "content", "notedAtMs", "bindingId"),
        row,
    ),
    "dump_facts": lambda row: _named(
        "buyerFacts",
        (
            *_SCOPE, "observedAtMs", "fingerprint", "facts", "committedAtMs",
            "bindingId",
        ),
        row,
    ),
}  # fmt: skip
_PARTS_OF_3: Final[_Parts] = {
    "dump_details": lambda row: _named(
        "messageDetail",
        (
            *_SCOPE, "messageId", "sentAtMs", "customType", "bodyReference", "mentions",
            "replyTo", "historyExpiresAtMs",
        ),
        row,
    ),
    "dump_commits": _commit,
}  # fmt: skip
