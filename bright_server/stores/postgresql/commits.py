"""The door of single commits: a step is a transaction under its conversation's lock."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from bright_server.clock import Clock
from bright_server.commit.contract import Membership, MessageStore
from bright_server.commit.encoding import encode_frozen, record_of
from bright_server.commit.identity import identity_digest
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    Coordinates,
    FrozenDelivery,
    HistoryPage,
    HistoryQuery,
    LoadedCommit,
    OutboxPublication,
    ReserveCandidate,
    ReserveResult,
)
from bright_server.errors import (
    CommitUnknown,
    CommitUnreadable,
    IdentityConflict,
    PublicationConflict,
    StoreUnavailable,
    WrongCommitState,
)
from bright_server.messages import ConversationKey
from bright_server.settings import Settings
from bright_server.stores.postgresql.commit_rows import (
    KeptCommit,
    grouped_commit,
    intent_of,
    kept_commit,
    key_digest,
)
from bright_server.stores.postgresql.commit_steps import (
    finishing,
    outboxing,
    recording,
)
from bright_server.stores.postgresql.connection import Row
from bright_server.stores.postgresql.conversations import (
    Conversation,
    lock_of,
    locked,
    pairs_of,
)
from bright_server.stores.postgresql.database import Database, Statement, Transaction
from bright_server.stores.postgresql.history import read_page
from bright_server.stores.storable import check_storable, storable

logger = logging.getLogger(__name__)

_READING: Final = "read a commit"


class PostgresqlMessageStore(MessageStore):
    """See `MessageStore`."""

    def __init__(
        self,
        database: Database,
        membership: Membership,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._database = database
        self._membership = membership
        self._settings = settings
        self._clock = clock

    async def reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        """See `MessageStore.reserve`."""
        with storable("reserve a message"):
            return await self._reserve(request, delivery, candidate)

    async def _reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        check_storable(request, delivery, candidate)
        intent: CommitIntent | None = None
        while intent is None:
            kept = await self._kept(request.key)
            if kept is not None:
                return _of_request(kept, request)

            async def work(transaction: Transaction) -> CommitIntent | None:
                return await _reserved(transaction, request, delivery, candidate)

            intent = await self._database.write("reserve a message", work)
        return intent

    async def put_record(self, intent: CommitIntent) -> None:
        """See `MessageStore.put_record`."""

        async def work(transaction: Transaction) -> None:
            kept = await _locked(transaction, intent)
            there = kept.loaded
            if isinstance(there, CommitIntent) and there.state is CommitState.RESERVED:
                await transaction.commit(*recording(kept.ref, intent))
            else:
                await transaction.commit()

        await self._database.write("record a message", work)

    async def mark_outbox_published(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> None:
        """See `MessageStore.mark_outbox_published`."""

        async def work(transaction: Transaction) -> None:
            kept = await _locked(transaction, intent)
            there = _publishable(kept.loaded, intent, publication)
            if isinstance(there, CommitIntent) and there.publication is None:
                await transaction.commit(*outboxing(there, publication))
            else:
                await transaction.commit()

        await self._database.write("keep a publication", work)

    async def mark_published_and_committed(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        """See `MessageStore.mark_published_and_committed`: one atomic step (MS-23)."""

        async def work(transaction: Transaction) -> CommittedMessage:
            kept = await _locked(transaction, intent)
            there = _publishable(kept.loaded, intent, publication)
            return await self._finished(transaction, kept.ref, there, publication)

        return await self._database.write("commit a message", work)

    async def mark_committed(self, intent: CommitIntent) -> CommittedMessage:
        """See `MessageStore.mark_committed`."""

        async def work(transaction: Transaction) -> CommittedMessage:
            kept = await _locked(transaction, intent)
            there = kept.loaded
            if there.publication is None:
                raise _wrong_state(there, CommitState.OUTBOXED)
            return await self._finished(transaction, kept.ref, there, there.publication)

        return await self._database.write("commit a message", work)

    async def load_commit(
        self, key: CommitKey, conversation: ConversationKey
    ) -> LoadedCommit | None:
        """See `MessageStore.load_commit`."""
        kept = await self._kept(key)
        if kept is None or kept.conversation != conversation:
            return None
        return kept.loaded

    async def conversation_of(self, key: CommitKey) -> ConversationKey | None:
        """See `MessageStore.conversation_of`."""
        kept = await self._kept(key)
        return None if kept is None else kept.conversation

    async def load_commit_for_request(
        self, request: AuthenticatedSend
    ) -> LoadedCommit | None:
        """See `MessageStore.load_commit_for_request`."""
        kept = await self._kept(request.key)
        return None if kept is None else _of_request(kept, request)

    async def scan_recoverable_commits(
        self, older_than_ms: int, max_items: int
    ) -> Sequence[CommitIntent]:
        """See `MessageStore.scan_recoverable_commits`."""
        due: list[CommitIntent] = []
        after = (-(2**63), 0, 0)
        while len(due) < max_items:
            wanted = max_items - len(due)
            rows = await self._database.run(
                "read what is due",
                "unfinished_commits",
                older_than_ms, *after, wanted,
            )  # fmt: skip
            for created_at_ms, ref, sequence, *columns in rows:
                after = (created_at_ms, ref, sequence)
                identity, *rest = columns
                try:
                    due.append(intent_of(identity, sequence, *rest))
                except CommitUnreadable as error:
                    logger.error("an open commit is left out: %s", error)  # noqa: TRY400
            if len(rows) < wanted:
                break
        return due

    async def hold_lease(self, name: str, holder: str, ttl_ms: int) -> bool:
        """See `MessageStore.hold_lease`: by the database server's clock."""
        given = {"name": name, "holder": holder, "ttl_ms": ttl_ms}
        (rows,) = await self._database.write_at_once(
            "hold a lease", ("hold_lease", given)
        )
        return bool(rows)

    async def history_page(self, query: HistoryQuery) -> HistoryPage:
        """See `MessageStore.history_page`."""
        return await read_page(
            self._database,
            self._membership,
            self._settings,
            query,
            self._clock.now_ms(),
        )

    async def readiness(self) -> None:
        """See `MessageStore.readiness`."""
        await self._database.prove_writable()

    async def _kept(self, key: CommitKey) -> KeptCommit | None:
        with storable(_READING):
            has_standbys, rows = await self._database.read_for_ack(
                _READING, *_finding(key)
            )
        kept = _found(key, rows)
        if has_standbys and kept and isinstance(kept.loaded, CommittedMessage):
            await self._await_standbys(kept.conversation)
        return kept

    async def _await_standbys(self, conversation: ConversationKey) -> None:
        """See to it that the standby has what was read: an ACK may follow (MS-27).

        A commit whose wait for the standby was called off, or ended with the server, is
        seen by everybody and on this disk alone. What is written now comes after it.

        Raises:
            StoreUnavailable: nobody knows.
        """
        await self._database.write_at_once(
            _READING, ("touch_conversation", pairs_of([conversation]))
        )

    async def _finished(
        self,
        transaction: Transaction,
        ref: int,
        there: LoadedCommit,
        publication: OutboxPublication,
    ) -> CommittedMessage:
        if isinstance(there, CommittedMessage):
            await transaction.commit()
            return there
        await transaction.commit(
            *finishing(ref, there, publication, self._clock.now_ms()),
            ("end_commits", (1, ref)),
        )
        return CommittedMessage(there.key, there.coordinates, publication)


