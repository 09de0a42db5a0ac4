"""Single commits and their messages as rows. No I/O."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, cast

from bright_server.commit.encoding import decode_intent
from bright_server.commit.identity import is_identity_of
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    Coordinates,
    LoadedCommit,
    MessageRecord,
    OutboxPublication,
)
from bright_server.errors import CommitUnreadable
from bright_server.fanout.contract import LogPosition
from bright_server.logs.postgresql import PARTITION
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.stores.observed_commits import (
    observed_of,
    record_of_observed,
    request_of,
)
from bright_server.stores.postgresql.connection import Row
from bright_server.wire.text import canonical_json, parse_json


@dataclass(frozen=True, slots=True)
class KeptCommit:
    """What is persisted of a key: a single commit, or a message of a group."""

    conversation: ConversationKey
    loaded: LoadedCommit
    identity: bytes | None
    grouped: ObservedMessage | None = None
    ref: int = 0

    def is_of(self, request: AuthenticatedSend) -> bool:
        """Say whether it is this very request's.

        Raises:
            CommitUnreadable: its identity is in no form that is known here.
        """
        if self.identity is not None:
            return is_identity_of(self.identity, request)
        assert self.grouped is not None  # noqa: S101 - one of the two is there
        return request_of(self.conversation, self.grouped) == request


def key_digest(key: CommitKey) -> bytes:
    """Return the name of a key's row; different keys have different ones."""
    parts = (key.origin, key.tenant, key.sender, key.client_message_id)
    # A key that cannot be text is looked for in vain, as any other that nobody has.
    return hashlib.sha256(canonical_json(parts).encode(errors="surrogatepass")).digest()


def kept_commit(key: CommitKey, row: Row) -> KeptCommit:
    """Return the commit of a row of `find_commit`.

    Raises:
        CommitUnreadable: it is in no format that this server knows.
    """
    ref, sequence, identity, state, frozen, *publication, message_id = row[:8]
    conversation = ConversationKey(*row[8:])
    loaded: LoadedCommit
    if state == CommitState.COMMITTED:
        published = published_at(*publication)
        assert published is not None  # noqa: S101 - a check of the table says so
        loaded = CommittedMessage(
            key, Coordinates(conversation, message_id, sequence), published
        )
    else:
        loaded = intent_of(identity, sequence, state, frozen, *publication)
    return KeptCommit(conversation, loaded, identity, ref=ref)


def intent_of(
    identity: bytes,
    sequence: int,
    state: int,
    frozen: bytes,
    partition: str | None,
    offset: int | None,
) -> CommitIntent:
    """Return the intent of a row's columns.

    Raises:
        CommitUnreadable: it is in no format that this server knows.
    """
    return decode_intent(
        frozen, identity, sequence, CommitState(state), published_at(partition, offset)
    )


def grouped_commit(key: CommitKey, row: Row) -> KeptCommit:
    """Return the commit of a row of `find_grouped`."""
    sequence, *columns, position = row
    message = ObservedMessage._make(columns)
    conversation = ConversationKey(key.tenant, key.sender)
    loaded = CommittedMessage(
        key,
        Coordinates(conversation, message.message_id, sequence),
        OutboxPublication(LogPosition(PARTITION, position)),
    )
    return KeptCommit(conversation, loaded, None, message)


def published_at(partition: str | None, offset: int | None) -> OutboxPublication | None:
    """Return the publication of two columns."""
    if partition is None or offset is None:
        return None
    return OutboxPublication(LogPosition(partition, offset))


def message_row(ref: int, intent: CommitIntent) -> Row:
    """Return the columns of `add_message`."""
    record = intent.record
    shown = observed_of(record)
    return (
        ref,
        intent.coordinates.sequence,
        record.content.sent_at_ms,
        record.created_at_ms,
        intent.key.origin == "observed",
        shown.message_id,
        shown.sender_id,
        shown.direction,
        shown.kind,
        shown.text,
        shown.content,
        shown.quote,
        shown.recall,
        shown.raw,
        _details(record),
    )


def record_of_row(
    conversation: ConversationKey, received_at_ms: int, columns: Row
) -> MessageRecord:
    """Return the record of a row of history.

    Raises:
        CommitUnreadable: its details are in no format that this server knows.
    """
    *shown, details = columns
    message = ObservedMessage._make(shown)
    record = record_of_observed(conversation, message, received_at_ms)
    if details is None:
        return record
    try:
        known = cast("dict[str, Any]", parse_json(details))
        content = replace(
            record.content,
            custom_type=known.get("customType"),
            body_reference=known.get("bodyReference"),
        )
        return replace(
            record,
            content=content,
            mentions=tuple(known.get("mentions", ())),
            reply_to=known.get("replyTo"),
            history_expires_at_ms=known.get("historyExpiresAtMs"),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise CommitUnreadable(
            f"the message {message.message_id!a}", f"its details: {error}"
        ) from error


def _details(record: MessageRecord) -> str | None:
    """Return what a page's messages have not, as canonical JSON; None: nothing."""
    said = record.content
    details = {
        "customType": said.custom_type,
        "bodyReference": said.body_reference,
        "mentions": list(record.mentions) or None,
        "replyTo": record.reply_to,
        "historyExpiresAtMs": record.history_expires_at_ms,
    }
    known = {name: value for name, value in details.items() if value is not None}
    return canonical_json(known) if known else None
