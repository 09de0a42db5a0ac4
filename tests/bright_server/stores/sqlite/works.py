"""Work for a store, and how to read what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bright_server.commit.contract import (
    BatchCommitted,
    Claim,
    CommittedMessage,
    ConflictingMessage,
    ObservedBatch,
    Outcome,
)
from bright_server.messages import (
    ConversationKey,
    Grant,
    ObservedMessage,
)
from bright_server.settings import Settings
from bright_server.stores.sqlite.dump import dump
from tests.bright_server.frames import ACCOUNT, CONVERSATION, FIRST_ID

KEY = ConversationKey(ACCOUNT, CONVERSATION)
OTHER = ConversationKey(ACCOUNT, "other")


def observed(
    number: int, text: str | None = None, **changes: object
) -> ObservedMessage:
    fields: dict[str, Any] = {
        "candidate_key": f"key-{number}",
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
    return ObservedBatch(grant, key, FIRST_ID + 1_000_000, messages)


def claim(grant: Grant, number: int, key: ConversationKey = KEY) -> Claim:
    return Claim(grant, key, str(FIRST_ID + number), FIRST_ID + number)


def outcomes(outcome: Outcome) -> Sequence[CommittedMessage | ConflictingMessage]:
    assert isinstance(outcome, BatchCommitted)
    return outcome.outcomes


def sequences(outcome: Outcome) -> list[tuple[int, bool]]:
    found = []
    for each in outcomes(outcome):
        assert isinstance(each, CommittedMessage)
        found.append((each.sequence, each.duplicate))
    return found


def records(settings: Settings, kind: str) -> list[dict[str, Any]]:
    return [each for each in dump(settings.database) if each["type"] == kind]
