"""Primary keys: a scope is a JSON array written as text (docs/store.md).

So no id can run into its neighbour, whatever characters it has, and both writings of
the store give the same text for the same ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NoReturn

from storage_schema.onetalk.javascript import (
    Number,
    is_less,
    json_text,
    number_of,
    text_of,
)

TIME_DIGITS = 15
"""Widest `sentAtMs` that a candidate key holds in order."""


@dataclass(frozen=True)
class CandidateName:
    """The parts of a candidate key."""

    channel_account_id: str
    conversation_id: str
    sent_at_ms: Number
    message_id: str


@dataclass(frozen=True)
class KeySpan:
    """The two ends between which every candidate key of one conversation lies."""

    first: str
    last: str


def conversation_key(account: str, conversation: str) -> str:
    """Key of a checkpoint, a bootstrap, a profile, a buyer's facts (OT-02, OT-80)."""
    return json_text([account, conversation])


def message_key(account: str, conversation: str, message: str) -> str:
    """Key of a message fact (OT-01)."""
    return json_text([account, conversation, message])


def anomaly_key(account: str, conversation: str, code: str, digest: str) -> str:
    """Key of an anomaly: the same observation seen again stays one."""
    return json_text([account, conversation, code, digest])


def card_key(account: str, conversation: str, message: str, card_kind: str) -> str:
    """Key of a rendered card (OT-90)."""
    return json_text([account, conversation, message, card_kind])


def candidate_key(
    account: str, conversation: str, sent_at_ms: object, message: str
) -> str:
    """Key of a candidate: within a conversation its text order is the upload order."""
    time = text_of(sent_at_ms).rjust(TIME_DIGITS, "0")
    return json_text([account, conversation, time, message])


def read_candidate_key(key: object) -> CandidateName | None:
    """The parts of a candidate key; None when the text is no such key."""
    if not isinstance(key, str):
        return None
    try:
        parts: object = json.loads(key, parse_constant=_refuse)
    except ValueError:
        return None
    if not isinstance(parts, list) or len(parts) != 4:
        return None
    if not all(isinstance(part, str) for part in parts):
        return None
    account, conversation, time, message = parts
    return CandidateName(account, conversation, number_of(time), message)


def _refuse(word: str) -> NoReturn:
    msg = f"{word} is no JSON"
    raise ValueError(msg)


def candidate_key_span(account: str, conversation: str) -> KeySpan:
    """The span of a conversation's candidate keys in the order of all."""
    scope = conversation_key(account, conversation)[:-1]
    return KeySpan(first=f"{scope},", last=f"{scope},\uffff")


def candidate_order(left: object, right: object) -> int:
    """Candidate order (OT-18): negative when `left` goes up before `right`."""
    if left == right:
        return 0
    return -1 if is_less(left, right) else 1
