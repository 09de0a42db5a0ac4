"""What a back end gives and takes when a whole store is copied into another. No I/O.

A store is read as records of some kinds, page by page, and loaded in the order of
`COPIED_KINDS`. How far a copy is stands in the store that is copied into, in the same
durable step as the records where the back end has such steps; so a copy that was killed
goes on where it stands. Until it is finished nothing else may open that store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from bright_server.authorization.contract import Binding
from bright_server.clock import Clock
from bright_server.commit.records import (
    CommitKey,
    CommitState,
    Coordinates,
    FrozenDelivery,
    MessageRecord,
)
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.settings import Settings

ONE_PARTITION: Final = "outbox"
"""One partition of this name, gapless, which a message's position is the offset in."""


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """What is there once in a store.

    `log_layout` names how places in its log are given: stores of the same layout can
    keep one another's places.
    """

    store_id: str
    created_at_ms: int
    log_layout: str = ONE_PARTITION


@dataclass(frozen=True, slots=True)
class CopiedBinding:
    """Who may connect; of its token there is a digest only."""

    binding: Binding
    token_digest: bytes


@dataclass(frozen=True, slots=True)
class CopiedConversation:
    """A conversation: the last number that it gave, and how far its history is read."""

    conversation: ConversationKey
    title: str | None
    latest_message_at_ms: int | None
    last_sequence: int
    next_time_stamp: str | None
    history_complete: bool | None
    page: int | None


@dataclass(frozen=True, slots=True)
class CopiedMessage:
    """A message that a group commit stored (MS-23), with its place in the log."""

    conversation: ConversationKey
    sequence: int
    message: ObservedMessage
    received_at_ms: int
    committed_at_ms: int
    position: LogPosition


@dataclass(frozen=True, slots=True)
class CopiedCommit:
    """A commit that went step by step, open or done, with its place in history.

    `record` and `delivery` are None where a committed message's are let go of (MS-13).
    """

    key: CommitKey
    identity: bytes
    coordinates: Coordinates
    state: CommitState
    created_at_ms: int
    publication: LogPosition | None = None
    record: MessageRecord | None = None
    delivery: FrozenDelivery | None = None


@dataclass(frozen=True, slots=True)
class CopiedLogEntry:
    """An envelope in the store's own log, of a message that was committed by itself.

    The commit may not know of it yet: then it is published again, and found.
    """

    position: LogPosition
    key: str
    body: bytes


@dataclass(frozen=True, slots=True)
class CopiedConflict:
    """What else was said under a message's scope: `content` as `observed_content`."""

    conversation: ConversationKey
    message_id: str
    content: str
    received_at_ms: int
    noted_at_ms: int


@dataclass(frozen=True, slots=True)
class CopiedAnchor:
    """The proven end of a conversation's history."""

    conversation: ConversationKey
    message_id: str
    sent_at_ms: int
    anchored_at_ms: int


@dataclass(frozen=True, slots=True)
class CopiedProfile:
    """The newest profile of a conversation's contact."""

    conversation: ConversationKey
    ali_id: str | None
    profile: str
    fingerprint: str
    observed_at_ms: int
    committed_at_ms: int
    binding_id: str


@dataclass(frozen=True, slots=True)
class CopiedCard:
    """A card of a message, as it was rendered first."""

    conversation: ConversationKey
    message_id: str
    card_kind: str
    content: str
    committed_at_ms: int
    binding_id: str


@dataclass(frozen=True, slots=True)
class CopiedCardConflict:
    """Another content of a card."""

    conversation: ConversationKey
    message_id: str
    card_kind: str
    content: str
    noted_at_ms: int
    binding_id: str


@dataclass(frozen=True, slots=True)
class CopiedFacts:
    """The newest facts of a conversation's buyer."""

    conversation: ConversationKey
    facts: str
    fingerprint: str
    observed_at_ms: int
    committed_at_ms: int
    binding_id: str


CopiedInConversation: TypeAlias = (
    CopiedConversation
    | CopiedMessage
    | CopiedConflict
    | CopiedAnchor
    | CopiedProfile
    | CopiedCard
    | CopiedCardConflict
    | CopiedFacts
)
"""Those that say their conversation first."""

CopiedRecord: TypeAlias = (
    CopiedBinding | CopiedCommit | CopiedLogEntry | CopiedInConversation
)

