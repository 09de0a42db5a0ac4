"""What a group of batches adds to the store, decided without I/O.

Given what the database already has, say for each message whether it is new, a repeat or
a conflict, and give the new ones their gapless position and sequence. A scope is taken
by the first that comes, also inside one group and across connections.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from bright_server.commit.contract import (
    BatchCommitted,
    CommittedMessage,
    ConflictingMessage,
    MessageOutcome,
    ObservedBatch,
    committed,
)
from bright_server.commit.identity import canonical_content, is_same_content
from bright_server.messages import ConversationKey, ObservedMessage, Position

Row: TypeAlias = tuple[object, ...]

_CONTENT_COLUMNS = itemgetter(slice(ObservedMessage._fields.index("sender_id"), None))


class ConversationState(NamedTuple):
    """A conversation's small key, the last sequence it has given, its ids' bounds.

    An id outside the bounds is certainly new: SQLite compares text as Python does, by
    code points. There is nothing to be looked up for it, and the page's ids increase.
    """

    ref: int
    last_sequence: int
    lowest_id: str
    highest_id: str

    def may_hold(self, message_id: str) -> bool:
        """Say whether a message of this id may be stored already."""
        return self.lowest_id <= message_id <= self.highest_id


class Stored(NamedTuple):
    """A message that has its place already, and what it says."""

    position: Position
    sequence: int
    message: ObservedMessage


# As the constructor, in a third of its time.
_stored: Final = partial(tuple.__new__, Stored)


@dataclass(slots=True)
class GroupPlan:
    """The rows to write and the answers to give once they are on disk.

    `message_values` holds the columns of all new rows one after the other: that is how
    they are bound.
    """

    first_position: int
    next_position: int
    message_values: list[object] = field(default_factory=list)
    conflict_rows: list[Row] = field(default_factory=list)
    changed: dict[ConversationKey, ConversationState] = field(default_factory=dict)
    outcomes: list[BatchCommitted] = field(default_factory=list)

    @property
    def last_position(self) -> int:
        """Return the last position that is given once this plan is carried out."""
        return self.next_position - 1


def plan_group(
    batches: Sequence[ObservedBatch],
    states: Mapping[ConversationKey, ConversationState],
    found: dict[int, dict[str, Stored]],
    first_position: int,
    now_ms: int,
) -> GroupPlan:
    """Decide a group; `found` is added to, so that repeats inside it are seen."""
    plan = GroupPlan(first_position, first_position)
    for batch in batches:
        state = plan.changed.get(batch.conversation, states[batch.conversation])
        known = found.setdefault(state.ref, {})
        plan.outcomes.append(_plan_batch(plan, batch, state, known, now_ms))
    return plan


def _plan_batch(
    plan: GroupPlan,
    batch: ObservedBatch,
    state: ConversationState,
    known: dict[str, Stored],
    now_ms: int,
) -> BatchCommitted:
    ref, sequence = state.ref, state.last_sequence
    position = plan.next_position
    conflicts_before = len(plan.conflict_rows)
    outcomes: list[MessageOutcome] = []
    values = plan.message_values
    times = (batch.received_at_ms, now_ms)
    for message in batch.messages:
        message_id = message.message_id
        stored = known.get(message_id)
        if stored is not None:
            outcomes.append(_judge_repeat(plan, batch, ref, stored, message, now_ms))
            continue
        sequence += 1
        known[message_id] = _stored((position, sequence, message))
        # The message's own columns are its fields, in their order.
        content = _CONTENT_COLUMNS(message)
        values += (position, ref, message_id, sequence, *content, *times)
        outcomes.append(committed((position, sequence, False)))
        position += 1
    plan.next_position = position
    new = sequence - state.last_sequence
    if new:
        ids = [message.message_id for message in batch.messages]
        plan.changed[batch.conversation] = ConversationState(
            ref,
            sequence,
            min(ids) if not state.last_sequence else min(state.lowest_id, *ids),
            max(state.highest_id, *ids),
        )
    conflicts = len(plan.conflict_rows) - conflicts_before
    return BatchCommitted(outcomes, new, conflicts)


def _judge_repeat(
    plan: GroupPlan,
    batch: ObservedBatch,
    ref: int,
    stored: Stored,
    message: ObservedMessage,
    now_ms: int,
) -> MessageOutcome:
    if is_same_content(message, stored.message):
        return CommittedMessage(stored.position, stored.sequence, duplicate=True)
    content = canonical_content(message)
    plan.conflict_rows.append(
        (
            ref,
            message.message_id,
            hashlib.sha256(content).digest(),
            content.decode(),
            batch.received_at_ms,
            now_ms,
        )
    )
    return ConflictingMessage(stored.sequence)
