"""What an intent has frozen, as canonical bytes: for stores and for the log. No I/O.

A store keeps `encode_frozen` beside the few things that it gives or moves by itself:
the sequence, the state, the publication and the persisted identity. `envelope_of` is
what the log is told (CL-10). Both are canonical JSON: equal facts are equal bytes.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final, cast

from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommitState,
    Coordinates,
    FrozenDelivery,
    MessageContent,
    MessageRecord,
    OutboxPublication,
    ReserveCandidate,
)
from bright_server.errors import CommitUnreadable
from bright_server.fanout.contract import CommittedEnvelope
from bright_server.messages import ConversationKey
from bright_server.wire.text import canonical_json, parse_json

FORMAT: Final = 1


def record_of(request: AuthenticatedSend, candidate: ReserveCandidate) -> MessageRecord:
    """Return the whole canonical record that a first `reserve` freezes (MS-11)."""
    return MessageRecord(
        candidate.message_id,
        request.conversation,
        request.content,
        request.mentions,
        request.reply_to,
        candidate.created_at_ms,
        candidate.history_expires_at_ms,
        candidate.raw,
    )


def encode_frozen(
    key: CommitKey, record: MessageRecord, delivery: FrozenDelivery
) -> bytes:
    """Return what is frozen of an intent as canonical bytes."""
    return canonical_json(
        {
            "format": FORMAT,
            "key": asdict(key),
            "record": asdict(record),
            "delivery": asdict(delivery),
        }
    ).encode()


def decode_intent(
    frozen: bytes,
    identity: bytes,
    sequence: int,
    state: CommitState,
    publication: OutboxPublication | None,
) -> CommitIntent:
    """Return the intent that a store has kept.

    Raises:
        CommitUnreadable: the bytes are not what `encode_frozen` makes.
    """
    try:
        kept = cast("dict[str, Any]", parse_json(frozen.decode()))
        if kept["format"] != FORMAT:
            raise CommitUnreadable("an intent", f"its format is {kept['format']!a}")
        key = CommitKey(**kept["key"])
        record = _record(kept["record"])
        delivery = FrozenDelivery(**kept["delivery"])
    except (ValueError, TypeError, KeyError) as error:
        raise CommitUnreadable(
            "an intent", f"{type(error).__name__}: {error}"
        ) from error
    return CommitIntent(
        key,
        identity,
        Coordinates(record.conversation, record.message_id, sequence),
        record,
        delivery,
        state,
        publication,
    )


def envelope_of(intent: CommitIntent) -> CommittedEnvelope:
    """Return what the log is told of an intent: record, place, for whom (CL-10)."""
    body = canonical_json(
        {
            "format": FORMAT,
            "sequence": intent.coordinates.sequence,
            "record": asdict(intent.record),
            "delivery": asdict(intent.delivery),
        }
    )
    return CommittedEnvelope(envelope_key(intent.key, intent.record), body.encode())


def envelope_key(key: CommitKey, record: MessageRecord) -> str:
    """Return the log's key of a message, the same in every retry (CL-10).

    Of a message that is sent it is its id, which the server made. A page's ids are
    unique in their conversation only, so an observation is called by its scope (OT-01).
    """
    if key.origin == "sent":
        return record.message_id
    scope = (key.tenant, key.sender, key.client_message_id)
    return canonical_json(scope)


def encode_record(record: MessageRecord) -> bytes:
    """Return a record as canonical bytes, for a store that keeps it as such."""
    return canonical_json(asdict(record)).encode()


def decode_record(kept: bytes) -> MessageRecord:
    """Return the record of `encode_record`.

    Raises:
        CommitUnreadable: the bytes are not what it makes.
    """
    try:
        return _record(cast("dict[str, Any]", parse_json(kept.decode())))
    except (ValueError, TypeError, KeyError) as error:
        raise CommitUnreadable(
            "a record", f"{type(error).__name__}: {error}"
        ) from error


def _record(kept: dict[str, Any]) -> MessageRecord:
    return MessageRecord(
        **{
            **kept,
            "conversation": ConversationKey(**kept["conversation"]),
            "content": MessageContent(**kept["content"]),
            "mentions": tuple(kept["mentions"]),
        }
    )
