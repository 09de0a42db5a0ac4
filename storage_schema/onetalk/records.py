"""The records of the store and what its verbs take and give, named once.

Typed dicts under the JavaScript names: a stored record is a plain object of exactly
these fields, and a field that is `NotRequired` is absent, never null, until it is
known. Records of another version may lack fields; the verbs then do as the extension
does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypeAlias, TypedDict

Plain: TypeAlias = Mapping[str, object]
"""An object of the page's that is stored as it is."""

CandidateStatus: TypeAlias = Literal[
    "awaiting_anchor", "pending_ack", "confirmed", "anomaly", "rejected"
]
"""OT-06: a candidate is in exactly one of these."""

CardStatus: TypeAlias = Literal["pending_ack", "confirmed", "anomaly", "rejected"]


class MessageContent(TypedDict):
    """What a message is; equal content is equal in all of these."""

    messageId: str
    conversationId: str
    senderId: str
    direction: Literal["inbound", "outbound"]
    sentAtMs: int
    kind: str
    text: NotRequired[str]
    content: NotRequired[Plain]
    quote: NotRequired[Plain]
    recall: NotRequired[Plain]


class MessageRecord(MessageContent):
    """A message fact (OT-01); key: `keys.message_key`."""

    key: str
    channelAccountId: str
    contentDigest: str
    observedAtMs: int
    raw: NotRequired[Plain]


class CandidateRecord(TypedDict):
    """The upload state of one fact (OT-06); key: `keys.candidate_key`."""

    candidateKey: str
    channelAccountId: str
    conversationId: str
    messageId: str
    sentAtMs: int
    status: CandidateStatus
    observedAtMs: int
    confirmedAtMs: NotRequired[int]
    sequence: NotRequired[int]
    code: NotRequired[str]


class CheckpointRecord(TypedDict):
    """Where a conversation stands (OT-05); key: `keys.conversation_key`."""

    key: str
    channelAccountId: str
    conversationId: str
    phase: Literal["paging", "uploading", "completed"]
    syncMode: Literal["full", "incremental"]
    anchorState: Literal["none", "awaiting", "met", "not_found"]
    anchorMessageId: str | None
    pageTimeStamp: int | None
    nextTimeStamp: int | None
    historyComplete: bool
    latestMessageId: str | None
    latestCandidateKey: str | None
    latestMessageAtMs: int | None
    scannedActivityMs: int | None
    completionSent: bool
    lastObservedAtMs: int
    result: str | None
    pages: int
    failedAtMs: NotRequired[int]
    isBehind: NotRequired[bool]


class AnomalyRecord(TypedDict):
    """An observation that cannot be a fact (OT-32); key: `keys.anomaly_key`."""

    key: str
    channelAccountId: str
    conversationId: str
    code: str
    messageId: str | None
    surface: str
    observedAtMs: int
    observed: object


class ListedConversation(TypedDict):
    """A conversation as the list gives it."""

    conversationId: str
    latestMessageAtMs: int | None
    title: NotRequired[str]


class BootstrapRecord(ListedConversation):
    """A conversation as the list gave it; key: `keys.conversation_key`."""

    key: str
    channelAccountId: str
    listedAtMs: int


class CardRecord(TypedDict):
    """A rendered card (OT-90); key: `keys.card_key`."""

    key: str
    channelAccountId: str
    conversationId: str
    messageId: str
    candidateKey: str
    cardKind: str
    content: object
    contentDigest: str
    status: CardStatus
    observedAtMs: int
    confirmedAtMs: NotRequired[int]
    code: NotRequired[str]


class PendingProfile(TypedDict):
    """The newest profile that no ACK has taken (OT-81)."""

    aliId: str | None
    profile: Plain
    fingerprint: str
    observedAtMs: int


class ProfileRecord(TypedDict):
    """A contact's profile ledger (OT-80); key: `keys.conversation_key`.

    Without `pending` the record has no entry in the index of pending ones (OT-19).
    """

    key: str
    channelAccountId: str
    conversationId: str
    aliId: str | None
    profile: Plain | None
    lastUploadedFingerprint: str | None
    uploadedObservedAtMs: int
    rejectedObservedAtMs: int
    updatedAtMs: int
    lastUploadedAtMs: int | None
    pending: NotRequired[PendingProfile]


class BuyerFactsRecord(TypedDict):
    """What is known of a buyer; key: `keys.conversation_key`."""

    key: str
    channelAccountId: str
    conversationId: str
    facts: Plain
    fingerprint: str
    observedAtMs: int
    uploadedFingerprint: str | None


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
    """One batch of one conversation (OT-04); `page` is None when it is live."""

    channelAccountId: str
    conversationId: str
    facts: Sequence[PreparedFact]
    anomalies: Sequence[AnomalyRecord]
    observedAtMs: int
    page: PagePosition | None
    ifNoAnchor: AnomalyRecord | None


class Recorded(TypedDict):
    """What `record_batch` did: facts added, known, in conflict; and the position."""

    added: int
    known: int
    conflicts: int
    anomalies: int
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


class ObservedProfile(PendingProfile):
    """A profile as a page showed it."""

    conversationId: str


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
