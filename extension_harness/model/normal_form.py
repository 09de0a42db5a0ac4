"""What makes an observation a fact: the required fields and their form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from extension_harness.model.redaction import redact
from extension_harness.model.steps import Json, Value
from extension_harness.model.text import (
    digest_of,
    is_well_formed,
    parsed,
    stringify,
    utf16_length,
    utf16_slice,
    well_formed,
)
from storage_schema.onetalk.keys import anomaly_key, candidate_key

MAX_ID = 256
_MAX_CANDIDATE_KEY = 1024
_MAX_ANOMALY_JSON = 4_096
_LATEST_TIME_MS = 999_999_999_999_999
_MAX_DEPTH = 200
_ABSENT = object()


@dataclass(frozen=True)
class ReadFact:
    """A good message, and the raw object that it came from where there is one."""

    fact: Json
    raw: Json | None


@dataclass(frozen=True)
class ReadAnomaly:
    """What cannot be a fact, and why (OT-32)."""

    code: str
    message_id: str | None
    observed: Value

    def found(self) -> Json:
        """What the anomaly's key is a digest of."""
        return {
            "code": self.code,
            "messageId": self.message_id,
            "observed": self.observed,
        }


def read_observation(
    observation: Value, account: str, conversation: str | None
) -> ReadFact | ReadAnomaly:
    """Reads one observation of a conversation, redacted (OT-30, OT-32).

    `conversation` is the one whose rows these should be; None: whatever the row says.
    """
    if _is_deep(observation):
        return _read_deep(observation, account, conversation)
    clean = redact(observation)
    code = _fault_of(clean, account, conversation)
    if code is not None:
        return ReadAnomaly(code, _id_of(clean), _bounded(clean))
    raw = clean.get("raw")
    return ReadFact(content_of(clean), raw if isinstance(raw, dict) else None)


def _id_of(clean: Value) -> str | None:
    name = clean.get("messageId") if isinstance(clean, dict) else None
    return name if isinstance(name, str) and utf16_length(name) <= MAX_ID else None


def _read_deep(
    observation: Value, account: str, conversation: str | None
) -> ReadFact | ReadAnomaly:
    """Without `raw`, which is no part of the message, it may be a good one."""
    if isinstance(observation, dict) and "raw" in observation:
        rest = {k: v for k, v in observation.items() if k != "raw"}
        return read_observation(rest, account, conversation)
    message_id = _id_of(observation)
    return ReadAnomaly("too_deep", message_id, {"messageId": message_id})


def _is_deep(root: Value) -> bool:
    level: list[Any] = [root]
    for _ in range(_MAX_DEPTH + 1):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        if not below:
            return False
        level = below
    return True


def _fault_of(seen: Value, account: str, conversation: str | None) -> str | None:
    """The anomaly's code, the first fault in the written order."""
    if not isinstance(seen, dict) or "notAnObject" in seen:
        return "not_an_object"
    for name, code in (
        ("messageId", "missing_message_id"),
        ("conversationId", "missing_conversation_id"),
    ):
        if _is_missing(seen.get(name)):
            return code
        if not _is_id(seen[name]):
            return "invalid_id"
    if conversation is not None and seen["conversationId"] != conversation:
        return "foreign_conversation"
    if _is_missing(seen.get("senderId")):
        return "missing_sender_id"
    if not _is_id(seen["senderId"]):
        return "invalid_id"
    if not _is_time(seen.get("sentAtMs")):
        return "invalid_sent_at"
    key = candidate_key(
        account, seen["conversationId"], seen["sentAtMs"], seen["messageId"]
    )
    return "invalid_id" if utf16_length(key) > _MAX_CANDIDATE_KEY else None


def _is_missing(value: Value) -> bool:
    return value is None or value == ""


def _is_id(value: Value) -> bool:
    if not isinstance(value, str) or utf16_length(value) > MAX_ID:
        return False
    return is_well_formed(value) and "\0" not in value


def _is_time(value: Value) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value == int(value) and 0 < value <= _LATEST_TIME_MS


def content_of(seen: Json) -> Json:
    """Only the fields that are the message, in a fixed order."""
    kind = seen.get("kind")
    content: Json = {
        "messageId": seen["messageId"],
        "conversationId": seen["conversationId"],
        "senderId": seen["senderId"],
        "direction": "outbound" if seen.get("direction") == "outbound" else "inbound",
        "sentAtMs": seen["sentAtMs"],
        "kind": kind if isinstance(kind, str) else "unknown",
    }
    if isinstance(seen.get("text"), str):
        content["text"] = seen["text"]
    for name in ("content", "quote", "recall"):
        if isinstance(seen.get(name), dict):
            content[name] = seen[name]
    return content


def _bounded(observed: Value) -> Value:
    text = stringify(observed)
    if utf16_length(text) <= _MAX_ANOMALY_JSON:
        return parsed(text)
    return {"cut": well_formed(utf16_slice(text, _MAX_ANOMALY_JSON))}


def anomaly_record(
    found: Json, *, account: str, conversation: str, surface: str, now_ms: int
) -> Json:
    """An anomaly's record; its key is a digest, so that it stays one."""
    return {
        "key": anomaly_key(account, conversation, found["code"], digest_of(found)),
        "channelAccountId": account,
        "conversationId": conversation,
        "code": found["code"],
        "messageId": found["messageId"],
        "surface": surface,
        "observedAtMs": now_ms,
        "observed": found["observed"],
    }
