"""What the store's verbs take and give, named once; the records are `records.py`.

Typed dicts under the JavaScript names: a field that is `NotRequired` may be absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from storage_schema.onetalk.records import (
    AnomalyRecord,
    CandidateRecord,
    CheckpointRecord,
    MessageContent,
    MessageRecord,
    Plain,
)


class PreparedFact(TypedDict):
    """A fact to write, with the anomaly it becomes if its scope has other content."""

    content: MessageContent
    digest: str
    raw: NotRequired[Plain]
    ifConflict: AnomalyRecord


class PagePosition(TypedDict):
    """What a page of history says about the way back (OT-44)."""

    askedWith: int | None
    nextTimeStamp: int | None
    historyComplete: bool


class PreparedBatch(TypedDict):
    """One batch of one conversation (OT-04); `page` is None when it is live.

    `isPartOfPage`: a page's rows, the position of which comes with the last of them.
    """

    channelAccountId: str
    conversationId: str
    facts: Sequence[PreparedFact]
    anomalies: Sequence[AnomalyRecord]
    observedAtMs: int
    page: PagePosition | None
    ifNoAnchor: AnomalyRecord | None
    isPartOfPage: NotRequired[bool]


class Recorded(TypedDict):
    """What `record_batch` did: facts added, known, in conflict; and the position.

    `isFirst`: nothing of the conversation had been observed before.
    """

    added: int
    known: int
    conflicts: int
    anomalies: int
    isFirst: bool
    checkpoint: CheckpointRecord


class PendingPair(TypedDict):
    """A candidate to send; no message only where another version wrote the record."""

    candidate: CandidateRecord
    message: MessageRecord | None


class DeliveryResult(TypedDict):
    """One usable result of an ACK; without a candidate key found by its message."""

    candidateKey: str | None
    messageId: str
    status: Literal["confirmed", "conflict", "rejected"]
    sequence: NotRequired[int]
    code: NotRequired[str]
    ifConflict: NotRequired[AnomalyRecord | None]


class Applied(TypedDict):
    """What an ACK changed, what still waits, and the checkpoint if there is one."""

    changed: int
    pending: int
    checkpoint: CheckpointRecord | None


class PreparedCard(TypedDict):
    """A card to write, with the anomaly it becomes if its key has other content."""

    messageId: str
    candidateKey: str
    cardKind: str
    content: object
    digest: str
    ifConflict: NotRequired[AnomalyRecord | None]


class CardBatch(TypedDict):
    """Cards of one conversation."""

    channelAccountId: str
    conversationId: str
    observedAtMs: int
    cards: Sequence[PreparedCard]


class RecordedCards(TypedDict):
    """What `record_cards` did."""

    added: int
    known: int
    conflicts: int


class CardResult(TypedDict):
    """One result for one card."""

    candidateKey: str
    messageId: str
    cardKind: str
    status: Literal["confirmed", "conflict", "rejected"]
    code: NotRequired[str]
    ifConflict: NotRequired[AnomalyRecord | None]


class ObservedProfile(TypedDict):
    """A profile as a page showed it."""

    conversationId: str
    aliId: str | None
    profile: Plain
    fingerprint: str
    observedAtMs: int


class ObservedProfiles(TypedDict):
    """What `observe_profiles` did: made pending, mark moved, skipped."""

    pending: int
    moved: int
    skipped: int


class UploadMark(TypedDict):
    """Which upload an answer is about: counts only where both marks match (OT-83)."""

    conversationId: str
    fingerprint: str
    observedAtMs: int


class ProfileAnswer(TypedDict):
    """What Bright says of many profiles at once."""

    confirmed: Sequence[UploadMark]
    refused: Sequence[UploadMark]


class ObservedBuyerFacts(TypedDict):
    """A buyer's facts as a page showed them."""

    channelAccountId: str
    conversationId: str
    facts: Plain
    fingerprint: str
    observedAtMs: int


class Page(TypedDict):
    """A bounded page: at most `limit`, after `after` where that is given."""

    limit: int
    after: str | None


class Limit(TypedDict):
    """How many at most."""

    limit: int


class Removed(TypedDict):
    """How many records a rebuild removed, by store."""

    messages: int
    candidates: int
    anomalies: int
    cards: int
