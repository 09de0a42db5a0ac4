"""What a group of batches adds to the store, decided without I/O.

Given what the database already has, say for each message whether it is new, a repeat or
a conflict, and give the new ones their gapless position and sequence. A scope is taken
by the first that comes, also inside one group and across connections.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, compress, count, repeat
from operator import not_
from typing import NamedTuple, TypeAlias

from bright_server.commit.groups import BatchCommitted, ObservedBatch
from bright_server.commit.observed_content import canonical_content, is_same_content
from bright_server.messages import ConversationKey, ObservedMessage, ObservedMessages

Row: TypeAlias = tuple[object, ...]


class ConversationState(NamedTuple):
    """A conversation's small key, the last sequence it has given, its ids' bounds.

    An id outside the bounds is certainly new: SQLite compares text as Python does, by
    code points. There is nothing to be looked up for it, and the page's ids increase.
    """

    ref: int
    last_sequence: int
    lowest_id: str
    highest_id: str

    def may_hold(self, message_ids: Iterable[str]) -> list[str]:
        """Return those of the ids of which a message may be stored already."""
        lowest, highest = self.lowest_id, self.highest_id
        return [each for each in message_ids if lowest <= each <= highest]


class Stored(NamedTuple):
    """A message that has its place already, and what it says."""

    sequence: int
    message: ObservedMessage


@dataclass(slots=True)
class GroupPlan:
    """The rows to write and the answers to give once they are on disk.

    The values hold the columns of new rows one row after the other: that is how they
    are bound. Most messages have no structured parts, and are bound without them.
    """

    now_ms: int
    first_position: int
    next_position: int
    plain_values: list[object] = field(default_factory=list)
    values_with_parts: list[object] = field(default_factory=list)
    conflict_rows: list[Row] = field(default_factory=list)
    changed: dict[ConversationKey, ConversationState] = field(default_factory=dict)
    outcomes: list[BatchCommitted] = field(default_factory=list)

    @property
    def last_position(self) -> int:
        """Return the last position that is given once this plan is carried out."""
        return self.next_position - 1

    def add(
        self, new: ObservedMessages, state: ConversationState, received_at_ms: int
    ) -> None:
        """Add new messages of a conversation, numbered on from its state."""
        columns: list[Iterable[object]] = [
            count(self.next_position),
            repeat(state.ref),
            new.message_ids,
            count(state.last_sequence + 1),
            new.sender_ids,
            new.directions,
            new.sent_at_ms,
            new.kinds,
            new.texts,
            repeat(received_at_ms),
            repeat(self.now_ms),
        ]
        values = self.plain_values
        if new.parts is not None:
            columns += zip(*new.parts, strict=True)
            values = self.values_with_parts
        # Those that count or repeat have no end: the messages' own columns end it.
        values += chain.from_iterable(zip(*columns, strict=False))
        self.next_position += len(new)

    def note_conflict(
        self, message: ObservedMessage, ref: int, received_at_ms: int
    ) -> None:
        """Keep what a scope that was taken would have said."""
        content = canonical_content(message)
        digest = hashlib.sha256(content).digest()
        self.conflict_rows.append(
            (
                ref,
                message.message_id,
                digest,
                content.decode(),
                received_at_ms,
                self.now_ms,
            )
        )


def plan_group(
    batches: Sequence[ObservedBatch],
    states: Mapping[ConversationKey, ConversationState],
    found: dict[int, dict[str, Stored]],
    first_position: int,
    now_ms: int,
) -> GroupPlan:
    """Decide a group; `found` is added to, so that repeats inside it are seen."""
    plan = GroupPlan(now_ms, first_position, first_position)
    to_come = Counter(batch.conversation for batch in batches)
    for batch in batches:
        key = batch.conversation
        state = plan.changed.get(key, states[key])
        known = found.setdefault(state.ref, {})
        first_of: dict[str, int] = {}
        is_new = [
            first_of.setdefault(message_id, index) == index and message_id not in known
            for index, message_id in enumerate(batch.messages.message_ids)
        ]
        outcome = _judged(plan, batch, state, known, first_of, is_new)
        plan.outcomes.append(outcome)
        if outcome.new:
            _add_new(plan, batch, state, is_new)
        to_come[key] -= 1
        if to_come[key]:
            for index in compress(count(), is_new):
                message = batch.messages[index]
                known[message.message_id] = Stored(outcome.sequences[index], message)
    return plan


def _judged(
    plan: GroupPlan,
    batch: ObservedBatch,
    state: ConversationState,
    known: Mapping[str, Stored],
    first_of: Mapping[str, int],
    is_new: Sequence[bool],
) -> BatchCommitted:
    """Number what is new, and compare the rest with what took its scope first."""
    sequences = list(accumulate(is_new, initial=state.last_sequence))[1:]
    repeats, conflicts = set(), set()
    messages = batch.messages
    for index in compress(count(), map(not_, is_new)):
        message = messages[index]
        stored = known.get(message.message_id)
        if stored is None:
            first = first_of[message.message_id]
            stored = Stored(sequences[first], messages[first])
        sequences[index] = stored.sequence
        if is_same_content(message, stored.message):
            repeats.add(index)
        else:
            conflicts.add(index)
            plan.note_conflict(message, state.ref, batch.received_at_ms)
    return BatchCommitted(sequences, frozenset(repeats), frozenset(conflicts))


def _add_new(
    plan: GroupPlan,
    batch: ObservedBatch,
    state: ConversationState,
    is_new: Sequence[bool],
) -> None:
    messages = batch.messages
    new = messages if all(is_new) else messages.only(is_new)
    plan.add(new, state, batch.received_at_ms)
    ids = new.message_ids
    # Not by its last number: that may be reserved for a message that is to come.
    has_any = bool(state.highest_id)
    plan.changed[batch.conversation] = ConversationState(
        state.ref,
        state.last_sequence + len(new),
        min(state.lowest_id, *ids) if has_any else min(ids),
        max(state.highest_id, *ids),
    )
