"""What an extension sends of its other ledgers: profiles, cards, buyer facts. No I/O.

Each has frames and ACKs of its own, and none of them is a message's (OT-87). An
envelope is what a frame says of itself and whom it has to be answered for; each entry
is then looked at alone, and one that is wrong costs no other.
"""

from __future__ import annotations

from typing import Literal

from bright_server.wire.scalars import (
    CandidateKey,
    Frame,
    Identifier,
    Kind,
    Milliseconds,
    RequestId,
)


class ProfileHandle(Frame):
    """What it takes to answer for one profile: the pending one, exactly (OT-83)."""

    conversation_id: Identifier
    observed_at_ms: Milliseconds
    fingerprint: Identifier


class Profile(ProfileHandle):
    """The contact of one conversation, as a page showed it (OT-80)."""

    ali_id: Identifier | None = None
    profile: dict[str, object]


class ProfilesEnvelope(Frame):
    """Profiles, each known by its handle alone."""

    type: Literal["contact.profile.observed"]
    request_id: RequestId
    channel_account_id: Identifier
    profiles: list[ProfileHandle]


class ContactProfileObserved(Frame):
    """Tells contacts' profiles; each stands for itself (OT-81)."""

    type: Literal["contact.profile.observed"]
    request_id: RequestId
    channel_account_id: Identifier
    profiles: list[Profile]


class CardHandle(Frame):
    """What it takes to answer for one card."""

    candidate_key: CandidateKey
    message_id: Identifier
    card_kind: Kind


class Card(CardHandle):
    """A card of a message as the page rendered it (OT-90)."""

    content: object


class CardsEnvelope(Frame):
    """Cards, each known by its handle alone."""

    type: Literal["card.rendered.observed"]
    request_id: RequestId
    channel_account_id: Identifier
    conversation_id: Identifier
    cards: list[CardHandle]


class CardRenderedObserved(Frame):
    """Tells rendered cards of one conversation; each stands for itself."""

    type: Literal["card.rendered.observed"]
    request_id: RequestId
    channel_account_id: Identifier
    conversation_id: Identifier
    cards: list[Card]


class FactsEnvelope(Frame):
    """Buyer facts, known by what their ACK repeats."""

    type: Literal["buyer.facts.observed"]
    request_id: RequestId
    channel_account_id: Identifier
    conversation_id: Identifier
    observed_at_ms: Milliseconds
    fingerprint: Identifier


class BuyerFactsObserved(FactsEnvelope):
    """Tells what is known of a conversation's buyer; the latest win."""

    facts: dict[str, object]
