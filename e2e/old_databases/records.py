"""Records as versions 7 to 9 wrote them: of every state, and some that are odd.

Keys are those of docs/store.md. ``amount`` is the number of messages a conversation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from e2e.old_databases.accounts import ACCOUNTS, DEVICE, NEWEST_MS, scopes
from extension_harness.storage import Record

STATES = ("confirmed", "pending_ack", "rejected", "awaiting_anchor", "anomaly")
CARD_STATES = ("confirmed", "pending_ack", "rejected", "anomaly")
UNDEFINED = {"$undefined": True}


def key(*parts: str) -> str:
    """A scope key, as ``JSON.stringify`` writes it."""
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def messages(amount: int) -> tuple[Record, ...]:
    """The facts, of both directions; the first has what only a clone can carry."""
    return in_order("key", _messages(amount))


def _messages(amount: int) -> Iterator[dict[str, Any]]:
    for account, conversation, message, sent_at in _facts(amount):
        record: dict[str, Any] = {
            "messageId": message,
            "conversationId": conversation,
            "senderId": account if int(message) % 2 else "700000000001",
            "direction": "outbound" if int(message) % 2 else "inbound",
            "sentAtMs": sent_at,
            "kind": "text",
            "text": f"Nachricht {message}: 报价 \U0001f4e6",
            "key": key(account, conversation, message),
            "channelAccountId": account,
            "contentDigest": digest(account, conversation, message),
            "observedAtMs": sent_at + 1,
        }
        if message.endswith("000"):
            record["raw"] = {"at": {"$date": sent_at}, "gone": UNDEFINED}
        yield record


def candidates(amount: int) -> tuple[Record, ...]:
    """One a fact, in every state by turns; three more that an index cannot hold."""
    return in_order("candidateKey", _candidates(amount))


def _candidates(amount: int) -> Iterator[dict[str, Any]]:
    for account, conversation, message, sent_at in _facts(amount):
        state = STATES[int(message) % len(STATES)]
        record: dict[str, Any] = {
            "candidateKey": key(account, conversation, f"{sent_at:015}", message),
            "channelAccountId": account,
            "conversationId": conversation,
            "messageId": message,
            "sentAtMs": sent_at,
            "status": state,
            "observedAtMs": sent_at + 1,
        }
        if state == "confirmed":
            record |= {"confirmedAtMs": sent_at + 5, "sequence": int(message)}
        if state == "rejected":
            record["code"] = "too_large"
        yield record
    scope = {"channelAccountId": ACCOUNTS[0], "conversationId": "c-1"}
    yield {"candidateKey": "a boolean", **scope, "status": True}
    yield {"candidateKey": "no account", "status": "pending_ack", "deviceId": DEVICE}
    yield {"candidateKey": "no state", **scope, "status": None, "-0": {"$number": "-0"}}


def checkpoints() -> tuple[Record, ...]:
    """One completed, one on its way, of each account."""
    return in_order("key", _checkpoints())


def _checkpoints() -> Iterator[dict[str, Any]]:
    for at, (account, conversation) in enumerate(scopes()):
        done = at % 2 == 0
        yield {
            "key": key(account, conversation),
            "channelAccountId": account,
            "conversationId": conversation,
            "phase": "completed" if done else "paging",
            "syncMode": "full",
            "anchorState": "none",
            "anchorMessageId": str(at) if done else None,
            "pageTimeStamp": None if done else NEWEST_MS - at,
            "nextTimeStamp": None if done else NEWEST_MS - at - 1,
            "historyComplete": done,
            "latestMessageId": None,
            "latestCandidateKey": None,
            "latestMessageAtMs": NEWEST_MS - at,
            "scannedActivityMs": None,
            "completionSent": done,
            "lastObservedAtMs": NEWEST_MS,
            "result": None,
            "pages": at,
        }


def anomalies() -> tuple[Record, ...]:
    """Two of a conversation, and one that belongs to none."""
    return in_order("key", _anomalies())


def _anomalies() -> Iterator[dict[str, Any]]:
    for account, conversation in [*scopes(), (ACCOUNTS[0], "")]:
        for code in ("conflict", "message_id_missing"):
            yield {
                "key": key(account, conversation, code, digest(conversation, code)),
                "channelAccountId": account,
                "conversationId": conversation,
                "code": code,
                "messageId": None,
                "surface": "sdk_history",
                "observedAtMs": NEWEST_MS,
                "observed": {"$object": [["$ref", 1], ["rows", [1, None]]]},
            }


def profiles() -> tuple[Record, ...]:
    """One that waits for its upload, one uploaded, one rejected, of each account."""
    return in_order("key", _profiles())


def _profiles() -> Iterator[dict[str, Any]]:
    for account, conversation in [*scopes(), *((each, "c-3") for each in ACCOUNTS)]:
        profile = {"name": f"buyer of {conversation}", "country": "中国"}
        record: dict[str, Any] = {
            "key": key(account, conversation),
            "channelAccountId": account,
            "conversationId": conversation,
            "aliId": "900000000001",
            "profile": profile,
            "lastUploadedFingerprint": digest(conversation),
            "uploadedObservedAtMs": NEWEST_MS - 10,
            "rejectedObservedAtMs": NEWEST_MS - 5 if conversation == "c-3" else 0,
            "updatedAtMs": NEWEST_MS,
            "lastUploadedAtMs": NEWEST_MS - 9,
        }
        if conversation == "c-1":
            record["pending"] = {
                "aliId": "900000000001",
                "profile": {**profile, "company": "Σωκράτης & Σία"},
                "fingerprint": digest(account, conversation),
                "observedAtMs": NEWEST_MS - int(account[-1]),
            }
        yield record


def bootstraps() -> tuple[Record, ...]:
    """What the conversation list gave, since version 8."""
    return in_order(
        "key",
        (
            {
                "key": key(account, conversation),
                "channelAccountId": account,
                "conversationId": conversation,
                "latestMessageAtMs": NEWEST_MS,
                "title": f"{conversation} of {account}",
                "listedAtMs": NEWEST_MS + 1,
            }
            for account, conversation in scopes()
        ),
    )


def cards(amount: int) -> tuple[Record, ...]:
    """The card ledger, since version 9, in every state by turns."""
    return in_order("key", _cards(amount))


def _cards(amount: int) -> Iterator[dict[str, Any]]:
    for account, conversation, message, sent_at in _facts(amount):
        state = CARD_STATES[int(message) % len(CARD_STATES)]
        record: dict[str, Any] = {
            "key": key(account, conversation, message, "order"),
            "channelAccountId": account,
            "conversationId": conversation,
            "messageId": message,
            "candidateKey": key(account, conversation, f"{sent_at:015}", message),
            "cardKind": "order",
            "content": {"order": message, "lines": ["10x ρουλεμάν", None]},
            "contentDigest": digest(account, message, "order"),
            "status": state,
            "observedAtMs": sent_at + 2,
        }
        if state == "confirmed":
            record["confirmedAtMs"] = sent_at + 6
        if state in {"rejected", "anomaly"}:
            record["code"] = "conflict"
        yield record


def _facts(amount: int) -> Iterator[tuple[str, str, str, int]]:
    """Account, conversation, message id, time: each id in both accounts' same names."""
    for account, conversation in scopes():
        for at in range(amount):
            yield account, conversation, str(4_200_000_000_000 + at), NEWEST_MS - at


def digest(*parts: str) -> str:
    """A digest of some content."""
    return hashlib.sha256("/".join(parts).encode()).hexdigest()


def in_order(path: str, values: Iterator[dict[str, Any]]) -> tuple[Record, ...]:
    """Records by their text keys in IndexedDB's order: by UTF-16 code unit."""
    made = [Record(value[path], value) for value in values]
    return tuple(sorted(made, key=lambda each: each.key.encode("utf-16-be")))
