"""What a message store and a message committer promise. No I/O.

The store is the source of truth for commits. The committer is the only boundary that
turns a successful commit into an ACK. Observed batches take the same steps all at once
and many together: see `groups` (MS-23).

The order of a commit's steps is reserve, record, publish, commit; each is durable
before the next begins, and each may be done again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, Protocol

from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommittedMessage,
    FrozenDelivery,
    HistoryPage,
    HistoryQuery,
    LoadedCommit,
    OutboxPublication,
    ReserveCandidate,
    ReserveResult,
)
from bright_server.messages import ConversationKey


class MessageStore(ABC):
    """The source of truth for commits (MS-01).

    Every method raises `MessageStoreError` alone; no error of a back end shows through
    (MS-30). `StoreUnavailable` says that the outcome is unknown: read again, go
    forward. Any number of callers, of any number of processes where the back end allows
    several.
    """

    @abstractmethod
    async def reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        """Give the message its place, durably, with all that the later steps need.

        The first call freezes request, delivery and candidate in an intent (MS-11,
        MS-21) and takes the conversation's next number. Each repeat returns what stands
        there, in whatever state it is, and takes nothing (MS-20).

        Raises:
            IdentityConflict: the key was reserved by a request with another canonical
                identity; nothing was changed (MS-12).
            StoreUnavailable: it may or may not have been reserved. It was not where the
                words name a part: no store keeps NUL, half a surrogate pair, a number
                beyond 2^53 or an id of more than 2,048 bytes, and what a later step
                could not write would be a hole for ever (MS-21).
        """

    @abstractmethod
    async def put_record(self, intent: CommitIntent) -> None:
        """Write `intent.record`, and nothing else, into history (MS-14).

        RESERVED becomes RECORDED. In a later state a no-op, so it may be retried
        (MS-22).

        Raises:
            CommitUnknown: there is no such intent.
            StoreUnavailable: it may or may not have been written.
        """

    @abstractmethod
    async def mark_outbox_published(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> None:
        """Keep the publication of a recorded message: RECORDED becomes OUTBOXED.

        The same value again is a no-op, in OUTBOXED and in COMMITTED (MS-22).

        Raises:
            WrongCommitState: it is not recorded yet.
            PublicationConflict: another publication is kept already; it stays.
            CommitUnknown: there is no such intent.
            StoreUnavailable: it may or may not have been kept.
        """

    async def mark_published_and_committed(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        """Go from RECORDED with a durable publication to COMMITTED (MS-23).

        A store that can do both in one atomic step overrides this; then a failure
        leaves no partial write. This default takes two steps (MS-24): where the second
        fails, OUTBOXED and the publication stay, and the commit goes on from there.

        The same value again returns the same message. Success ends the candidacy for
        recovery, and history's expiry is registered.

        Raises:
            WrongCommitState: it is not recorded yet.
            PublicationConflict: another publication is kept already; it stays.
            CommitUnknown: there is no such intent.
            StoreUnavailable: it may or may not have been done.
        """
        await self.mark_outbox_published(intent, publication)
        return await self.mark_committed(intent)

    @abstractmethod
    async def mark_committed(self, intent: CommitIntent) -> CommittedMessage:
        """Go from OUTBOXED to COMMITTED; in COMMITTED return the same message.

        Raises:
            WrongCommitState: record or publication is missing (MS-22).
            CommitUnknown: there is no such intent.
            StoreUnavailable: it may or may not have been done.
        """

    @abstractmethod
    async def load_commit(
        self, key: CommitKey, conversation: ConversationKey
    ) -> LoadedCommit | None:
        """Return what is persisted of a key in this conversation; None: nothing.

        Raises:
            StoreUnavailable: it could not be read.
        """

    @abstractmethod
    async def conversation_of(self, key: CommitKey) -> ConversationKey | None:
        """Return where a key was reserved: a caller that has the key alone asks this.

        Raises:
            StoreUnavailable: it could not be read.
        """

    @abstractmethod
    async def load_commit_for_request(
        self, request: AuthenticatedSend
    ) -> LoadedCommit | None:
        """Return what is persisted of the request's key; None: nothing.

        Raises:
            IdentityConflict: it is of a request with another canonical identity
                (MS-12).
            StoreUnavailable: it could not be read.
        """

    @abstractmethod
    async def scan_recoverable_commits(
        self, older_than_ms: int, max_items: int
    ) -> Sequence[CommitIntent]:
        """Return intents that are not committed, created before, the oldest first.

        One that cannot be read is left out, and said in the log: it hides no other.

        Raises:
            StoreUnavailable: they could not be read.
        """

    @abstractmethod
    async def hold_lease(self, name: str, holder: str, ttl_ms: int) -> bool:
        """Take or prolong a lease; False: another holder has it now.

        It is over `ttl_ms` after it was taken last, by the store's own clock, which is
        one for all who ask. Of a holder that died nobody waits for longer than twice
        the asker's own `ttl_ms`, also when that clock was set back since: what would
        last longer is taken for none (MS-21). So all who ask for a lease ask for about
        as long; and it saves work, no more: a holder may lose it while it works.

        Raises:
            StoreUnavailable: it may or may not have been taken.
        """

    @abstractmethod
    async def history_page(self, query: HistoryQuery) -> HistoryPage:
        """Return a page of history, after the actor was seen to be a member (MS-14).

        Raises:
            NotAMember: the actor is none; nothing was read.
            HistoryQueryInvalid: a bound of the query cannot be.
            StoreUnavailable: it could not be read.
        """

    @abstractmethod
    async def readiness(self) -> None:
        """Write and read through the production dependency (MS-15).

        It also refuses a dependency that is set up so that an ACK would not survive a
        power cut.

        Raises:
            StoreUnavailable: it does not answer, cannot be written, or is not durable.
        """


class MessageCommitter(Protocol):
    """Turns requests into ACKs; raises `CommitError` alone (MS-02, MS-31)."""

    async def commit(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> CommittedMessage:
        """Commit a message, or go on with what its key has begun (MS-26).

        Raises:
            InvalidClientMessageId: the key's id cannot be one (MS-10).
            SendRefused: the sender is no member, or content or quota forbid it.
            CommitConflict: the key belongs to another request (MS-12).
            Recoverable: it is not committed yet; the same key can go on.
        """
        ...

    async def resume(self, key: CommitKey) -> CommittedMessage:
        """Go on with a commit from the state that is persisted.

        Raises:
            NothingToResume: nothing was reserved under this key.
            Recoverable: it is not committed yet; the same key can go on.
        """
        ...

    async def resume_existing(
        self, request: AuthenticatedSend
    ) -> CommittedMessage | None:
        """Go on with the commit of this very request; None: there is none.

        Raises:
            CommitConflict: the key belongs to another request (MS-12).
            Recoverable: it is not committed yet; the same key can go on.
        """
        ...

    async def recover_due(self, older_than_ms: int, max_items: int) -> int:
        """Resume commits that were created before; return how many were finished.

        One that cannot be finished now stays, and does not hold up the others.

        Raises:
            CommitUnavailable: what is due could not be read.
        """
        ...

    async def readiness(self) -> None:
        """Prove that a commit could be made now (MS-15).

        Raises:
            CommitUnavailable: store or log cannot take one.
        """
        ...


class Membership(Protocol):
    """Who is a member of a conversation (MS-10, MS-14)."""

    async def is_member(self, actor: str, conversation: ConversationKey) -> bool:
        """Say so, as of now.

        Raises:
            StoreUnavailable: it cannot be told.
        """
        ...


class Nobody:
    """The membership of no one: what a store asks that was given none (MS-14)."""

    async def is_member(self, actor: str, conversation: ConversationKey) -> bool:
        """Say no."""
        return False


NOBODY: Final = Nobody()


class ContentRule(Protocol):
    """What may be said (MS-10)."""

    def fault_of(self, request: AuthenticatedSend) -> str | None:
        """Say what is wrong with a request's content, and where; None: nothing."""
        ...


class Quota(Protocol):
    """How much a sender may send (MS-10)."""

    async def take(self, request: AuthenticatedSend) -> bool:
        """Take one message's share; False: there is none left for now."""
        ...
