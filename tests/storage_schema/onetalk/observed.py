"""What pages observe and what Bright answers, as the verbs of the store take it."""

from __future__ import annotations

from storage_schema.onetalk.arguments import (
    CardBatch,
    CardResult,
    DeliveryResult,
    ObservedBuyerFacts,
    ObservedProfile,
    PagePosition,
    PreparedBatch,
    PreparedCard,
    PreparedFact,
    UploadMark,
)
from storage_schema.onetalk.keys import anomaly_key, candidate_key
from storage_schema.onetalk.records import AnomalyRecord, MessageContent

ACCOUNT = "account-a"
OTHER_ACCOUNT = "account-b"
CONVERSATION = "conversation-1"
NOW = 1_800_000_000_000


def anomaly(
    digest: str = "d",
    *,
    account: str = ACCOUNT,
    conversation: str = CONVERSATION,
    code: str = "conflict",
    surface: str = "list",
) -> AnomalyRecord:
    return {
        "key": anomaly_key(account, conversation, code, digest),
        "channelAccountId": account,
        "conversationId": conversation,
        "code": code,
        "messageId": None,
        "surface": surface,
        "observedAtMs": NOW,
        "observed": {"digest": digest},
    }


def content(message: str, sent: int) -> MessageContent:
    return {
        "messageId": message,
        "conversationId": CONVERSATION,
        "senderId": "buyer",
        "direction": "inbound",
        "sentAtMs": sent,
        "kind": "text",
        "text": f"text of {message}",
    }


def fact(message: str, sent: int = 1_000, digest: str | None = None) -> PreparedFact:
    return {
        "content": content(message, sent),
        "digest": digest or f"digest of {message}",
        "ifConflict": anomaly(f"{message} as {digest}"),
    }


def of_conversation(given: PreparedFact, conversation: str) -> PreparedFact:
    return {**given, "content": {**given["content"], "conversationId": conversation}}


def batch(
    *facts: PreparedFact,
    account: str = ACCOUNT,
    conversation: str = CONVERSATION,
    page: PagePosition | None = None,
    at: int = NOW,
    anomalies: tuple[AnomalyRecord, ...] = (),
) -> PreparedBatch:
    return {
        "channelAccountId": account,
        "conversationId": conversation,
        "facts": [of_conversation(each, conversation) for each in facts],
        "anomalies": anomalies,
        "observedAtMs": at,
        "page": page,
        "ifNoAnchor": anomaly(
            account=account,
            conversation=conversation,
            code="incremental_anchor_not_found",
        ),
    }


def result(
    message: str,
    sent: int = 1_000,
    *,
    status: str = "confirmed",
    account: str = ACCOUNT,
    conversation: str = CONVERSATION,
) -> DeliveryResult:
    assert status in {"confirmed", "conflict", "rejected"}
    return {
        "candidateKey": candidate_key(account, conversation, sent, message),
        "messageId": message,
        "status": status,  # type: ignore[typeddict-item]
    }


def card(message: str, kind: str = "product", digest: str = "one") -> PreparedCard:
    return {
        "messageId": message,
        "candidateKey": candidate_key(ACCOUNT, CONVERSATION, 1_000, message),
        "cardKind": kind,
        "content": {"title": digest},
        "digest": digest,
        "ifConflict": anomaly(f"card {message} {digest}"),
    }


def cards(
    *of: PreparedCard, account: str = ACCOUNT, conversation: str = CONVERSATION
) -> CardBatch:
    return {
        "channelAccountId": account,
        "conversationId": conversation,
        "observedAtMs": NOW,
        "cards": of,
    }


def card_result(message: str, status: str = "confirmed") -> CardResult:
    assert status in {"confirmed", "conflict", "rejected"}
    return {
        "candidateKey": candidate_key(ACCOUNT, CONVERSATION, 1_000, message),
        "messageId": message,
        "cardKind": "product",
        "status": status,  # type: ignore[typeddict-item]
    }


def profile(
    fingerprint: str, at: int, conversation: str = CONVERSATION
) -> ObservedProfile:
    return {
        "conversationId": conversation,
        "aliId": f"ali of {conversation}",
        "profile": {"name": fingerprint},
        "fingerprint": fingerprint,
        "observedAtMs": at,
    }


def mark(fingerprint: str, at: int, conversation: str = CONVERSATION) -> UploadMark:
    return {
        "conversationId": conversation,
        "fingerprint": fingerprint,
        "observedAtMs": at,
    }


def buyer(
    fingerprint: str,
    at: int,
    account: str = ACCOUNT,
    conversation: str = CONVERSATION,
) -> ObservedBuyerFacts:
    return {
        "channelAccountId": account,
        "conversationId": conversation,
        "facts": {"of": fingerprint},
        "fingerprint": fingerprint,
        "observedAtMs": at,
    }