COPIED_KINDS: Final[Mapping[str, tuple[type[CopiedRecord], ...]]] = {
    "bindings": (CopiedBinding,),
    # Before all that lies in conversations.
    "conversations": (CopiedConversation,),
    # What stands in the log, in its order; before the commits that are published there.
    "log": (CopiedMessage, CopiedLogEntry),
    "commits": (CopiedCommit,),
    "conflicts": (CopiedConflict,),
    "anchors": (CopiedAnchor,),
    "profiles": (CopiedProfile,),
    "cards": (CopiedCard,),
    "card conflicts": (CopiedCardConflict,),
    "facts": (CopiedFacts,),
}
"""What a store consists of, in the order in which it is loaded."""


@dataclass(frozen=True, slots=True)
class CopiedPage:
    """Some records of one kind; `cursor` is where to go on, None: that was the last."""

    records: Sequence[CopiedRecord]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class CopyMark:
    """How far a copy is: kept in the store that is copied into.

    Every page of a kind up to `cursor` is loaded; None: none of it. No `kind`: all of
    the store is. `loaded` counts the records of each kind that are.
    """

    source: StoreFacts
    store_id: str
    kind: str | None
    cursor: str | None
    loaded: Mapping[str, int] = field(default_factory=dict)


def begun_otherwise(mark: CopyMark, source: StoreFacts) -> str:
    """Say whose copy was begun in a store that another source was to be copied into."""
    if mark.source.store_id != source.store_id:
        return f"a copy of another store ({mark.source.store_id}) was begun there"
    return (
        f"a copy of this store ({source.store_id}) was begun there from another"
        " database than this one"
    )


class StoreExport(Protocol):
    """A store that is read whole, while nobody writes it."""

    @property
    def facts(self) -> StoreFacts:
        """Return what is there once."""
        ...

    async def page(self, kind: str, cursor: str | None, limit: int) -> CopiedPage:
        """Return up to `limit` records of a kind, from a cursor of an earlier page.

        Each record comes exactly once; those of the log come in the order of their
        positions, inside each partition. A cursor is text without a meaning to
        anybody else; it holds in another process and after a restart, as long as
        nothing is written.

        Raises:
            StoreUnavailable: it could not be read.
        """
        ...


class StoreImport(StoreExport, Protocol):
    """A store that is copied into, and read again to compare."""

    async def begin(self, source: StoreFacts, store_id: str) -> CopyMark:
        """Return how far the copy of this source is, begun durably where it was not.

        `created_at_ms` stays that of the source. One that was begun keeps the store id
        that it was begun with. Where the layouts of the two logs differ, messages, log
        entries and publications get places of this log, in the order in which they are
        loaded.

        Raises:
            CopyRefused: the store holds something, and no begun copy of this source.
            StoreUnavailable: it could not be read or written.
        """
        ...

    async def load(self, records: Sequence[CopiedRecord], mark: CopyMark) -> None:
        """Add the records of one kind, and move the mark, durably.

        The same page may come again after a failure, and changes nothing then.

        Raises:
            StoreUnavailable: the page may or may not be there.
        """
        ...

    def kept(self, record: CopiedRecord) -> CopiedRecord:
        """Return a record as this back end keeps it: what it does not keep left out.

        A record that is read from it again equals this, its place in the log apart.
        """
        ...

    async def finish(self, mark: CopyMark) -> None:
        """Turn the copy into a store that can be opened, durably; the mark is gone.

        Raises:
            StoreUnavailable: it may or may not have been done.
        """
        ...


class Exporter(Protocol):
    """What each back end's `exporting` is, in its module `transfer`."""

    def __call__(
        self, settings: Settings, clock: Clock
    ) -> AbstractAsyncContextManager[StoreExport]:
        """Open a store for reading it whole; nothing of it is changed.

        Where the back end can tell, no server writes it meanwhile.

        Raises:
            StoreMissing: there is none.
            StoreInUse: a server serves it.
            SchemaRefused: it is not for this Bright, or its schema is older.
            StoreUnavailable: it cannot be opened.
        """
        ...


class Importer(Protocol):
    """What each back end's `importing` is, in its module `transfer`."""

    def __call__(
        self, settings: Settings, clock: Clock
    ) -> AbstractAsyncContextManager[StoreImport]:
        """Open an empty store, or one with a begun copy, and make its schema.

        Raises:
            StoreInUse: a server serves it.
            SchemaRefused: it is not for this Bright.
            StoreUnavailable: it cannot be opened.
        """
        ...
