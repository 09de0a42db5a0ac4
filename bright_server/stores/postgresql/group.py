"""One group of work inside one transaction: a handful of round trips for all.

What is there is locked and read, the group is decided, what is new is written. The
last round trip takes the outbox's end and commits, so that other servers wait for it no
longer than the disk takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final

from bright_server.authorization.contract import Standing, standing_of
from bright_server.commit.groups import (
    BatchCommitted,
    Claim,
    Denied,
    Discovery,
    LedgerWork,
    ObservedBatch,
    ObservedProfiles,
    Outcome,
    Probe,
    ProbeStored,
    Progress,
    Work,
)
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.stores.group_plan import (
    ConversationState,
    GroupPlan,
    Stored,
    plan_group,
)
from bright_server.stores.postgresql.bindings import binding_of
from bright_server.stores.postgresql.conversations import Conversations, locked
from bright_server.stores.postgresql.database import Statement, Transaction
from bright_server.stores.postgresql.ledgers import LedgerWriter
from bright_server.stores.postgresql.open_commits import OpenCommits
from bright_server.stores.postgresql.progress import ClaimJudge, ConversationNews

_PLAIN_COLUMNS: Final = 11
_COLUMNS_WITH_PARTS: Final = 15


class GroupWriter:
    """Carries out one group in a transaction; nothing of it outlives that."""

    def __init__(
        self, transaction: Transaction, now_ms: int, *, judges_grants: bool
    ) -> None:
        self._transaction = transaction
        self._now_ms = now_ms
        self._judges_grants = judges_grants
        self._outcomes: dict[int, Outcome] = {}
        self._conversations: Conversations = {}
        self._last: list[Statement] = []
        self._outbox: list[Statement] = []
        self._opened = OpenCommits((), now_ms)

    async def write(self, group: Sequence[Work]) -> list[Outcome]:
        """Do the work and commit it; only then are there outcomes."""
        allowed = await self._begun(group)
        batches = [(i, work) for i, work in allowed if isinstance(work, ObservedBatch)]
        ledgers = LedgerWriter(
            [(i, work) for i, work in allowed if isinstance(work, LedgerWork)],
            self._refs(),
            self._now_ms,
        )
        news = ConversationNews(
            [(i, e) for i, e in allowed if isinstance(e, Discovery | Progress)],
            self._refs(),
        )
        await self._write_batches(batches)
        found = await self._transaction.run(*ledgers.wanted(), *news.wanted())
        self._outcomes |= ledgers.judged(found[: len(ledgers.wanted())])
        self._outcomes |= news.judged(found[len(ledgers.wanted()) :])
        self._last += [*ledgers.writes(), *news.writes()]
        claims = [(i, work) for i, work in allowed if isinstance(work, Claim)]
        # Last, so that a claim sees every batch that came before it.
        if claims:
            judge = ClaimJudge(claims, self._refs(), self._now_ms)
            self._outcomes |= judge.judged(await self._transaction.run(*judge.wanted()))
            self._last += judge.writes()
        for index, work in allowed:
            if isinstance(work, Probe):
                self._last.append(("write_probe", (work.value,)))
                self._outcomes[index] = ProbeStored()
        await self._commit()
        return [self._outcomes[index] for index in range(len(group))]

    async def _commit(self) -> None:
        last = self._last
        if self._opened:
            # Whatever else is locked is locked before the outbox's end, here as in
            # other groups: nobody waits in a circle.
            await self._transaction.run(*last)
            last = await self._opened.finished(self._transaction)
        await self._transaction.commit(*last, *self._outbox)

    def _refs(self) -> Mapping[ConversationKey, int]:
        return {key: each.ref for key, each in self._conversations.items()}

    async def _begun(self, group: Sequence[Work]) -> list[tuple[int, Work]]:
        """Judge every grant inside the transaction (OT-60), and lock what is there.

        A remote authority's grants are no bindings of this database: they were asked
        about before the group came here.
        """
        grants = {work.grant for work in group if not isinstance(work, Probe)}
        judging: list[Statement] = []
        if grants and self._judges_grants:
            ids = sorted({grant.binding_id for grant in grants})
            judging = [("grants_may_be_judged", ()), ("bindings_by_ids", (ids,))]
        rows = await self._transaction.begin(*judging)
        allowed = list(enumerate(group))
        if judging:
            found = {each.binding_id: each for each in map(binding_of, rows[1])}
            standings = {
                grant: standing_of(grant, found.get(grant.binding_id))
                for grant in grants
            }
            for index, work in enumerate(group):
                if isinstance(work, Probe):
                    continue
                standing = standings[work.grant]
                if standing is not Standing.VALID:
                    self._outcomes[index] = Denied(standing)
            allowed = [each for each in allowed if each[0] not in self._outcomes]
        works = [work for _, work in allowed]
        self._conversations = await locked(
            self._transaction,
            made={key for work in works for key in _made_by(work)},
            others={work.conversation for work in works if isinstance(work, Claim)},
        )
        return allowed

    async def _write_batches(self, indexed: list[tuple[int, ObservedBatch]]) -> None:
        if not indexed:
            return
        batches = [batch for _, batch in indexed]
        states = {
            each.conversation: self._conversations[each.conversation].state
            for each in batches
        }
        opened = await OpenCommits.of(
            self._transaction, batches, self._conversations, self._now_ms
        )
        found = await self._find_messages(batches, states)
        opened.add_to(found)
        # Positions are counted from 1 until the outbox's end is taken.
        plan = plan_group(batches, states, found, 1, self._now_ms)
        for (index, _), outcome in zip(indexed, plan.outcomes, strict=True):
            self._outcomes[index] = outcome
        await self._copy(plan)
        self._last += _changes(plan)
        runs = _runs(batches, plan.outcomes, states)
        if runs:
            given = plan.last_position
            columns = tuple(map(list, zip(*runs, strict=True)))
            self._outbox.append(("add_outbox", (given, given, *columns)))
        self._opened = opened

    async def _find_messages(
        self,
        batches: Sequence[ObservedBatch],
        states: Mapping[ConversationKey, ConversationState],
    ) -> dict[int, dict[str, Stored]]:
        refs: list[int] = []
        ids: list[str] = []
        for batch in batches:
            state = states[batch.conversation]
            wanted = state.may_hold(batch.messages.message_ids)
            ids += wanted
            refs += [state.ref] * len(wanted)
        found: dict[int, dict[str, Stored]] = {}
        if ids:
            (rows,) = await self._transaction.run(("find_messages", (refs, ids)))
            for ref, sequence, *columns in rows:
                message = ObservedMessage._make((*columns, None))
                found.setdefault(ref, {})[message.message_id] = Stored(
                    sequence, message
                )
        return found

    async def _copy(self, plan: GroupPlan) -> None:
        for name, values, width in (
            ("copy_messages", plan.plain_values, _PLAIN_COLUMNS),
            ("copy_messages_with_parts", plan.values_with_parts, _COLUMNS_WITH_PARTS),
        ):
            if values:
                # All but the position, which is the outbox's alone.
                columns = [values[place::width] for place in range(1, width)]
                await self._transaction.copy(name, zip(*columns, strict=True))


def _made_by(work: Work) -> Iterable[ConversationKey]:
    """Return the conversations that are made for a work, where they are not there."""
    if isinstance(work, Probe | Claim):
        return ()
    if isinstance(work, ObservedProfiles):
        account = work.channel_account_id
        return [
            ConversationKey(account, each.conversation_id) for each in work.profiles
        ]
    if isinstance(work, Discovery):
        account = work.channel_account_id
        return [
            ConversationKey(account, each.conversation_id)
            for each in work.conversations
        ]
    return (work.conversation,)


def _changes(plan: GroupPlan) -> list[Statement]:
    statements: list[Statement] = []
    if plan.changed:
        columns: list[list[Any]] = list(
            map(list, zip(*plan.changed.values(), strict=True))
        )
        statements.append(("set_sequences", columns))
    if plan.conflict_rows:
        conflicts = list(map(list, zip(*plan.conflict_rows, strict=True)))
        statements.append(("add_conflicts", conflicts))
    return statements


def _runs(
    batches: Sequence[ObservedBatch],
    outcomes: Sequence[BatchCommitted],
    states: Mapping[ConversationKey, ConversationState],
) -> list[tuple[int, int, int, int]]:
    """Return what each batch adds to the outbox: a run of places and sequences."""
    runs = []
    place = 1
    for batch, outcome in zip(batches, outcomes, strict=True):
        if not outcome.new:
            continue
        old = outcome.repeats | outcome.conflicts
        first = next(index for index in count() if index not in old)
        ref = states[batch.conversation].ref
        runs.append((place, outcome.new, ref, outcome.sequences[first]))
        place += outcome.new
    return runs
