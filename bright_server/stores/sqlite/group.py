"""One group of work inside one transaction: a handful of statements for all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bright_server.authorization.contract import Standing, standing_of
from bright_server.commit.groups import (
    Claim,
    ClaimProven,
    ClaimUnproven,
    Denied,
    Discovery,
    DiscoveryStored,
    LedgerWork,
    ObservedBatch,
    Outcome,
    Probe,
    ProbeStored,
    Progress,
    ProgressStored,
    Work,
)
from bright_server.commit.records import CommitKey
from bright_server.errors import CommitUnreadable, StoreUnavailable
from bright_server.messages import Anchor, ConversationKey, ObservedMessage
from bright_server.stores.group_plan import (
    ConversationState,
    GroupPlan,
    Stored,
    plan_group,
)
from bright_server.stores.observed_commits import observed_key
from bright_server.stores.sqlite.bindings import bindings_by_ids
from bright_server.stores.sqlite.bulk import insert_rows
from bright_server.stores.sqlite.commit_rows import CommitRow, commit_row
from bright_server.stores.sqlite.commit_steps import finish
from bright_server.stores.sqlite.connection import scalar
from bright_server.stores.sqlite.ledgers import Indexed, write_ledgers
from bright_server.stores.sqlite.queries import SQL
from bright_server.stores.sqlite.writer_memory import WriterMemory
from bright_server.wire.text import compact_json


@dataclass(slots=True)
class GroupResult:
    """Outcomes in the order of the work, and what the cache may learn of them."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    states: dict[ConversationKey, ConversationState] = field(default_factory=dict)
    last_position: int = 0


