"""The words of the domain: ids and frozen records.

Everything between the wire and the store speaks in these. They hold no behaviour and do
no I/O. Structured parts of a message (`content`, `quote`, `recall`, `raw`) are
canonical JSON text, so that equal parts are equal strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, Literal, NamedTuple, NewType, Self, TypeAlias

AccountId = NewType("AccountId", str)
"""The seller's own id at the channel; never the device, never the binding (OT-03)."""

BindingId = NewType("BindingId", str)
"""Names one binding; public, unlike its token."""

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

    With its conversation's key, `message_id` is the scope of idempotency (OT-01).
    """

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


StructuredParts: TypeAlias = tuple[str | None, str | None, str | None, str | None]
"""A message's `content`, `quote`, `recall` and `raw`."""

NO_PARTS: Final[StructuredParts] = (None, None, None, None)


@dataclass(frozen=True, slots=True)
class ObservedMessages:
    """The valid messages of one batch, field by field, each in the batch's order.

    There are a hundred thousand messages a second. As columns they go from the wire to
    the database without an object for each.
    """

    message_ids: Sequence[str]
    sender_ids: Sequence[str]
    directions: Sequence[str]
    sent_at_ms: Sequence[int]
    kinds: Sequence[str]
    texts: Sequence[str | None]
    parts: Sequence[StructuredParts] | None = None
    """None: no message has a structured part."""

    @classmethod
    def of(cls, messages: Sequence[ObservedMessage]) -> Self:
        """Return these messages as columns."""
        if not messages:
            return cls((), (), (), (), (), ())
        columns: list[Any] = list(zip(*messages, strict=True))
        parts = tuple(zip(*columns[6:], strict=True))
        plain = parts.count(NO_PARTS) == len(parts)
        ids, senders, directions, times, kinds, texts = columns[:6]
        return cls(
            ids, senders, directions, times, kinds, texts, None if plain else parts
        )

    def __len__(self) -> int:
        """Return how many messages there are."""
        return len(self.message_ids)

    def __getitem__(self, index: int) -> ObservedMessage:
        """Return one message."""
        return ObservedMessage(
            self.message_ids[index],
            self.sender_ids[index],
            self.directions[index],
            self.sent_at_ms[index],
            self.kinds[index],
            self.texts[index],
            *(self.parts[index] if self.parts else NO_PARTS),
        )

    def only(self, chosen: Sequence[bool]) -> Self:
        """Return the messages that are chosen, a word for each."""
        return type(self)(
            tuple(compress(self.message_ids, chosen)),
            tuple(compress(self.sender_ids, chosen)),
            tuple(compress(self.directions, chosen)),
            tuple(compress(self.sent_at_ms, chosen)),
            tuple(compress(self.kinds, chosen)),
            tuple(compress(self.texts, chosen)),
            tuple(compress(self.parts, chosen)) if self.parts else None,
        )


@dataclass(frozen=True, slots=True)
class RefusedMessage:
    """One message of a batch that can never be stored, and the stable code of why."""

    candidate_key: str
    message_id: str
    code: RefusalCode


class ObservedProfile(NamedTuple):
    """What a page showed of a conversation's contact (OT-80).

    `ali_id` is a fact like the others, never a key (OT-87). `profile` is canonical
    JSON; `fingerprint` is the extension's own, and only ever compared.
    """

    conversation_id: str
    ali_id: str | None
    observed_at_ms: int
    fingerprint: str
    profile: str


class RenderedCard(NamedTuple):
    """A card of a message as the page rendered it (OT-90); `content` is canonical JSON.

    With its conversation's key, message and kind are the scope of idempotency.
    """

    message_id: str
    card_kind: str
    content: str


class ObservedFacts(NamedTuple):
    """What a page showed of a conversation's buyer; `facts` is canonical JSON."""

    observed_at_ms: int
    fingerprint: str
    facts: str


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
class StoredMessage:
    """A committed message with its place in its conversation."""

    conversation: ConversationKey
    sequence: int
    message: ObservedMessage


@dataclass(frozen=True, slots=True)
class ContactProfile:
    """The newest profile of a conversation's contact; `profile` is canonical JSON."""

    ali_id: str | None
    observed_at_ms: int
    profile: str


@dataclass(frozen=True, slots=True)
class Grant:
    """What a binding allowed when it was last asked (OT-60)."""

    binding_id: BindingId
    authorization_version: int
    accounts: frozenset[str]
