"""From a batch on the wire to messages that may be stored. No I/O.

Each message stands for itself: what cannot be stored is refused with a stable code, the
others go on (OT-32).
"""

from __future__ import annotations

from collections.abc import Sequence

from bright_server.ingest.secrets import frame_may_hold_secret, holds_secret
from bright_server.messages import ObservedMessage, RefusalCode, RefusedMessage
from bright_server.wire.codec import PartialBatch, canonical_json
from bright_server.wire.requests import Message, ObservationBatch

# A character of UTF-8 takes up to four bytes.
_MAX_BYTES_PER_CHARACTER = 4


def admit(
    batch: ObservationBatch | PartialBatch, frame_text: str, max_message_bytes: int
) -> list[ObservedMessage | RefusedMessage]:
    """Judge every message of a batch, in its order."""
    entries: Sequence[Message | RefusedMessage]
    if isinstance(batch, PartialBatch):
        conversation, entries = batch.envelope.conversation_id, batch.entries
    else:
        conversation, entries = batch.conversation_id, batch.messages
    judged: list[ObservedMessage | RefusedMessage] = [
        entry if isinstance(entry, RefusedMessage) else _observed(entry, conversation)
        for entry in entries
    ]
    # What the whole frame cannot have, no message has.
    if len(frame_text) * _MAX_BYTES_PER_CHARACTER > max_message_bytes:
        judged = [_within(message, max_message_bytes) for message in judged]
    if _may_hold_secret(judged, frame_text):
        judged = [_without_secret(message) for message in judged]
    return judged


def _may_hold_secret(
    judged: Sequence[ObservedMessage | RefusedMessage], frame_text: str
) -> bool:
    # In plain text a secret follows a "=", or a quote that JSON has to escape; most
    # frames have neither, and no structured parts.
    is_plain = "=" not in frame_text and "\\" not in frame_text
    if is_plain and not any(map(_has_parts, judged)):
        return False
    return frame_may_hold_secret(frame_text)


def _has_parts(message: ObservedMessage | RefusedMessage) -> bool:
    return not isinstance(message, RefusedMessage) and (
        message.content is not None
        or message.quote is not None
        or message.recall is not None
        or message.raw is not None
    )


def _observed(
    message: Message, conversation_id: str
) -> ObservedMessage | RefusedMessage:
    if message.conversation_id != conversation_id:
        return _refused(message, "conversation_mismatch")
    content = quote = recall = raw = None
    try:
        if message.content is not None:
            content = canonical_json(message.content)
        if message.quote is not None:
            quote = canonical_json(message.quote)
        if message.recall is not None:
            recall = canonical_json(message.recall)
        if message.raw is not None:
            raw = canonical_json(message.raw)
    except ValueError:  # a number that JSON cannot say
        return _refused(message, "invalid_message")
    return ObservedMessage(
        message.candidate_key,
        message.message_id,
        message.sender_id,
        message.direction,
        message.sent_at_ms,
        message.kind,
        message.text,
        content,
        quote,
        recall,
        raw,
    )


def _within(
    message: ObservedMessage | RefusedMessage, max_message_bytes: int
) -> ObservedMessage | RefusedMessage:
    if isinstance(message, RefusedMessage):
        return message
    parts = (
        message.text, message.content, message.quote, message.recall, message.raw,
    )  # fmt: skip
    size_bytes = sum(len(part.encode()) for part in parts if part is not None)
    return _refused(message, "too_large") if size_bytes > max_message_bytes else message


def _without_secret(
    message: ObservedMessage | RefusedMessage,
) -> ObservedMessage | RefusedMessage:
    if isinstance(message, RefusedMessage) or not holds_secret(message):
        return message
    return _refused(message, "contains_secret")


def _refused(message: Message | ObservedMessage, code: RefusalCode) -> RefusedMessage:
    return RefusedMessage(message.candidate_key, message.message_id, code)