class GroupWriter:
    """Carries out one group inside a transaction, on the connection's own thread."""

    def __init__(
        self,
        database: sqlite3.Connection,
        memory: WriterMemory,
        now_ms: int,
        *,
        judges_grants: bool,
    ) -> None:
        self._database = database
        self._memory = memory
        self._now_ms = now_ms
        self._judges_grants = judges_grants
        self._result = GroupResult(last_position=memory.last_position)

    def write(self, group: Sequence[Work]) -> GroupResult:
        """Do the work; the caller commits, and only then gives the outcomes away."""
        allowed = self._allowed(group)
        batches = [(i, work) for i, work in allowed if isinstance(work, ObservedBatch)]
        if batches:
            self._write_batches(batches)
        ledgers: list[Indexed] = []
        for index, work in allowed:
            if isinstance(work, LedgerWork):
                ledgers.append((index, work))
            elif isinstance(work, Discovery):
                self._discover(index, work)
            elif isinstance(work, Progress):
                self._store_progress(index, work)
            elif isinstance(work, Probe):
                self._run("write_probe", (work.value,))
                self._result.outcomes[index] = ProbeStored()
        if ledgers:
            self._result.outcomes |= write_ledgers(
                self._database, ledgers, self._now_ms
            )
        # Last, so that a claim sees every batch that came before it.
        claims = [(i, work) for i, work in allowed if isinstance(work, Claim)]
        if claims:
            self._judge_claims(claims)
        return self._result

    def _allowed(self, group: Sequence[Work]) -> list[tuple[int, Work]]:
        """Judge every grant inside the transaction (OT-60): one statement for all.

        A remote authority's grants are no bindings of this database: they were asked
        about before the group came here.
        """
        grants = {work.grant for work in group if not isinstance(work, Probe)}
        if not grants or not self._judges_grants:
            return list(enumerate(group))
        found = bindings_by_ids(self._database, {grant.binding_id for grant in grants})
        standings = {
            grant: standing_of(grant, found.get(grant.binding_id)) for grant in grants
        }
        allowed = []
        for index, work in enumerate(group):
            standing = (
                Standing.VALID if isinstance(work, Probe) else standings[work.grant]
            )
            if standing is Standing.VALID:
                allowed.append((index, work))
            else:
                self._result.outcomes[index] = Denied(standing)
        return allowed

    def _write_batches(self, indexed: list[tuple[int, ObservedBatch]]) -> None:
        batches = [batch for _, batch in indexed]
        states = self._states({batch.conversation for batch in batches})
        found = self._find_messages(batches, states)
        memory = self._memory
        if memory.has_single_observations or memory.has_open_sends:
            self._find_single_commits(batches, states, found)
        plan = plan_group(
            batches, states, found, self._result.last_position + 1, self._now_ms
        )
        self._write_plan(plan)
        self._result.states = states | plan.changed
        for (index, _), outcome in zip(indexed, plan.outcomes, strict=True):
            self._result.outcomes[index] = outcome

    def _states(
        self, keys: set[ConversationKey]
    ) -> dict[ConversationKey, ConversationState]:
        states = {
            key: state for key in keys if (state := self._memory.conversations.get(key))
        }
        missing = [_pair(key) for key in keys if key not in states]
        if missing:
            self._database.executemany(SQL["add_conversations"], missing)
            for row in self._run("find_conversations", (compact_json(missing),)):
                account, conversation, *state = row
                key = ConversationKey(account, conversation)
                states[key] = ConversationState(*state)
        return states

    def _find_messages(
        self,
        batches: Sequence[ObservedBatch],
        states: dict[ConversationKey, ConversationState],
    ) -> dict[int, dict[str, Stored]]:
        wanted: dict[int, list[str]] = {}
        for batch in batches:
            state = states[batch.conversation]
            ids = state.may_hold(batch.messages.message_ids)
            if ids:
                wanted.setdefault(state.ref, []).extend(ids)
        found: dict[int, dict[str, Stored]] = {}
        if wanted:
            for row in self._run("find_messages", (compact_json(wanted),)):
                ref, stored = _stored(row)
                found.setdefault(ref, {})[stored.message.message_id] = stored
        return found

    def _find_single_commits(
        self,
        batches: Sequence[ObservedBatch],
        states: dict[ConversationKey, ConversationState],
        found: dict[int, dict[str, Stored]],
    ) -> None:
        """Find what came the other way, and finish what is under way of it.

        Its message keeps the place that it has, and the group's ACK stands on a commit.
        """
        for row in (
            *self._single_observations(batches),
            *self._open_sends(batches, states),
        ):
            try:
                finish(self._database, row, self._now_ms)
            except CommitUnreadable as error:
                # Only the batch that it is in is not stored, see `commit_group`.
                raise StoreUnavailable("commit", str(error)) from error
            message_id = row.coordinates.message_id
            asked = compact_json({row.ref: [message_id]})
            ((_, stored),) = map(_stored, self._run("find_messages", (asked,)))
            ref = states[row.coordinates.conversation].ref
            found.setdefault(ref, {})[message_id] = stored
        self._result.last_position = int(
            str(scalar(self._database, SQL["last_position"]))
        )

    def _single_observations(self, batches: Sequence[ObservedBatch]) -> list[CommitRow]:
        if not self._memory.has_single_observations:
            return []
        wanted = [
            (*_pair(batch.conversation), message_id)
            for batch in batches
            for message_id in batch.messages.message_ids
        ]
        return [
            commit_row(
                observed_key(ConversationKey(account, name), message_id), tuple(columns)
            )
            for account, name, message_id, *columns in self._run(
                "find_observed_commits", (compact_json(wanted),)
            )
        ]

    def _open_sends(
        self,
        batches: Sequence[ObservedBatch],
        states: dict[ConversationKey, ConversationState],
    ) -> list[CommitRow]:
        """Return what is sent under ids that a page shows as well.

        History holds an id once. Were it the page's now, what was reserved first could
        never be recorded, and every reader would stop before it (MS-21).
        """
        if not self._memory.has_open_sends:
            return []
        shown: dict[ConversationKey, set[str]] = {}
        for batch in batches:
            ids = shown.setdefault(batch.conversation, set())
            ids.update(batch.messages.message_ids)
        refs = compact_json([states[key].ref for key in shown])
        found: list[CommitRow] = []
        for tenant, sender, name, *columns in self._run("find_open_sends", (refs,)):
            row = commit_row(CommitKey("sent", tenant, sender, name), tuple(columns))
            if row.coordinates.message_id in shown[row.coordinates.conversation]:
                found.append(row)
        return found

    def _write_plan(self, plan: GroupPlan) -> None:
        if plan.changed:
            insert_rows(self._database, SQL["add_plain_messages"], plan.plain_values)
            insert_rows(
                self._database, SQL["add_messages_with_parts"], plan.values_with_parts
            )
            self._run("add_outbox", (plan.first_position, plan.last_position))
            self._database.executemany(
                SQL["set_last_sequences"],
                [(each.last_sequence, each.ref) for each in plan.changed.values()],
            )
            self._result.last_position = plan.last_position
        if plan.conflict_rows:
            self._database.executemany(SQL["add_conflicts"], plan.conflict_rows)

    def _discover(self, index: int, work: Discovery) -> None:
        account = work.channel_account_id
        self._database.executemany(
            SQL["discover"],
            [
                (account, each.conversation_id, each.latest_message_at_ms, each.title)
                for each in work.conversations
            ],
        )
        wanted = [(account, each.conversation_id) for each in work.conversations]
        anchors = {
            conversation: Anchor(ConversationKey(account, conversation), latest, at_ms)
            for account, conversation, latest, at_ms in self._run(
                "find_anchors", (compact_json(wanted),)
            )
        }
        self._result.outcomes[index] = DiscoveryStored(
            [anchors.get(each.conversation_id) for each in work.conversations]
        )

    def _store_progress(self, index: int, work: Progress) -> None:
        self._run(
            "store_progress",
            (
                *_pair(work.conversation),
                work.next_time_stamp,
                int(work.history_complete),
                work.page,
                work.latest_message_at_ms,
            ),
        )
        self._result.outcomes[index] = ProgressStored()

    def _judge_claims(self, claims: list[tuple[int, Claim]]) -> None:
        wanted = compact_json(
            [
                (*_pair(claim.conversation), claim.latest_message_id, self._now_ms)
                for _, claim in claims
            ]
        )
        moved = {tuple(row) for row in self._run("claim_anchors", (wanted,))}
        found = {row[0]: row[1:] for row in self._run("find_claimed", (wanted,))}
        proven = []
        for number, (index, claim) in enumerate(claims):
            if number not in found:
                self._result.outcomes[index] = ClaimUnproven()
                continue
            ref, latest, anchored_at_ms = found[number]
            self._result.outcomes[index] = ClaimProven(
                Anchor(claim.conversation, latest, anchored_at_ms),
                moved=(ref, claim.latest_message_id) in moved,
            )
            proven.append((claim.latest_message_at_ms, *_pair(claim.conversation)))
        if proven:
            self._database.executemany(SQL["touch_activity"], proven)

    def _run(self, query: str, parameters: Iterable[object]) -> list[Any]:
        return self._database.execute(SQL[query], tuple(parameters)).fetchall()


def _pair(key: ConversationKey) -> tuple[str, str]:
    return (key.channel_account_id, key.conversation_id)


def _stored(row: tuple[Any, ...]) -> tuple[int, Stored]:
    ref, sequence, *columns = row
    return ref, Stored(sequence, ObservedMessage._make((*columns, None)))
