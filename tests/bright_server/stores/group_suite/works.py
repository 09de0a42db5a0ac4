"""Work for a store, and how to read what became of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from bright_server.commit.groups import (
    BatchCommitted,
    Claim,
    ObservedBatch,
    Outcome,
)
from bright_server.messages import (
    ConversationKey,
    Grant,
    ObservedMessage,
    ObservedMessages,
)
from tests.bright_server.frames import ACCOUNT, CONVERSATION, FIRST_ID

Records: TypeAlias = Callable[[str], Awaitable[list[dict[str, Any]]]]
"""Returns the records of one kind that a dump of the store gives."""

KEY = ConversationKey(ACCOUNT, CONVERSATION)
OTHER = ConversationKey(ACCOUNT, "other")


def observed(
    number: int, text: str | None = None, **changes: object
) -> ObservedMessage:
    fields: dict[str, Any] = {
        "message_id": str(FIRST_ID + number),
        "sender_id": "3500000000002",
        "direction": "inbound",
        "sent_at_ms": FIRST_ID + number,
        "kind": "text",
        "text": text or f"text {number}",
        "content": None,
        "quote": None,
        "recall": None,
        "raw": None,
    }
    return ObservedMessage(**(fields | changes))


def batch(
    grant: Grant, *messages: ObservedMessage, key: ConversationKey = KEY
) -> ObservedBatch:
    columns = ObservedMessages.of(messages)
    return ObservedBatch(grant, key, FIRST_ID + 1_000_000, columns)


def claim(grant: Grant, number: int, key: ConversationKey = KEY) -> Claim:
    return Claim(grant, key, str(FIRST_ID + number), FIRST_ID + number)


def told(outcome: Outcome) -> list[tuple[str, int]]:
    """What became of each message of a batch, and the sequence it was told."""
    assert isinstance(outcome, BatchCommitted)
    return [
        (
            "conflict"
            if index in outcome.conflicts
            else "repeat"
            if index in outcome.repeats
            else "new",
            sequence,
        )
        for index, sequence in enumerate(outcome.sequences)
    ]


def sequences(outcome: Outcome) -> list[tuple[int, bool]]:
    """The sequence of each message, and whether it was there already."""
    found = told(outcome)
    assert "conflict" not in {kind for kind, _ in found}
    return [(sequence, kind == "repeat") for kind, sequence in found]
