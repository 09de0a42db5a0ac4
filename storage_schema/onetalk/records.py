"""The records of the store, named once.

Typed dicts under the JavaScript names: a stored record is a plain object of exactly
these fields, and a field that is `NotRequired` is absent, never null, until it is
known. Records of another version may lack fields; the verbs then do as the extension
does. What verbs take and give beside them: `arguments.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    scannedThroughMs: NotRequired[int]
    anchorSeenAtMs: NotRequired[int | None]
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
