"""Frames of the other ledgers, read entry by entry. No I/O.

`codec` has checked an envelope and its handles; here each entry is looked at alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar, cast

from pydantic import ValidationError

from bright_server.messages import RefusalCode
from bright_server.wire.ledgers import (
    BuyerFactsObserved,
    Card,
    CardsEnvelope,
    FactsEnvelope,
    Profile,
    ProfilesEnvelope,
)
from bright_server.wire.scalars import Frame
from bright_server.wire.text import unstorable_path

E = TypeVar("E", bound=Frame)


@dataclass(frozen=True, slots=True)
class ProfilesFrame:
    """Profiles as they came; one that cannot be stored is the code of why."""

    envelope: ProfilesEnvelope
    entries: Sequence[Profile | RefusalCode]


@dataclass(frozen=True, slots=True)
class CardsFrame:
    """Cards as they came; one that cannot be stored is the code of why."""

    envelope: CardsEnvelope
    entries: Sequence[Card | RefusalCode]


@dataclass(frozen=True, slots=True)
class FactsFrame:
    """Buyer facts as they came; if they cannot be stored, the code of why."""

    envelope: FactsEnvelope
    entry: BuyerFactsObserved | RefusalCode


LedgerFrame: TypeAlias = ProfilesFrame | CardsFrame | FactsFrame

LEDGER_ENVELOPES: Final[dict[str, type[Frame]]] = {
    "contact.profile.observed": ProfilesEnvelope,
    "card.rendered.observed": CardsEnvelope,
    "buyer.facts.observed": FactsEnvelope,
}
"""What each of these frames is checked against first, by `type`."""


def ledger_frame(envelope: Frame, frame: Mapping[str, object]) -> LedgerFrame:
    """Return the frame of a checked envelope with its entries."""
    if isinstance(envelope, ProfilesEnvelope):
        return ProfilesFrame(envelope, _entries(Profile, frame["profiles"]))
    if isinstance(envelope, CardsEnvelope):
        return CardsFrame(envelope, _entries(Card, frame["cards"]))
    assert isinstance(envelope, FactsEnvelope)  # noqa: S101 - there are three
    return FactsFrame(envelope, _entry(BuyerFactsObserved, frame))


def _entries(model: type[E], values: object) -> list[E | RefusalCode]:
    return [_entry(model, value) for value in cast("list[dict[str, object]]", values)]


def _entry(model: type[E], value: Mapping[str, object]) -> E | RefusalCode:
    # Only what the model knows goes anywhere, and is looked at.
    names = {field.alias for field in model.model_fields.values()}
    known = {name: part for name, part in value.items() if name in names}
    if unstorable_path(known) is not None:
        return "unstorable_text"
    try:
        return model.model_validate(known)
    except ValidationError:
        return "invalid_message"
