"""The words of the domain: ids and frozen records.

Everything between the wire and the store speaks in these. They hold no behaviour and do
no I/O. Structured parts of a message (`content`, `quote`, `recall`, `raw`) are
canonical JSON text, so that equal parts are equal strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple, NewType

AccountId = NewType("AccountId", str)
"""The seller's own id at the channel; never the device, never the binding (OT-03)."""

BindingId = NewType("BindingId", str)
"""Names one binding; public, unlike its token."""

Position = NewType("Position", int)
"""A place in the order of arrival over the whole store: 1, 2, 3 … without a gap."""


RefusalCode = Literal[
    "invalid_message",
    "conversation_mismatch",
    "unstorable_text",
    "contains_secret",
    "too_large",
]
"""Why one message can never be stored; stable, and part of the wire contract."""


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """A checkpoint's scope (OT-02)."""

    channel_account_id: str
    conversation_id: str


class ObservedMessage(NamedTuple):
    """One valid message as a page showed it.

    A named tuple and not a dataclass: there are a hundred thousand of them a second.

    With its conversation's key, `message_id` is the scope of idempotency (OT-01).
    `candidate_key` is the sender's own handle and is no part of the message.
    """

    candidate_key: str
    message_id: str
    sender_id: str
    direction: str
    sent_at_ms: int
    kind: str
    text: str | None
    content: str | None
    quote: str | None
    recall: str | None
    raw: str | None


observed: Final = partial(tuple.__new__, ObservedMessage)
"""As the constructor, from one tuple of all fields, in a third of its time."""


@dataclass(frozen=True, slots=True)
class RefusedMessage:
    """One message of a batch that can never be stored, and the stable code of why."""

    candidate_key: str
    message_id: str
    code: RefusalCode


@dataclass(frozen=True, slots=True)
class DiscoveredConversation:
    """One row of the page's conversation list."""

    conversation_id: str
    latest_message_at_ms: int
    title: str | None


@dataclass(frozen=True, slots=True)
class Anchor:
    """The proven end of a conversation's history: everything up to it is committed."""

    conversation: ConversationKey
    latest_message_id: str
    anchored_at_ms: int


@dataclass(frozen=True, slots=True)
class Grant:
    """What a binding allowed when it was last asked (OT-60)."""

    binding_id: BindingId
    authorization_version: int
    accounts: frozenset[str]
