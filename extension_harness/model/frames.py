"""Reading what comes from Bright, making what is sent (shared/frames.js)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from extension_harness.model.normal_form import content_of
from extension_harness.model.steps import Json, Value
from extension_harness.model.text import parsed, stringify, to_text
from storage_schema import UNDEFINED

PROTOCOL_VERSION: Final = 1
SUBPROTOCOL: Final = "bright.extension.v1"
_STATUSES = {"confirmed", "conflict", "rejected", "retry"}

T = TypeVar("T")


def read_frame(data: object) -> Json | None:
    """A frame that can be used, else None; unknown fields are ignored.

    Takes the text of a WebSocket message, or its JSON object.
    """
    frame: Value = data
    if isinstance(data, str):
        try:
            frame = parsed(data)
        except ValueError:
            return None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        return None
    read = _READERS.get(frame["type"])
    return None if read is None else read(frame)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_integer(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value == value // 1


def _welcome(frame: Json) -> Json | None:
    limits = frame.get("limits")
    if not isinstance(limits, dict):
        return None
    numbers = [
        frame.get("heartbeatIntervalMs"),
        limits.get("maxFrameBytes"),
        limits.get("maxBatchMessages"),
        limits.get("maxInFlightBatches"),
    ]
    accounts = frame.get("accounts")
    is_good = (
        _is_text(frame.get("storeId"))
        and all(_is_integer(each) and each > 0 for each in numbers)  # type: ignore[operator]
        and _is_integer(frame.get("authorizationVersion"))
        and isinstance(accounts, list)
        and all(map(_is_text, accounts))
    )
    return {**frame} if is_good else None  # its identity is the connection's


def _is_result(result: Value) -> bool:
    return (
        isinstance(result, dict)
        and _is_text(result.get("messageId"))
        and result.get("status") in _STATUSES
    )


def _observation_ack(frame: Json) -> Json | None:
    results = frame.get("results")
    if not _names_scope(frame) or not isinstance(results, list):
        return None
    good = []
    for result in filter(_is_result, results):
        key = result.get("candidateKey")
        good.append({**result, "candidateKey": key if _is_text(key) else None})
    return {**frame, "requestId": frame.get("requestId"), "results": good}


def _names_scope(frame: Json) -> bool:
    return _is_text(frame.get("channelAccountId")) and _is_text(
        frame.get("conversationId")
    )


def _is_profile_name(named: Value) -> bool:
    return (
        isinstance(named, dict)
        and _is_text(named.get("conversationId"))
        and _is_text(named.get("fingerprint"))
        and _is_integer(named.get("observedAtMs"))
    )


def _profile_ack(frame: Json) -> Json | None:
    acks = frame.get("acks")
    if not _is_text(frame.get("channelAccountId")) or not isinstance(acks, list):
        return None
    rejected = frame.get("rejected")
    return {
        **frame,
        "acks": list(filter(_is_profile_name, acks)),
        "rejected": list(
            filter(_is_profile_name, rejected if isinstance(rejected, list) else [])
        ),
    }


def _card_ack(frame: Json) -> Json | None:
    results = frame.get("results")
    if not _names_scope(frame) or not isinstance(results, list):
        return None
    good = [
        each
        for each in results
        if _is_result(each)
        and _is_text(each.get("candidateKey"))
        and _is_text(each.get("cardKind"))
    ]
    return {**frame, "results": good}


def _facts_ack(frame: Json) -> Json | None:
    is_good = _is_text(frame.get("channelAccountId")) and _is_profile_name(frame)
    return {**frame} if is_good else None  # its identity is the connection's


def _error(frame: Json) -> Json | None:
    if not _is_text(frame.get("code")):
        return None
    message = frame.get("message")
    return {
        **frame,
        "requestId": frame.get("requestId"),
        "message": "" if message is None else to_text(message),
        "retryable": frame.get("retryable") is True,
        "channelAccountId": frame.get("channelAccountId"),
        "conversationId": frame.get("conversationId"),
    }


def _known(frame: Json) -> Json | None:
    known = frame.get("conversations")
    if not _is_text(frame.get("requestId")) or not isinstance(known, list):
        return None
    return {**frame, "conversations": [each for each in known if _is_known(each)]}


def _is_known(known: Value) -> bool:
    if not isinstance(known, dict) or not _is_text(known.get("conversationId")):
        return False
    anchor = known.get("anchor", False)
    return anchor is None or (
        isinstance(anchor, dict) and _is_text(anchor.get("latestMessageId"))
    )


def _anchors(frame: Json) -> Json | None:
    anchors = frame.get("anchors")
    if not isinstance(anchors, list):
        return None
    return {**frame, "anchors": [each for each in anchors if _is_anchor(each)]}


def _is_anchor(anchor: Value) -> bool:
    return (
        isinstance(anchor, dict)
        and _names_scope(anchor)
        and _is_text(anchor.get("latestMessageId"))
    )


def _with(name: str, check: Callable[[object], bool]) -> Callable[[Json], Json | None]:
    return lambda frame: frame if check(frame.get(name)) else None


_READERS: dict[str, Callable[[Json], Json | None]] = {
    "welcome": _welcome,
    "observation.ack": _observation_ack,
    "contact.profile.ack": _profile_ack,
    "card.rendered.ack": _card_ack,
    "buyer.facts.ack": _facts_ack,
    "ws.error": _error,
    "heartbeat.ack": _with("authorizationVersion", _is_integer),
    "page.registered": _with("pageId", _is_text),
    "conversation.known": _known,
    "anchor.snapshot": _anchors,
    "binding.revoked": lambda frame: {
        **frame,
        "reason": to_text(frame.get("reason", UNDEFINED)),
    },
    "command": _with("commandId", _is_text),
    "keepalive": lambda frame: frame,
}


def wire_message(candidate: Json, message: Json) -> Json:
    """The wire form of a stored message."""
    wire = {"candidateKey": candidate["candidateKey"], **content_of(message)}
    return {**wire, "raw": message["raw"]} if "raw" in message else wire


@dataclass(frozen=True)
class Packed(Generic[T]):
    """A frame and what is in it; `too_large`: the first, when it alone is too large."""

    frame: Json
    parts: Sequence[T]
    too_large: T | None = None


def pack_batch(
    entries: Sequence[tuple[T, Json]],
    envelope: Json,
    max_frame_bytes: int,
    name: str = "messages",
) -> Packed[T]:
    """Takes entries, in order, as long as they fit into one frame."""
    head = stringify({**envelope, name: []})
    total = len(head.encode())
    parts: list[T] = []
    wires: list[Json] = []
    for part, wire in entries:
        size = len(stringify(wire).encode()) + 1
        if total + size > max_frame_bytes:
            if not parts:
                return Packed({}, [], too_large=part)
            break
        total += size
        parts.append(part)
        wires.append(wire)
    return Packed({**envelope, name: wires}, parts)
