"""What a commit is made of: frozen records, from the request to the ACK. No I/O.

An intent is frozen by the first `reserve` of its key. From then on nothing of it is
read anew: neither the membership of the day nor what a client sends again (MS-11).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, TypeAlias

from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey

Origin: TypeAlias = Literal["sent", "observed"]
"""Whether somebody sends a message through Bright, or a page showed it."""


@dataclass(frozen=True, slots=True)
class CommitKey:
    """The key of idempotency: one key, one message, one place (MS-12, MS-20).

    Of a message that is sent: the sender's tenant, the sender, and the id that the
    client gave it. Of an observation: the account, the conversation in the sender's
    place, and the page's message id, which is its scope (OT-01): whoever saw it.
    """

    origin: Origin
    tenant: str
    sender: str
    client_message_id: str


@dataclass(frozen=True, slots=True)
class MessageContent:
    """What is said, by whom. Structured parts are canonical JSON text.

    `sent_at_ms` is the page's time of an observation; None of a message that is sent,
    for the server's clock says when it was. `body_reference` names a body that is kept
    elsewhere.
    """

    author_id: str
    direction: str
    kind: str
    text: str | None = None
    content: str | None = None
    quote: str | None = None
    recall: str | None = None
    sent_at_ms: int | None = None
    custom_type: str | None = None
    body_reference: str | None = None


@dataclass(frozen=True, slots=True)
class AuthenticatedSend:
    """A request whose sender the gateway has authenticated (MS-10).

    All of it is its canonical identity (MS-12): the same key with another device,
    conversation, content, mention or reply is another message, a conflict. `device` is
    None of an observation, whose observing device is no part of what makes it one.
    """

    key: CommitKey
    conversation: ConversationKey
    content: MessageContent
    device: str | None = None
    mentions: tuple[str, ...] = ()
    reply_to: str | None = None


@dataclass(frozen=True, slots=True)
class FrozenDelivery:
    """Whom the message is for, decided before `reserve` and never again (MS-11, CL-11).

    Either a `recipient`, or a `group` in exactly the version `member_version` of its
    members; neither: whoever reads the conversation.
    """

    recipient: str | None = None
    group: str | None = None
    member_version: int | None = None
    inline: bool = True


@dataclass(frozen=True, slots=True)
class ReserveCandidate:
    """What the first `reserve` of a key gives the message, and a repeat does not.

    `message_id` of a message that is sent is made by the server, and given to no other
    message of the database: the log knows the message by it (CL-10), and a second of
    the same id would be taken for the first. `created_at_ms` is the server's time, Unix
    milliseconds. After
    `history_expires_at_ms` history may let go of it; None: never. `raw` is what a page
    showed, as it showed it, canonical JSON.
    """

    message_id: str
    created_at_ms: int
    history_expires_at_ms: int | None = None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """The whole canonical record of a message, without its place."""

    message_id: str
    conversation: ConversationKey
    content: MessageContent
    mentions: tuple[str, ...]
    reply_to: str | None
    created_at_ms: int
    history_expires_at_ms: int | None
    raw: str | None


class CommitState(IntEnum):
    """How far a commit is; states go forward only (MS-03)."""

    RESERVED = 1
    RECORDED = 2
    OUTBOXED = 3
    COMMITTED = 4


@dataclass(frozen=True, slots=True)
class Coordinates:
    """A message's one place: its id, and its number in its conversation, from 1."""

    conversation: ConversationKey
    message_id: str
    sequence: int


@dataclass(frozen=True, slots=True)
class OutboxPublication:
    """The evidence that the message stands in the log (CL-20)."""

    position: LogPosition


@dataclass(frozen=True, slots=True)
class CommitIntent:
    """A commit under way: every fact that its later steps need (MS-21).

    `identity` is the persisted canonical identity of its request, see `identity`.
    `publication` is there in OUTBOXED alone.
    """

    key: CommitKey
    identity: bytes
    coordinates: Coordinates
    record: MessageRecord
    delivery: FrozenDelivery
    state: CommitState
    publication: OutboxPublication | None = None


@dataclass(frozen=True, slots=True)
class CommittedMessage:
    """The one and only ground for an ACK (MS-27).

    It says that the message is on disk and in the log; nothing of a mailbox, of a push
    or of a reader.
    """

    key: CommitKey
    coordinates: Coordinates
    publication: OutboxPublication


ReserveResult: TypeAlias = CommitIntent | CommittedMessage
"""What `reserve` says: an intent to go on with, or that all is done (MS-13)."""

LoadedCommit: TypeAlias = CommitIntent | CommittedMessage
"""What is persisted of a key. Of a committed message the record may be gone (MS-13)."""


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """A page of a conversation's history, asked by a member of it (MS-28).

    Reading goes `older` or `newer` from `anchor`, a sequence that is not itself in the
    page; None: from the newest, or from the oldest that there is.
    """

    actor: str
    conversation: ConversationKey
    direction: Literal["older", "newer"]
    anchor: int | None
    max_items: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """A message in its place."""

    sequence: int
    record: MessageRecord


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Messages in the direction of reading, and what there is (MS-28).

    `next_anchor` goes on from here; None: there is no more in this direction. `lowest`
    and `highest` bound what is available now, both None when nothing is. A number
    between them that is not there is a hole: reserved and not yet recorded, or let go
    of; never a loss. At least one item is given when there is one, however large.
    """

    items: tuple[HistoryItem, ...]
    next_anchor: int | None
    lowest: int | None
    highest: int | None
