"""The frames that an extension sends (`/v1/extension`, →), as models. No I/O.

The names are those of the wire protocol to the letter; the models are the one source of
its machine-readable form.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field, with_config
from typing_extensions import TypedDict

from bright_server.wire.commands import CommandResult
from bright_server.wire.ledgers import (
    BuyerFactsObserved,
    CardRenderedObserved,
    ContactProfileObserved,
)
from bright_server.wire.scalars import (
    CandidateKey,
    Counter,
    Frame,
    Identifier,
    Kind,
    Label,
    Milliseconds,
    RequestId,
    SentAt,
    Trouble,
)


@with_config({"strict": True})
class Message(TypedDict):
    """One observed message in its normal form; its names are those of the wire.

    A typed dictionary and not a model: it is checked as strictly in less time.
    """

    candidateKey: CandidateKey
    messageId: Identifier
    conversationId: Identifier
    senderId: Identifier
    direction: Literal["inbound", "outbound"]
    sentAtMs: SentAt
    # A kind that this server does not know is stored whole, never dropped.
    kind: Kind
    text: NotRequired[str | None]
    content: NotRequired[dict[str, object] | None]
    quote: NotRequired[dict[str, object] | None]
    recall: NotRequired[dict[str, object] | None]
    raw: NotRequired[object]


class Hello(Frame):
    """The first frame: who connects, and by which binding."""

    type: Literal["hello"]
    request_id: RequestId
    protocol_version: Counter
    device_id: Identifier
    boot_id: Identifier
    binding_token: Annotated[Identifier, Field(repr=False)]
    extension_version: Identifier
    store_version: Counter
    last_store_id: Identifier | None = None


class Heartbeat(Frame):
    """Asks for a sign of life, and to have the authorization checked (OT-60)."""

    type: Literal["heartbeat"]
    request_id: RequestId
    authorization_version: Counter


class PageRegister(Frame):
    """Makes a page of the browser known to this connection (OT-63).

    `route` is the page's own; it names a conversation by `cid` (OT-65, `routes`).
    """

    type: Literal["page.register"]
    request_id: RequestId
    page_id: Identifier
    channel_account_id: Identifier
    route: Annotated[str, Field(max_length=4096)]


class PageHealth(Frame):
    """What is wrong with a page now, all of it; has no answer.

    `isOpen` false: the page is gone. Without an account nobody knows whose page it is:
    it belongs to the connection alone. Troubles are stable words; one that this server
    does not know is shown as it is (docs/page-trouble.md).
    """

    type: Literal["page.health"]
    page_id: Identifier
    channel_account_id: Identifier | None
    is_open: bool
    troubles: Annotated[list[Trouble], Field(max_length=16)]


class Discovered(Frame):
    """One row of the page's conversation list."""

    conversation_id: Identifier
    latest_message_at_ms: Milliseconds
    title: Label | None = None


class ConversationDiscovered(Frame):
    """Tells conversations of the list, and asks for their anchors."""

    type: Literal["conversation.discovered"]
    request_id: RequestId
    channel_account_id: Identifier
    conversations: list[Discovered]


class _Observations(Frame):
    type: Literal["observation.batch"]
    request_id: RequestId
    channel_account_id: Identifier
    conversation_id: Identifier
    mode: Literal["full", "incremental"]
    received_at_ms: Milliseconds


class ObservationEnvelope(_Observations):
    """What a batch says of itself, its messages not looked at."""

    messages: list[object]


class ObservationBatch(_Observations):
    """A unit of transport: each message stands for itself (OT-04)."""

    messages: list[Message]


class HistoryProgress(Frame):
    """Where the paging of a conversation's history stands (OT-44)."""

    type: Literal["history.progress"]
    channel_account_id: Identifier
    conversation_id: Identifier
    # The page's cursor as it is: a number on one surface, text on another.
    next_time_stamp: Counter | Identifier | None
    history_complete: bool
    latest_message_at_ms: Milliseconds | None
    page: Counter


class SyncComplete(Frame):
    """Claims that everything up to a message was sent; has no success ACK (OT-50)."""

    type: Literal["sync.complete"]
    channel_account_id: Identifier
    conversation_id: Identifier
    latest_message_id: Identifier
    latest_message_at_ms: Milliseconds


ExtensionRequest = Annotated[
    Hello
    | Heartbeat
    | PageRegister
    | PageHealth
    | ConversationDiscovered
    | ObservationBatch
    | HistoryProgress
    | SyncComplete
    | ContactProfileObserved
    | CardRenderedObserved
    | BuyerFactsObserved
    | CommandResult,
    Field(discriminator="type"),
]
