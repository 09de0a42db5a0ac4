"""What a store promises to the committer: one group of work, one durable transaction.

Work is what connections have asked for; an outcome is what became of it. A
`BatchCommitted` is the one and only ground for an ACK (MS-27): a store returns it only
after the transaction that holds the messages, their places in their conversation and
their outbox rows is on disk. Reservation, record, outbox row and commit of an observed
message are one atomic step here (MS-23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bright_server.authorization.contract import Standing
from bright_server.messages import (
    Anchor,
    ConversationKey,
    DiscoveredConversation,
    Grant,
    ObservedFacts,
    ObservedMessages,
    ObservedProfile,
    RenderedCard,
)


@dataclass(frozen=True, slots=True)
class ObservedBatch:
    """Valid messages of one conversation, in the order in which they were sent."""

    grant: Grant
    conversation: ConversationKey
    received_at_ms: int
    messages: ObservedMessages


@dataclass(frozen=True, slots=True)
class Discovery:
    """Conversations of the page's list; their activity times only move forward."""

    grant: Grant
    channel_account_id: str
    conversations: Sequence[DiscoveredConversation]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a conversation's history stands (OT-44); `next_time_stamp` is JSON."""

    grant: Grant
    conversation: ConversationKey
    next_time_stamp: str
    history_complete: bool
    latest_message_at_ms: int | None
    page: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that a conversation is complete up to a message (OT-50)."""

    grant: Grant
    conversation: ConversationKey
    latest_message_id: str
    latest_message_at_ms: int


@dataclass(frozen=True, slots=True)
class ObservedProfiles:
    """Profiles of an account's contacts; the latest of a conversation wins (OT-81)."""

    grant: Grant
    channel_account_id: str
    profiles: Sequence[ObservedProfile]


@dataclass(frozen=True, slots=True)
class RenderedCards:
    """Cards of one conversation; the first content of a card wins (OT-90)."""

    grant: Grant
    conversation: ConversationKey
    cards: Sequence[RenderedCard]


@dataclass(frozen=True, slots=True)
class BuyerFacts:
    """Facts of a conversation's buyer; the latest win."""

    grant: Grant
    conversation: ConversationKey
    facts: ObservedFacts


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks for one real write on the way that messages take (MS-15).

    Each value is greater than the asker's last. A store that several servers share
    keeps the greatest.
    """

    value: int


LedgerWork: TypeAlias = ObservedProfiles | RenderedCards | BuyerFacts
Work: TypeAlias = ObservedBatch | Discovery | Progress | Claim | LedgerWork | Probe


@dataclass(frozen=True, slots=True)
class BatchCommitted:
    """What the store has of each message of a batch, in the batch's order.

    `sequences` counts in the conversation, from 1. It is the message's own place: one
    that was there already (`repeats`, by index) keeps the place that it has. A message
    whose scope was taken by other content (`conflicts`, by index) is not stored; its
    number is that of the first, and the difference is kept.
    """

    sequences: Sequence[int]
    repeats: frozenset[int] = frozenset()
    conflicts: frozenset[int] = frozenset()

    @property
    def new(self) -> int:
        """Return how many messages were not there before."""
        return len(self.sequences) - len(self.repeats) - len(self.conflicts)


@dataclass(frozen=True, slots=True)
class DiscoveryStored:
    """The anchor of each discovered conversation, in their order."""

    anchors: Sequence[Anchor | None]


@dataclass(frozen=True, slots=True)
class ProgressStored:
    """The progress is on disk."""


@dataclass(frozen=True, slots=True)
class ClaimProven:
    """The anchor as it stands now; `moved` says whether this claim moved it."""

    anchor: Anchor
    moved: bool


@dataclass(frozen=True, slots=True)
class ClaimUnproven:
    """The claimed message is not in this store."""


@dataclass(frozen=True, slots=True)
class ProfilesStored:
    """Of each profile's conversation, it or a later one is on disk.

    `taken` says by index which are the newest now; the others can never win any more.
    """

    taken: frozenset[int]


@dataclass(frozen=True, slots=True)
class CardsStored:
    """Each card's scope is on disk, `size` of them.

    It was there already with this content (`repeats`, by index), or with other content
    (`conflicts`): then the first stays, and the difference is kept.
    """

    size: int
    repeats: frozenset[int] = frozenset()
    conflicts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class FactsStored:
    """These facts or later ones are on disk; `taken` says whether it is these."""

    taken: bool


@dataclass(frozen=True, slots=True)
class ProbeStored:
    """The probe was written and is on disk."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The grant no longer holds; nothing of this work was stored (OT-60)."""

    standing: Standing


@dataclass(frozen=True, slots=True)
class NotStored:
    """Nothing of this work was stored; it may be tried again."""

    reason: str


Outcome: TypeAlias = (
    BatchCommitted
    | DiscoveryStored
    | ProgressStored
    | ClaimProven
    | ClaimUnproven
    | ProfilesStored
    | CardsStored
    | FactsStored
    | ProbeStored
    | Denied
    | NotStored
)


class ObservationStore(Protocol):
    """The source of truth for commits, as the committer sees it.

    One caller at a time: the committer is the only writer.
    """

    @property
    def store_id(self) -> str:
        """Name this store; a replaced or restored one has another name."""
        ...

    async def commit_group(self, group: Sequence[Work]) -> Sequence[Outcome]:
        """Do all of the work in one durable transaction; return outcomes in its order.

        Batches count before claims of the same group, and works of one ledger in their
        order. Each grant is judged inside the transaction. One scope is one row however
        often it comes, also twice in one group; a repeat takes no sequence number and
        no position (MS-20). Work that cannot be stored does not spoil the rest: it
        alone is `NotStored`.

        Raises:
            StoreUnavailable: nothing of the group was stored; it may be tried again.
        """
        ...

    async def read_probe(self) -> int:
        """Return the probe that was stored last, read apart from the writer.

        Raises:
            StoreUnavailable: it could not be read.
        """
        ...
