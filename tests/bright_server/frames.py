"""Frames as an extension would send them, for tests to vary."""

from __future__ import annotations

import json
from typing import Any

ACCOUNT = "2500000000001"
CONVERSATION = "2500000000001-3500000000002#11011@icbu"
FIRST_ID = 1_750_000_000_000

Frame = dict[str, Any]


def message(number: int, **changes: object) -> Frame:
    """The message `number` of the conversation, as valid as can be."""
    message_id = str(FIRST_ID + number)
    return {
        "candidateKey": f"{CONVERSATION}/{message_id}",
        "messageId": message_id,
        "conversationId": CONVERSATION,
        "senderId": "3500000000002",
        "direction": "inbound",
        "sentAtMs": FIRST_ID + number,
        "kind": "text",
        "text": f"text {number}",
        **changes,
    }


def hello(token: str, **changes: object) -> Frame:
    return {
        "type": "hello",
        "requestId": "hello",
        "protocolVersion": 1,
        "deviceId": "device-1",
        "bootId": "boot-1",
        "bindingToken": token,
        "extensionVersion": "0.1.0",
        "storeVersion": 10,
        **changes,
    }


def batch(*messages: Frame, request_id: str = "batch", **changes: object) -> Frame:
    return {
        "type": "observation.batch",
        "requestId": request_id,
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "mode": "full",
        "receivedAtMs": FIRST_ID + 1_000_000,
        "messages": list(messages),
        **changes,
    }


def heartbeat(version: int = 1, request_id: str = "beat") -> Frame:
    return {
        "type": "heartbeat",
        "requestId": request_id,
        "authorizationVersion": version,
    }


def discovered(*conversations: str, request_id: str = "found") -> Frame:
    return {
        "type": "conversation.discovered",
        "requestId": request_id,
        "channelAccountId": ACCOUNT,
        "conversations": [
            {"conversationId": each, "latestMessageAtMs": FIRST_ID}
            for each in conversations
        ],
    }


def progress(**changes: object) -> Frame:
    return {
        "type": "history.progress",
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "nextTimeStamp": None,
        "historyComplete": True,
        "latestMessageAtMs": FIRST_ID,
        "page": 1,
        **changes,
    }


def claim(number: int, **changes: object) -> Frame:
    return {
        "type": "sync.complete",
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "latestMessageId": str(FIRST_ID + number),
        "latestMessageAtMs": FIRST_ID + number,
        **changes,
    }


def register_page(page_id: str = "page-1", **changes: object) -> Frame:
    return {
        "type": "page.register",
        "requestId": "page",
        "pageId": page_id,
        "channelAccountId": ACCOUNT,
        "route": "/message/default.htm",
        **changes,
    }


def text_of(frame: Frame) -> str:
    return json.dumps(frame, ensure_ascii=False)


def profile(number: int, **changes: object) -> Frame:
    """The profile of the conversation's contact as observed at the time `number`."""
    return {
        "conversationId": CONVERSATION,
        "aliId": "3500000000002",
        "observedAtMs": FIRST_ID + number,
        "fingerprint": f"fingerprint {number}",
        "profile": {"name": f"name {number}"},
        **changes,
    }


def profiles(*entries: Frame, request_id: str = "profiles", **changes: object) -> Frame:
    return {
        "type": "contact.profile.observed",
        "requestId": request_id,
        "channelAccountId": ACCOUNT,
        "profiles": list(entries),
        **changes,
    }


def name_of(entry: Frame) -> Frame:
    """What an ACK says of a profile."""
    return {
        name: entry[name] for name in ("conversationId", "fingerprint", "observedAtMs")
    }


def card(number: int, **changes: object) -> Frame:
    message_id = str(FIRST_ID + number)
    return {
        "candidateKey": f"{CONVERSATION}/{message_id}",
        "messageId": message_id,
        "cardKind": "product_card",
        "content": {"title": f"card {number}"},
        **changes,
    }


def cards(*entries: Frame, request_id: str = "cards", **changes: object) -> Frame:
    return {
        "type": "card.rendered.observed",
        "requestId": request_id,
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "cards": list(entries),
        **changes,
    }


def buyer_facts(number: int, request_id: str = "facts", **changes: object) -> Frame:
    return {
        "type": "buyer.facts.observed",
        "requestId": request_id,
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "facts": {"years": number},
        "observedAtMs": FIRST_ID + number,
        "fingerprint": f"fingerprint {number}",
        **changes,
    }


def command_result(
    command_id: str, outcome: str = "done", reason: str | None = None
) -> Frame:
    told = {"type": "command.result", "commandId": command_id, "outcome": outcome}
    return told if reason is None else {**told, "reason": reason}
