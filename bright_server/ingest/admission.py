"""From a batch on the wire to messages that may be stored. No I/O.

Each message stands for itself: what cannot be stored is refused with a stable code, the
others go on (OT-32).
"""

from __future__ import annotations

from operator import itemgetter
from typing import TypeAlias

from bright_server.ingest.secrets import holds_secret, text_holds_secret
from bright_server.messages import (
    ObservedMessage,
    RefusalCode,
    RefusedMessage,
    observed,
)
from bright_server.wire.codec import PartialBatch, canonical_json
from bright_server.wire.requests import Message, ObservationBatch

# A character of UTF-8 takes up to four bytes.
_MAX_BYTES_PER_CHARACTER = 4

# The seven required fields and a text: with more, there is a structured part.
_PLAIN_FIELDS = 8
_plain_values = itemgetter(
    "candidateKey", "messageId", "senderId", "direction", "sentAtMs", "kind", "text"
)

_Parts: TypeAlias = tuple[str | None, str | None, str | None, str | None]
_NO_PARTS: _Parts = (None, None, None, None)


def admit(
    batch: ObservationBatch | PartialBatch, frame_text: str, max_message_bytes: int
) -> list[ObservedMessage | RefusedMessage]:
    """Judge every message of a batch, in its order."""
    judged: list[ObservedMessage | RefusedMessage]
    if isinstance(batch, PartialBatch):
        conversation = batch.envelope.conversation_id
        judged = [_judged(entry, conversation) for entry in batch.entries]
    else:
        conversation = batch.conversation_id
        # Most messages are plain text and right, and not worth a call each.
        judged = [
            observed((*_plain_values(entry), *_NO_PARTS))
            if len(entry) == _PLAIN_FIELDS
            and entry["conversationId"] == conversation
            and (text := entry.get("text")) is not None
            and not text_holds_secret(text)
            else _judged(entry, conversation)
            for entry in batch.messages
        ]
    # What the whole frame cannot have, no message has.
    if len(frame_text) * _MAX_BYTES_PER_CHARACTER > max_message_bytes:
        judged = [_within(message, max_message_bytes) for message in judged]
    return judged


def _judged(
    entry: Message | RefusedMessage, conversation_id: str
) -> ObservedMessage | RefusedMessage:
    if isinstance(entry, RefusedMessage):
        return entry
    if entry["conversationId"] != conversation_id:
        return _refusal(entry, "conversation_mismatch")
    text = entry.get("text")
    if len(entry) == _PLAIN_FIELDS and text is not None:
        if text_holds_secret(text):
            return _refusal(entry, "contains_secret")
        return observed((*_plain_values(entry), *_NO_PARTS))
    try:
        parts = _canonical_parts(entry)
        is_secret = holds_secret(text, parts)
    except (ValueError, RecursionError):  # a number, or a depth, beyond JSON
        return _refusal(entry, "invalid_message")
    if is_secret:
        return _refusal(entry, "contains_secret")
    return ObservedMessage(
        entry["candidateKey"],
        entry["messageId"],
        entry["senderId"],
        entry["direction"],
        entry["sentAtMs"],
        entry["kind"],
        text,
        *parts,
    )


def _canonical_parts(entry: Message) -> _Parts:
    return (
        _canonical(entry.get("content")),
        _canonical(entry.get("quote")),
        _canonical(entry.get("recall")),
        _canonical(entry.get("raw")),
    )


def _canonical(part: object) -> str | None:
    return None if part is None else canonical_json(part)


def _refusal(entry: Message, code: RefusalCode) -> RefusedMessage:
    return RefusedMessage(entry["candidateKey"], entry["messageId"], code)


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


def _refused(message: ObservedMessage, code: RefusalCode) -> RefusedMessage:
    return RefusedMessage(message.candidate_key, message.message_id, code)
