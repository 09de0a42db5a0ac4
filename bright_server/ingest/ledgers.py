"""Profiles, rendered cards and buyer facts: from frames to work, and to their ACKs.

No I/O. Each ledger acknowledges its own entries and nothing else (OT-87). An ACK of a
profile or of facts names the observation exactly (OT-83): it, or a later one which it
cannot win against any more, is on disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

from bright_server.commit.groups import (
    BuyerFacts,
    CardsStored,
    FactsStored,
    LedgerWork,
    ObservedProfiles,
    Outcome,
    ProfilesStored,
    RenderedCards,
)
from bright_server.errors import FrameRefused
from bright_server.ingest.effects import Send
from bright_server.ingest.secrets import holds_secret
from bright_server.messages import (
    ConversationKey,
    Grant,
    ObservedFacts,
    ObservedProfile,
    RefusalCode,
    RenderedCard,
)
from bright_server.settings import Settings
from bright_server.wire import answers
from bright_server.wire.codec import encode
from bright_server.wire.ledger_codec import (
    CardsFrame,
    FactsFrame,
    LedgerFrame,
    ProfilesFrame,
)
from bright_server.wire.ledgers import (
    BuyerFactsObserved,
    Card,
    CardHandle,
    Profile,
    ProfileHandle,
)
from bright_server.wire.text import canonical_json

MAX_AHEAD_MS: Final = 300_000
"""How far ahead of the receive time an observation may be: five minutes (OT-84).

