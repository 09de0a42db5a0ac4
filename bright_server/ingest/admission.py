"""From a batch on the wire to messages that may be stored. No I/O.

Each message stands for itself: what cannot be stored is refused with a stable code, the
others go on (OT-32).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from bright_server.ingest.secrets import any_text_holds_secret, holds_secret
from bright_server.messages import (
    ObservedMessage,
    ObservedMessages,
    RefusalCode,
    RefusedMessage,
    StructuredParts,
)
from bright_server.wire.batches import WholeBatch, WireMessage
from bright_server.wire.codec import PartialBatch
from bright_server.wire.text import canonical_json

# How much longer than on the wire a part may be as canonical JSON: 1e15 is
# 1000000000000000.0.
_MAX_GROWTH: Final = 5


@dataclass(frozen=True, slots=True)
class Admitted:
    """A batch as it was judged.

    `candidate_keys` and `message_ids` are the handles of all of its messages; `refused`
    says by index which cannot be stored, and why; `messages` are the others.
    """

    candidate_keys: Sequence[str]
    message_ids: Sequence[str]
    refused: Mapping[int, RefusalCode]
    messages: ObservedMessages


def admit(
    batch: WholeBatch | PartialBatch, frame_bytes: int, max_message_bytes: int
) -> Admitted:
    """Judge every message of a batch that came in a frame of `frame_bytes`."""
    # What the whole frame cannot have, no message has.
    may_be_too_large = frame_bytes * _MAX_GROWTH > max_message_bytes
    if isinstance(batch, WholeBatch) and not may_be_too_large:
        admitted = _at_once(batch)
        if admitted is not None:
            return admitted
    conversation = batch.envelope.conversation_id
    judged = [_judged(entry, conversation) for entry in batch.entries]
    if may_be_too_large:
        judged = [_within(each, max_message_bytes) for each in judged]
    return Admitted(
        [entry.candidate_key for entry in batch.entries],
        [entry.message_id for entry in batch.entries],
        {i: each for i, each in enumerate(judged) if isinstance(each, str)},
        ObservedMessages.of([each for each in judged if not isinstance(each, str)]),
    )


def _at_once(batch: WholeBatch) -> Admitted | None:
    """Judge a batch of plain texts with nothing to refuse, which is nearly each one."""
    columns = batch.columns
    size = len(columns.message_ids)
    if (
        columns.conversation_ids.count(batch.envelope.conversation_id) != size
        or not batch.is_plain
        or any_text_holds_secret(cast("Sequence[str]", columns.texts))
    ):
        return None
    messages = ObservedMessages(
        columns.message_ids,
        columns.sender_ids,
        columns.directions,
        columns.sent_at_ms,
        columns.kinds,
        columns.texts,
    )
    return Admitted(columns.candidate_keys, columns.message_ids, {}, messages)


def _judged(
    entry: WireMessage | RefusedMessage, conversation_id: str
) -> ObservedMessage | RefusalCode:
    if isinstance(entry, RefusedMessage):
        return entry.code
    if entry.conversation_id != conversation_id:
        return "conversation_mismatch"
    try:
        parts = _canonical_parts(entry)
        is_secret = holds_secret(entry.text, parts)
    except (ValueError, RecursionError):  # a number, or a depth, beyond JSON
        return "invalid_message"
    if is_secret:
        return "contains_secret"
    return ObservedMessage(
        entry.message_id,
        entry.sender_id,
        entry.direction,
        entry.sent_at_ms,
        entry.kind,
        entry.text,
        *parts,
    )


def _canonical_parts(entry: WireMessage) -> StructuredParts:
    return (
        _canonical(entry.content),
        _canonical(entry.quote),
        _canonical(entry.recall),
        _canonical(entry.raw),
    )


def _canonical(part: object) -> str | None:
    return None if part is None else canonical_json(part)


def _within(
    message: ObservedMessage | RefusalCode, max_message_bytes: int
) -> ObservedMessage | RefusalCode:
    if isinstance(message, str):
        return message
    parts = (
        message.text, message.content, message.quote, message.recall, message.raw,
    )  # fmt: skip
    size_bytes = sum(len(part.encode()) for part in parts if part is not None)
    return "too_large" if size_bytes > max_message_bytes else message
