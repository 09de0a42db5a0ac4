"""What a group of batches adds to the store, decided without I/O.

Given what the database already has, say for each message whether it is new, a repeat or a
conflict, and give the new ones their gapless position and sequence. A scope is taken by
the first that comes, also inside one group and across connections.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from bright_server.commit.contract import (
    BatchCommitted,
    CommittedMessage,
    ConflictingMessage,
    MessageOutcome,
    ObservedBatch,
)
from bright_server.commit.identity import canonical_content, is_same_content
from bright_server.messages import ConversationKey, ObservedMessage, Position

Row: TypeAlias = tuple[object, ...]

_FIRST_COLUMN = ObservedMessage._fields.index("sender_id")


class ConversationState(NamedTuple):
    """A conversation's small key and the last sequence it has given."""

    ref: int
    last_sequence: int


class Stored(NamedTuple):
    """A message that has its place already, and what it says."""

    position: Position
    sequence: int
    message: ObservedMessage


@dataclass(slots=True)
class GroupPlan:
    """The rows to write and the answers to give once they are on disk."""

    first_position: int
    message_rows: list[Row] = field(default_factory=list)
    conflict_rows: list[Row] = field(default_factory=list)
    last_sequences: dict[ConversationKey, ConversationState] = field(
        default_factory=dict
    )
    outcomes: list[BatchCommitted] = field(default_factory=list)

    @property
    def last_position(self) -> int:
        """Return the last position that this plan gives."""
        return self.first_position + len(self.message_rows) - 1


def plan_group(
    batches: Sequence[ObservedBatch],
    states: Mapping[ConversationKey, ConversationState],
    found: dict[int, dict[str, Stored]],
    first_position: int,
    now_ms: int,
) -> GroupPlan:
    """Decide a group; `found` is added to, so that repeats inside it are seen."""
    plan = GroupPlan(first_position)
    for batch in batches:
        state = plan.last_sequences.get(batch.conversation, states[batch.conversation])
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
    ref, sequence = state
    conflicts_before = len(plan.conflict_rows)
    outcomes: list[MessageOutcome] = []
    for message in batch.messages:
        stored = known.get(message.message_id)
        if stored is not None:
            outcomes.append(_judge_repeat(plan, batch, ref, stored, message, now_ms))
            continue
        sequence += 1
        position = Position(plan.first_position + len(plan.message_rows))
        known[message.message_id] = Stored(position, sequence, message)
        # The message's own columns are its fields, in their order.
        plan.message_rows.append(
            (
                position,
                ref,
                message.message_id,
                sequence,
                *message[_FIRST_COLUMN:],
                batch.received_at_ms,
                now_ms,
            )
        )
        outcomes.append(CommittedMessage(position, sequence, duplicate=False))
    if sequence != state.last_sequence:
        plan.last_sequences[batch.conversation] = ConversationState(ref, sequence)
    return BatchCommitted(
        outcomes,
        new=sequence - state.last_sequence,
        conflicts=len(plan.conflict_rows) - conflicts_before,
    )


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
