"""The frames that the server sends (`/v1/extension`, ←), as models. No I/O."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from bright_server.messages import RefusalCode
from bright_server.wire.commands import Command, RouteReason
from bright_server.wire.scalars import Frame

ErrorCode = Literal[
    "malformed_json",
    "invalid_frame",
    "unknown_type",
    "wrong_role",
    "out_of_scope",
    "batch_too_large",
    "too_many_in_flight",
    "overloaded",
    "claim_unproven",
    "profile_observed_at_future",
    "facts_observed_at_future",
    "route_not_exact",
    "internal",
]
ResultStatus = Literal["confirmed", "conflict", "rejected", "retry"]
RevokedReason = Literal["revoked", "version_changed"]
RETRYABLE_CODES = frozenset({"too_many_in_flight", "overloaded", "internal"})


class Answer(Frame):
    """A frame of the server's, made in code by its fields' own names."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)


class ConnectionLimits(Answer):
    """What this server takes from one connection."""

    max_frame_bytes: int
    max_batch_messages: int
    max_in_flight_batches: int


class Welcome(Answer):
    """Answers `hello`: the connection stands."""

    type: Literal["welcome"] = "welcome"
    request_id: str
    connection_id: str
    store_id: str
    server_time_ms: int
    heartbeat_interval_ms: int
    authorization_version: int
    accounts: list[str]
    limits: ConnectionLimits


class HeartbeatAck(Answer):
    """Answers `heartbeat`."""

    type: Literal["heartbeat.ack"] = "heartbeat.ack"
    request_id: str
    server_time_ms: int
    authorization_version: int


class PageRegistered(Answer):
    """Answers `page.register`."""

    type: Literal["page.registered"] = "page.registered"
    request_id: str
    page_id: str


class KnownAnchor(Answer):
    """The message up to which a conversation is proven complete."""

    latest_message_id: str


class KnownConversation(Answer):
    """What the server knows of one discovered conversation."""

    conversation_id: str
    anchor: KnownAnchor | None


class ConversationKnown(Answer):
    """Answers `conversation.discovered`, in its order."""

    type: Literal["conversation.known"] = "conversation.known"
    request_id: str
    conversations: list[KnownConversation]


@with_config({"strict": True})
class MessageResult(TypedDict):
    """What became of one message of a batch; its names are those of the wire."""

    candidateKey: str
    messageId: str
    status: ResultStatus
    duplicate: bool
    sequence: NotRequired[int]
    code: NotRequired[RefusalCode]


class ObservationAck(Answer):
    """Answers `observation.batch`: one result per message, in the batch's order."""

    type: Literal["observation.ack"] = "observation.ack"
    request_id: str
    channel_account_id: str
    conversation_id: str
    results: list[MessageResult]


class ProfileName(Answer):
    """One observation of a contact, named so exactly that no other is meant (OT-83)."""

    conversation_id: str
    fingerprint: str
    observed_at_ms: int


class RejectedProfile(ProfileName):
    """An observation that can never be stored."""

    code: RefusalCode


class ContactProfileAck(Answer):
    """Answers `contact.profile.observed`: what need not be sent again.

    Of each conversation in `acks` that profile, or a later one, is on disk.
    """

    type: Literal["contact.profile.ack"] = "contact.profile.ack"
    request_id: str
    channel_account_id: str
    acks: list[ProfileName]
    rejected: list[RejectedProfile] | None = None


class CardResult(Answer):
    """What became of one card."""

    candidate_key: str
    message_id: str
    card_kind: str
    status: ResultStatus
    duplicate: bool
    code: RefusalCode | None = None


class CardRenderedAck(Answer):
    """Answers `card.rendered.observed`: one result per card, in its order."""

    type: Literal["card.rendered.ack"] = "card.rendered.ack"
    request_id: str
    channel_account_id: str
    conversation_id: str
    results: list[CardResult]


class BuyerFactsAck(Answer):
    """Answers `buyer.facts.observed`: these facts, or later ones, are on disk."""

    type: Literal["buyer.facts.ack"] = "buyer.facts.ack"
    request_id: str
    channel_account_id: str
    conversation_id: str
    fingerprint: str
    observed_at_ms: int


class AnchorEntry(Answer):
    """One conversation's anchor."""

    channel_account_id: str
    conversation_id: str
    latest_message_id: str
    anchored_at_ms: int


class AnchorSnapshot(Answer):
    """Tells anchors: the only evidence of a finished sync (OT-50)."""

    type: Literal["anchor.snapshot"] = "anchor.snapshot"
    anchors: list[AnchorEntry]


class BindingRevoked(Answer):
    """Says why the connection is about to be closed with 4401."""

    type: Literal["binding.revoked"] = "binding.revoked"
    reason: RevokedReason


class Keepalive(Answer):
    """Keeps the extension's service worker alive; needs no answer."""

    type: Literal["keepalive"] = "keepalive"
    server_time_ms: int


class WsError(Answer):
    """Says what was wrong with a frame; the connection goes on."""

    type: Literal["ws.error"] = "ws.error"
    request_id: str | None = None
    code: ErrorCode
    message: str
    path: str | None = None
    retryable: bool
    # Which route reason, where the code is `route_not_exact` (OT-65).
    reason: RouteReason | None = None
    channel_account_id: str | None = None
    conversation_id: str | None = None


ExtensionAnswer = Annotated[
    Welcome
    | HeartbeatAck
    | PageRegistered
    | ConversationKnown
    | ObservationAck
    | ContactProfileAck
    | CardRenderedAck
    | BuyerFactsAck
    | AnchorSnapshot
    | Command
    | BindingRevoked
    | Keepalive
    | WsError,
    Field(discriminator="type"),
]
