"""What tests give the store's verbs: facts, cards, profiles, anomalies."""

from __future__ import annotations

import json
from typing import Any

PROFILES = "onetalk_contact_profiles"
BOOTSTRAPS = "onetalk_conversation_bootstraps"
BUYER_FACTS = "onetalk_buyer_facts"
CARDS = "onetalk_rendered_card_ledger"
CHAT, OTHER_CHAT = "1-2#11011@icbu", "1-3#11011@icbu"
Row = dict[str, Any]


def anomaly(account: str, chat: str, code: str) -> Row:
    return {
        "key": json.dumps([account, chat, code, "digest"]),
        "channelAccountId": account,
        "conversationId": chat,
        "code": code,
        "messageId": None,
        "surface": "test",
        "observedAtMs": 5,
        "observed": {},
    }


def batch(account: str, chat: str, *ids: str, code: str | None = None) -> Row:
    """Facts of one conversation, and an anomaly when there is a code."""
    facts = [
        {
            "content": {
                "messageId": each,
                "conversationId": chat,
                "senderId": "2",
                "direction": "inbound",
                "sentAtMs": 1_000 + n,
                "kind": "text",
                "text": f"said as {each}",
            },
            "digest": f"digest of {each}",
            "ifConflict": anomaly(account, chat, "conflict"),
        }
        for n, each in enumerate(ids)
    ]
    return {
        "channelAccountId": account,
        "conversationId": chat,
        "facts": facts,
        "anomalies": [anomaly(account, chat, code)] if code else [],
        "observedAtMs": 5,
        "page": None,
        "ifNoAnchor": None,
    }


def card(message: str, content: str = "first", kind: str = "order_card") -> Row:
    return {
        "messageId": message,
        "candidateKey": f"candidate of {message}",
        "cardKind": kind,
        "content": {"shown": content},
        "digest": f"digest of {content}",
    }


def cards(account: str, chat: str, *given: Row) -> Row:
    with_conflict = [
        {**each, "ifConflict": anomaly(account, chat, "conflict")} for each in given
    ]
    return {
        "channelAccountId": account,
        "conversationId": chat,
        "observedAtMs": 5,
        "cards": with_conflict,
    }


def seen(chat: str, at_ms: int, name: str = "Ines", **other: object) -> Row:
    """A profile as a list gave it."""
    profile = {"name": name, "country": "BR"}
    return {
        "conversationId": chat,
        "aliId": "2",
        "profile": profile,
        "fingerprint": f"of {name}",
        "observedAtMs": at_ms,
        **other,
    }


def exactly(profile: Row) -> Row:
    names = ("conversationId", "fingerprint", "observedAtMs")
    return {name: profile[name] for name in names}


def ids(rows: list[Row]) -> list[str]:
    return [row["messageId"] for row in rows]