async def _reserved(
    transaction: Transaction,
    request: AuthenticatedSend,
    delivery: FrozenDelivery,
    candidate: ReserveCandidate,
) -> CommitIntent | None:
    """Reserve a key that nobody has; None: somebody has it by now, nothing was done."""
    key = request.key
    if key.origin == "observed" and candidate.message_id != key.client_message_id:
        # Its id is its scope: under another it could meet another message of history,
        # and could then never be recorded (MS-21).
        raise IdentityConflict(candidate.message_id)
    await transaction.begin()
    conversation = (await locked(transaction, [request.conversation]))[
        request.conversation
    ]
    if _found(request.key, await transaction.run(*_finding(request.key))) is not None:
        return None
    intent = CommitIntent(
        request.key,
        identity_digest(request),
        Coordinates(
            request.conversation,
            candidate.message_id,
            conversation.state.last_sequence + 1,
        ),
        record_of(request, candidate),
        delivery,
        CommitState.RESERVED,
    )
    (added,) = await transaction.run(("add_commit", _commit_row(conversation, intent)))
    # Another conversation's lock does not keep others from this key.
    if not added:
        return None
    await transaction.commit(_numbering(conversation, intent))
    return intent


def _commit_row(conversation: Conversation, intent: CommitIntent) -> Row:
    key = intent.key
    return (
        key_digest(key),
        conversation.ref,
        intent.coordinates.sequence,
        intent.record.created_at_ms,
        key.origin,
        key.tenant,
        key.sender,
        key.client_message_id,
        intent.coordinates.message_id,
        intent.identity,
        encode_frozen(key, intent.record, intent.delivery),
    )


def _numbering(conversation: Conversation, intent: CommitIntent) -> Statement:
    state = conversation.state
    lowest, highest = state.lowest_id, state.highest_id
    if intent.key.origin == "observed":
        name = intent.record.message_id
        # Without any there is none that is lower.
        lowest = min(lowest, name) if highest else name
        highest = max(highest, name)
    return (
        "take_sequence",
        (intent.coordinates.sequence, lowest, highest, conversation.ref),
    )


def _finding(key: CommitKey) -> list[Statement]:
    """Return the statements whose rows `_found` needs."""
    statements: list[Statement] = [("find_commit", (key_digest(key),))]
    if key.origin == "observed":
        scope = (key.tenant, key.sender, key.client_message_id)
        statements.append(("find_grouped", scope))
    return statements


def _found(key: CommitKey, rows: Sequence[Sequence[Row]]) -> KeptCommit | None:
    if rows[0]:
        return kept_commit(key, rows[0][0])
    if len(rows) > 1 and rows[1]:
        return grouped_commit(key, rows[1][0])
    return None


async def _locked(transaction: Transaction, intent: CommitIntent) -> KeptCommit:
    """Begin, and return what is persisted of an intent, its conversation locked."""
    _, *rows = await transaction.begin(
        lock_of([intent.coordinates.conversation]), *_finding(intent.key)
    )
    kept = _found(intent.key, rows)
    if kept is None:
        raise CommitUnknown(intent.key.client_message_id)
    return kept


def _of_request(kept: KeptCommit, request: AuthenticatedSend) -> LoadedCommit:
    try:
        is_same = kept.is_of(request)
    except UnicodeError as error:
        raise StoreUnavailable("compare a request", str(error)) from error
    if not is_same:
        raise IdentityConflict(request.key.client_message_id)
    return kept.loaded


def _publishable(
    there: LoadedCommit, intent: CommitIntent, publication: OutboxPublication
) -> LoadedCommit:
    if isinstance(there, CommitIntent) and there.state is CommitState.RESERVED:
        raise _wrong_state(there, CommitState.RECORDED)
    if there.publication not in {None, publication}:
        raise PublicationConflict(intent.key.client_message_id)
    return there


def _wrong_state(there: LoadedCommit, needed: CommitState) -> WrongCommitState:
    state = there.state if isinstance(there, CommitIntent) else CommitState.COMMITTED
    return WrongCommitState(there.key.client_message_id, needed.name, state.name)
