"""Records of versions 1 and 6: keyed by device or counted, of another form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from e2e.old_databases.accounts import CONVERSATIONS, DEVICE, NEWEST_MS
from e2e.old_databases.records import STATES, digest, in_order
from e2e.old_databases.shapes import (
    ANOMALIES,
    CANDIDATES,
    CHECKPOINTS,
    MESSAGES,
    PROFILES,
)
from extension_harness.storage import Record

Ancient = Mapping[str, tuple[Record, ...]]


def version_1(amount: int) -> Ancient:
    """Messages and checkpoints, a device's own."""
    return {
        MESSAGES: in_order("messageId", _by_device(amount)),
        CHECKPOINTS: _checkpoints(),
    }


def version_6(amount: int) -> Ancient:
    """All five, the messages counted, in every state."""
    counted = tuple(
        Record(at, {"id": at, **record})
        for at, record in enumerate(_by_device(amount), start=1)
    )
    return {
        MESSAGES: counted,
        CANDIDATES: in_order("candidateKey", _candidates(amount)),
        CHECKPOINTS: _checkpoints(),
        ANOMALIES: in_order(
            "key",
            (
                {"key": f"{DEVICE}|{code}", "code": code, "messageId": code}
                for code in ("conflict", "unknown_kind")
            ),
        ),
        PROFILES: (
            Record(1, {"key": 1, "deviceId": DEVICE, "pendingTimes": [1, 2, 3]}),
            Record(7, {"key": 7, "deviceId": DEVICE, "name": "buyer", "pending": None}),
        ),
    }


def _by_device(amount: int) -> Iterator[dict[str, Any]]:
    for conversation in CONVERSATIONS:
        for at in range(amount):
            yield {
                "messageId": f"{DEVICE}|{conversation}|{at:06}",
                "deviceId": DEVICE,
                "conversationId": conversation,
                "time": {"$date": NEWEST_MS - at},
                "uploaded": at % 2 == 0,
                "body": f"old message {at}",
            }


def _candidates(amount: int) -> Iterator[dict[str, Any]]:
    for at, message in enumerate(_by_device(amount)):
        yield {
            "candidateKey": f"{DEVICE}|{at:06}",
            "deviceId": DEVICE,
            "conversationId": message["conversationId"],
            "status": STATES[at % len(STATES)],
            "digest": digest(str(at)),
        }


def _checkpoints() -> tuple[Record, ...]:
    return in_order(
        "conversationId",
        (
            {
                "conversationId": conversation,
                "deviceId": DEVICE,
                "phase": "completed",
                "historyComplete": True,
                "latestMessageId": "4200000000000",
            }
            for conversation in CONVERSATIONS
        ),
    )
