"""The simplest thing that could be right: what a store's answers are compared with.

It knows nothing of stores: a key has a state, a place and what was said first; a
conversation has a counter. It says of each step which answer is due.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bright_server.commit.records import (
    AuthenticatedSend,
    CommitKey,
    CommitState,
    OutboxPublication,
)
from bright_server.errors import (
    CommitUnknown,
    IdentityConflict,
    MessageStoreError,
    PublicationConflict,
    WrongCommitState,
)
from bright_server.messages import ConversationKey


@dataclass(slots=True)
class Known:
    """What a key has come to."""

    request: AuthenticatedSend
    sequence: int
    created_at_ms: int
    state: CommitState = CommitState.RESERVED
    publication: OutboxPublication | None = None


@dataclass(slots=True)
class ReferenceModel:
    """Every key, and every conversation's counter."""

    known: dict[CommitKey, Known] = field(default_factory=dict)
    counters: dict[ConversationKey, int] = field(default_factory=dict)

    def reserve(self, request: AuthenticatedSend, at_ms: int) -> Known | None:
        """Return what stands there; None: a conflict (MS-12, MS-20)."""
        there = self.known.get(request.key)
        if there is None:
            sequence = self.counters.get(request.conversation, 0) + 1
            self.counters[request.conversation] = sequence
            there = self.known[request.key] = Known(request, sequence, at_ms)
        return there if there.request == request else None

    def record(self, key: CommitKey) -> type[MessageStoreError] | None:
        """Take a step, or return how it is refused (MS-22)."""
        there = self.known.get(key)
        if there is None:
            return CommitUnknown
        there.state = max(there.state, CommitState.RECORDED)
        return None

    def publish(
        self, key: CommitKey, publication: OutboxPublication
    ) -> type[MessageStoreError] | None:
        """Take a step, or return how it is refused (MS-22)."""
        there = self.known.get(key)
        if there is None:
            return CommitUnknown
        if there.state is CommitState.RESERVED:
            return WrongCommitState
        if there.publication not in {None, publication}:
            return PublicationConflict
        there.publication = publication
        there.state = max(there.state, CommitState.OUTBOXED)
        return None

    def commit(self, key: CommitKey) -> type[MessageStoreError] | None:
        """Take a step, or return how it is refused (MS-22)."""
        there = self.known.get(key)
        if there is None:
            return CommitUnknown
        if there.state < CommitState.OUTBOXED:
            return WrongCommitState
        there.state = CommitState.COMMITTED
        return None

    def publish_and_commit(
        self, key: CommitKey, publication: OutboxPublication
    ) -> type[MessageStoreError] | None:
        """Take both steps, or return how they are refused (MS-23)."""
        return self.publish(key, publication) or self.commit(key)

    def load(self, request: AuthenticatedSend) -> Known | type[IdentityConflict] | None:
        """Return what is persisted of a request's key, or how it is refused."""
        there = self.known.get(request.key)
        if there is not None and there.request != request:
            return IdentityConflict
        return there

    def due(self, older_than_ms: int) -> set[CommitKey]:
        """Return what recovery would be given (MS-21)."""
        return {
            key
            for key, there in self.known.items()
            if there.state is not CommitState.COMMITTED
            and there.created_at_ms < older_than_ms
        }

    def history(self, conversation: ConversationKey) -> list[int]:
        """Return the numbers that a conversation's history has (MS-28)."""
        return sorted(
            there.sequence
            for there in self.known.values()
            if there.request.conversation == conversation
            and there.state >= CommitState.RECORDED
        )
