"""The door of observed batches: each work of a group is one atomic step.

A message that the other door has reserved already is there already: it keeps its place,
and the group takes the steps that its commit still lacks (MS-23, MS-26).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from bright_server.authorization.contract import Standing, standing_of
from bright_server.clock import Clock
from bright_server.commit.groups import (
    BatchCommitted,
    Claim,
    Denied,
    Discovery,
    LedgerWork,
    NotStored,
    ObservedBatch,
    Outcome,
    Probe,
    ProbeStored,
    Work,
)
from bright_server.commit.identity import identity_digest
from bright_server.commit.observed_content import canonical_content
from bright_server.commit.records import (
    CommitIntent,
    CommitState,
    Coordinates,
    FrozenDelivery,
)
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.settings import Settings
from bright_server.stores.group_plan import ConversationState, Stored, plan_group
from bright_server.stores.memory.bindings import MemoryBindings
from bright_server.stores.memory.conversations import ConversationFacts
from bright_server.stores.memory.ledgers import Ledgers
from bright_server.stores.memory.state import Commits
from bright_server.stores.observed_commits import (
    observed_key,
    record_of_observed,
    request_of,
)

_REF = 1  # of the one conversation that a plan here is about


@dataclass(slots=True)
class Observations:
    """What observed work has left, beside the commits."""

    store_id: str = field(default_factory=lambda: uuid4().hex)
    facts: ConversationFacts = field(default_factory=ConversationFacts)
    ledgers: Ledgers = field(default_factory=Ledgers)
    conflicts: set[tuple[ConversationKey, str, bytes]] = field(default_factory=set)
    probe: int = 0


class MemoryObservations:
    """See `ObservationStore`."""

    def __init__(
        self,
        commits: Commits,
        observations: Observations,
        bindings: MemoryBindings,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._commits = commits
        self._kept = observations
        self._bindings = bindings
        self._judges_grants = settings.authority is None
        self._clock = clock

    @property
    def store_id(self) -> str:
        """See `ObservationStore.store_id`."""
        return self._kept.store_id

    async def commit_group(self, group: Sequence[Work]) -> Sequence[Outcome]:
        """See `ObservationStore.commit_group`."""
        outcomes: dict[int, Outcome] = {}
        # Last, so that a claim sees every batch that came before it.
        indexes = sorted(range(len(group)), key=lambda i: isinstance(group[i], Claim))
        for index in indexes:
            outcomes[index] = self._do(group[index])
        return [outcomes[index] for index in range(len(group))]

    async def read_probe(self) -> int:
        """See `ObservationStore.read_probe`."""
        return self._kept.probe

    def _do(self, work: Work) -> Outcome:
        if isinstance(work, Probe):
            self._kept.probe = max(self._kept.probe, work.value)
            return ProbeStored()
        standing = self._standing(work)
        if standing is not Standing.VALID:
            return Denied(standing)
        if isinstance(work, ObservedBatch):
            return self._commit_batch(work)
        if isinstance(work, Discovery):
            return self._kept.facts.discover(work)
        if isinstance(work, Claim):
            return self._judge_claim(work)
        if isinstance(work, LedgerWork):
            return self._kept.ledgers.write(work)
        return self._kept.facts.store_progress(work)

    def _standing(self, work: Work) -> Standing:
        if isinstance(work, Probe) or not self._judges_grants:
            return Standing.VALID
        grant = work.grant
        found = self._bindings.now_of([grant.binding_id])
        return standing_of(grant, found.get(grant.binding_id))

    def _commit_batch(self, batch: ObservedBatch) -> Outcome:
        try:
            for message in map(batch.messages.__getitem__, range(len(batch.messages))):
                canonical_content(message)
        except UnicodeError as error:
            return NotStored(str(error))
        key = batch.conversation
        last = self._commits.conversations[key].last_sequence
        found = self._found(batch)
        states = {key: ConversationState(_REF, last, "", "")}
        now_ms = self._clock.now_ms()
        outcome = plan_group([batch], states, {_REF: found}, 1, now_ms).outcomes[0]
        self._carry_out(batch, outcome)
        return outcome

    def _found(self, batch: ObservedBatch) -> dict[str, Stored]:
        """Return which of a batch's messages are there, from either door."""
        found = {}
        for message_id in batch.messages.message_ids:
            key = observed_key(batch.conversation, message_id)
            there = self._commits.of_key(key)
            if there is not None:
                message = self._commits.observed[key]
                found[message_id] = Stored(there.coordinates.sequence, message)
        return found

    def _carry_out(self, batch: ObservedBatch, outcome: BatchCommitted) -> None:
        for index, sequence in enumerate(outcome.sequences):
            message = batch.messages[index]
            if index not in outcome.repeats | outcome.conflicts:
                self._add(batch, message, sequence)
                continue
            if index in outcome.conflicts:
                self._note_conflict(batch, message)
            self._finish(batch, message)

    def _add(
        self, batch: ObservedBatch, message: ObservedMessage, sequence: int
    ) -> None:
        key = batch.conversation
        request = request_of(key, message)
        taken = self._commits.conversations[key].take_sequence()
        assert taken == sequence  # noqa: S101 - the plan counts as the conversation does
        intent = CommitIntent(
            request.key,
            identity_digest(request),
            Coordinates(key, message.message_id, sequence),
            record_of_observed(key, message, batch.received_at_ms),
            FrozenDelivery(),
            CommitState.RESERVED,
        )
        self._commits.observed[request.key] = message
        self._commits.finish(intent)

    def _finish(self, batch: ObservedBatch, message: ObservedMessage) -> None:
        key = observed_key(batch.conversation, message.message_id)
        intent = self._commits.intents.get(key)
        if intent is not None:
            self._commits.finish(intent)

    def _note_conflict(self, batch: ObservedBatch, message: ObservedMessage) -> None:
        content = canonical_content(message)
        self._kept.conflicts.add((batch.conversation, message.message_id, content))

    def _judge_claim(self, claim: Claim) -> Outcome:
        key = observed_key(claim.conversation, claim.latest_message_id)
        is_committed = key in self._commits.committed
        sent_at_ms = self._commits.observed[key].sent_at_ms if is_committed else None
        return self._kept.facts.claim(claim, sent_at_ms, self._clock.now_ms())