What lies further ahead would win against every later one until its time has come.
"""


@dataclass(frozen=True, slots=True)
class AskedProfiles:
    """Profiles on their way to the disk, and those that can never be stored."""

    request_id: str
    channel_account_id: str
    admitted: Sequence[ProfileHandle]
    refused: Sequence[tuple[ProfileHandle, RefusalCode]]


@dataclass(frozen=True, slots=True)
class AskedCards:
    """Cards on their way to the disk; `refused` by index, and why."""

    request_id: str
    conversation: ConversationKey
    handles: Sequence[CardHandle]
    refused: Mapping[int, RefusalCode]


@dataclass(frozen=True, slots=True)
class AskedFacts:
    """Buyer facts on their way to the disk."""

    request_id: str
    conversation: ConversationKey
    fingerprint: str
    observed_at_ms: int


AskedLedger: TypeAlias = AskedProfiles | AskedCards | AskedFacts
Taken: TypeAlias = tuple[AskedLedger, LedgerWork | None]
"""What is asked, and what the store has to do for it; None: nothing."""


def taken(frame: LedgerFrame, grant: Grant, now_ms: int, settings: Settings) -> Taken:
    """Judge a frame that came at `now_ms`.

    Raises:
        FrameRefused: nothing of it may be stored: it is too large, or observed in the
            future (OT-84), or the facts themselves cannot be stored.
    """
    if isinstance(frame, ProfilesFrame):
        return _profiles(frame, grant, now_ms, settings)
    if isinstance(frame, CardsFrame):
        return _cards(frame, grant, settings)
    return _facts(frame, grant, now_ms, settings)


def ledger_answer(asked: AskedLedger, outcome: Outcome | None) -> Send | None:
    """Return the ACK; None where this outcome acknowledges nothing that was asked.

    Without an outcome, only what can never be stored is answered for.
    """
    if isinstance(asked, AskedCards):
        return _cards_ack(asked, outcome)
    if isinstance(asked, AskedFacts):
        return _facts_ack(asked) if isinstance(outcome, FactsStored) else None
    if asked.admitted and not isinstance(outcome, ProfilesStored):
        return None
    return _profiles_ack(asked)


def _profiles(
    frame: ProfilesFrame, grant: Grant, now_ms: int, settings: Settings
) -> Taken:
    envelope = frame.envelope
    _bound(len(envelope.profiles), settings, "profiles", envelope.request_id)
    for index, handle in enumerate(envelope.profiles):
        if handle.observed_at_ms > now_ms + MAX_AHEAD_MS:
            path = f"profiles.{index}.observedAtMs"
            _refuse_future("profile", path, envelope.request_id)
    admitted: list[ProfileHandle] = []
    refused: list[tuple[ProfileHandle, RefusalCode]] = []
    profiles: list[ObservedProfile] = []
    for handle, entry in zip(envelope.profiles, frame.entries, strict=True):
        code, text = _judged(entry, settings.max_message_bytes)
        if code is not None or not isinstance(entry, Profile):
            refused.append((handle, code or "invalid_message"))
            continue
        admitted.append(handle)
        profiles.append(
            ObservedProfile(
                entry.conversation_id,
                entry.ali_id,
                entry.observed_at_ms,
                entry.fingerprint,
                text,
            )
        )
    account = envelope.channel_account_id
    asked = AskedProfiles(envelope.request_id, account, admitted, refused)
    return asked, ObservedProfiles(grant, account, profiles) if profiles else None


def _cards(frame: CardsFrame, grant: Grant, settings: Settings) -> Taken:
    envelope = frame.envelope
    _bound(len(envelope.cards), settings, "cards", envelope.request_id)
    refused: dict[int, RefusalCode] = {}
    cards: list[RenderedCard] = []
    for index, entry in enumerate(frame.entries):
        code, text = _judged(entry, settings.max_message_bytes)
        if code is not None or not isinstance(entry, Card):
            refused[index] = code or "invalid_message"
        else:
            cards.append(RenderedCard(entry.message_id, entry.card_kind, text))
    key = ConversationKey(envelope.channel_account_id, envelope.conversation_id)
    asked = AskedCards(envelope.request_id, key, envelope.cards, refused)
    return asked, RenderedCards(grant, key, cards) if cards else None


def _facts(frame: FactsFrame, grant: Grant, now_ms: int, settings: Settings) -> Taken:
    envelope = frame.envelope
    if envelope.observed_at_ms > now_ms + MAX_AHEAD_MS:
        _refuse_future("facts", "observedAtMs", envelope.request_id)
    code, text = _judged(frame.entry, settings.max_message_bytes)
    if code is not None:
        raise FrameRefused(
            "invalid_frame",
            f"these facts cannot be stored: {code}",
            path="facts",
            request_id=envelope.request_id,
        )
    key = ConversationKey(envelope.channel_account_id, envelope.conversation_id)
    observed = ObservedFacts(envelope.observed_at_ms, envelope.fingerprint, text)
    asked = AskedFacts(
        envelope.request_id, key, envelope.fingerprint, envelope.observed_at_ms
    )
    return asked, BuyerFacts(grant, key, observed)


def _judged(
    entry: Profile | Card | BuyerFactsObserved | RefusalCode, max_bytes: int
) -> tuple[RefusalCode | None, str]:
    """Return why an entry cannot be stored, or what it says as canonical JSON."""
    if isinstance(entry, str):
        return entry, ""
    try:
        text = canonical_json(_said(entry))
        is_secret = holds_secret(None, (text,))
    except (ValueError, RecursionError):  # a number, or a depth, beyond JSON
        return "invalid_message", ""
    if is_secret:
        return "contains_secret", ""
    if len(text.encode()) > max_bytes:
        return "too_large", ""
    return None, text


def _said(entry: Profile | Card | BuyerFactsObserved) -> object:
    if isinstance(entry, Profile):
        return entry.profile
    return entry.content if isinstance(entry, Card) else entry.facts


def _bound(size: int, settings: Settings, path: str, request_id: str) -> None:
    most = settings.max_batch_messages
    if size > most:
        message = f"a frame holds at most {most} {path}, this one {size}"
        raise FrameRefused("batch_too_large", message, path=path, request_id=request_id)


def _refuse_future(what: str, path: str, request_id: str) -> NoReturn:
    raise FrameRefused(
        f"{what}_observed_at_future",
        "it was observed more than five minutes ahead of the server's time: nothing of"
        " this frame was stored; set the device's clock right",
        path=path,
        request_id=request_id,
    )


def _profiles_ack(asked: AskedProfiles) -> Send:
    rejected = [
        answers.RejectedProfile(
            conversation_id=handle.conversation_id,
            fingerprint=handle.fingerprint,
            observed_at_ms=handle.observed_at_ms,
            code=code,
        )
        for handle, code in asked.refused
    ]
    ack = answers.ContactProfileAck(
        request_id=asked.request_id,
        channel_account_id=asked.channel_account_id,
        acks=[
            answers.ProfileName(
                conversation_id=handle.conversation_id,
                fingerprint=handle.fingerprint,
                observed_at_ms=handle.observed_at_ms,
            )
            for handle in asked.admitted
        ],
        rejected=rejected or None,
    )
    return Send(encode(ack))


def _cards_ack(asked: AskedCards, outcome: Outcome | None) -> Send:
    results = []
    stored = outcome if isinstance(outcome, CardsStored) else None
    place = 0
    for index, handle in enumerate(asked.handles):
        code = asked.refused.get(index)
        status: answers.ResultStatus = "retry"
        is_repeat = False
        if code is not None:
            status = "rejected"
        elif stored is not None:
            status = "conflict" if place in stored.conflicts else "confirmed"
            is_repeat = place in stored.repeats
            place += 1
        results.append(
            answers.CardResult(
                candidate_key=handle.candidate_key,
                message_id=handle.message_id,
                card_kind=handle.card_kind,
                status=status,
                duplicate=is_repeat,
                code=code,
            )
        )
    key = asked.conversation
    ack = answers.CardRenderedAck(
        request_id=asked.request_id,
        channel_account_id=key.channel_account_id,
        conversation_id=key.conversation_id,
        results=results,
    )
    return Send(encode(ack))


def _facts_ack(asked: AskedFacts) -> Send:
    key = asked.conversation
    ack = answers.BuyerFactsAck(
        request_id=asked.request_id,
        channel_account_id=key.channel_account_id,
        conversation_id=key.conversation_id,
        fingerprint=asked.fingerprint,
        observed_at_ms=asked.observed_at_ms,
    )
    return Send(encode(ack))
