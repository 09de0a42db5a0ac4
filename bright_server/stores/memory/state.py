"""What there is: plain dictionaries, and the few moves that all doors share.

Nothing here waits, so a move is atomic: nobody sees half of it.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from bright_server.commit.encoding import envelope_of
from bright_server.commit.records import (
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    HistoryItem,
    LoadedCommit,
    MessageRecord,
    OutboxPublication,
)
from bright_server.logs.memory import MemoryLog
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.stores.observed_commits import observed_of


@dataclass(frozen=True, slots=True)
class Compacted:
    """What is kept of a committed message: what an ACK and a repeat need (MS-13)."""

    identity: bytes
    message: CommittedMessage


@dataclass(slots=True)
class Conversation:
    """A conversation's numbers, and its history by number."""

    last_sequence: int = 0
    records: dict[int, MessageRecord] = field(default_factory=dict)
    sequences: list[int] = field(default_factory=list)
    """Of the records, ascending."""
    open_sequences: set[int] = field(default_factory=set)
    """Reserved and not committed."""
    expiries: dict[int, int] = field(default_factory=dict)
    """When history may let go of what was committed, by number."""

    def take_sequence(self) -> int:
        """Give the next number: the only place in which one is given (MS-20)."""
        self.last_sequence += 1
        self.open_sequences.add(self.last_sequence)
        return self.last_sequence

    def record(self, sequence: int, record: MessageRecord) -> None:
        """Put a record into its place; again is harmless."""
        if sequence not in self.records:
            insort(self.sequences, sequence)
        self.records[sequence] = record

    def is_over(self, sequence: int, now_ms: int) -> bool:
        """Say whether history has let go of a record; its number stays its own."""
        expires_at_ms = self.expiries.get(sequence)
        return expires_at_ms is not None and expires_at_ms <= now_ms

    def newer(self, anchor: int | None) -> Iterator[HistoryItem]:
        """Yield what comes after the anchor, the oldest first."""
        for sequence in self.sequences[bisect_right(self.sequences, anchor or 0) :]:
            yield HistoryItem(sequence, self.records[sequence])

    def older(self, anchor: int | None) -> Iterator[HistoryItem]:
        """Yield what comes before the anchor, the newest first."""
        for sequence in reversed(self.sequences):
            if anchor is None or sequence < anchor:
                yield HistoryItem(sequence, self.records[sequence])


@dataclass(slots=True)
class Commits:
    """Every commit, its conversations and the log."""

    log: MemoryLog = field(default_factory=MemoryLog)
    intents: dict[CommitKey, CommitIntent] = field(default_factory=dict)
    """Those on their way, in the order of their reservation."""
    committed: dict[CommitKey, Compacted] = field(default_factory=dict)
    observed: dict[CommitKey, ObservedMessage] = field(default_factory=dict)
    """What a page showed: the first content of its scope, through either door."""
    conversations: defaultdict[ConversationKey, Conversation] = field(
        default_factory=lambda: defaultdict(Conversation)
    )

    def of_key(self, key: CommitKey) -> LoadedCommit | None:
        """Return what there is of a key."""
        intent = self.intents.get(key)
        if intent is not None:
            return intent
        compacted = self.committed.get(key)
        return None if compacted is None else compacted.message

    def reserve(self, intent: CommitIntent) -> None:
        """Keep a new intent, whose number was taken."""
        self.intents[intent.key] = intent
        if intent.key.origin == "observed":
            self.observed[intent.key] = observed_of(intent.record)

    def record(self, intent: CommitIntent) -> CommitIntent:
        """RESERVED becomes RECORDED."""
        place = intent.coordinates
        self.conversations[place.conversation].record(place.sequence, intent.record)
        return self._keep(replace(intent, state=CommitState.RECORDED))

    def outbox(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommitIntent:
        """RECORDED becomes OUTBOXED."""
        moved = replace(intent, state=CommitState.OUTBOXED, publication=publication)
        return self._keep(moved)

    def commit(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        """Commit what is recorded and published; what an ACK needs stays."""
        place = intent.coordinates
        message = CommittedMessage(intent.key, place, publication)
        self.committed[intent.key] = Compacted(intent.identity, message)
        self.intents.pop(intent.key, None)
        conversation = self.conversations[place.conversation]
        conversation.open_sequences.discard(place.sequence)
        expires_at_ms = intent.record.history_expires_at_ms
        if expires_at_ms is not None:
            conversation.expiries[place.sequence] = expires_at_ms
        return message

    def finish(self, intent: CommitIntent) -> CommittedMessage:
        """Take every step that is left at once, as a group does (MS-23)."""
        if intent.state is CommitState.RESERVED:
            intent = self.record(intent)
        publication = intent.publication
        if publication is None:
            publication = OutboxPublication(self.log.append(envelope_of(intent)))
        return self.commit(intent, publication)

    def _keep(self, intent: CommitIntent) -> CommitIntent:
        self.intents[intent.key] = intent
        return intent
