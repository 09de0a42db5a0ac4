"""Single commits in this file: the embedded `MessageStore`.

Steps that change something share transactions with those of other callers; what only
reads does so on the other connection, and sees all that was answered.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from bright_server.clock import Clock
from bright_server.commit.contract import Membership, MessageStore
from bright_server.commit.encoding import decode_intent
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    FrozenDelivery,
    HistoryPage,
    HistoryQuery,
    LoadedCommit,
    OutboxPublication,
    ReserveCandidate,
    ReserveResult,
)
from bright_server.errors import CommitUnreadable, NotAMember, StoreUnavailable
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey
from bright_server.settings import Settings
from bright_server.stores.history_pages import check_query
from bright_server.stores.sqlite import commit_steps as steps
from bright_server.stores.sqlite.commit_rows import CommitRow, find_commit
from bright_server.stores.sqlite.connection import (
    StoreConnection,
    durability,
    is_durable,
    scalar,
    translated,
)
from bright_server.stores.sqlite.history import read_page
from bright_server.stores.sqlite.queries import SQL
from bright_server.stores.sqlite.transactions import StepRunner, Transactions
from bright_server.stores.storable import check_storable

T = TypeVar("T")

logger = logging.getLogger(__name__)


class SqliteCommits(MessageStore):
    """See `MessageStore`; it owns neither connection."""

    def __init__(
        self,
        run: StepRunner,
        reader: StoreConnection,
        transactions: Transactions,
        membership: Membership,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._run = run
        self._reader = reader
        self._transactions = transactions
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
        check_storable(request, delivery, candidate)
        with translated("reserve"):
            asked = steps.Reservation.of(request, delivery, candidate)
        return await self._run(partial(steps.reserve, asked=asked))

    async def put_record(self, intent: CommitIntent) -> None:
        """See `MessageStore.put_record`."""
        now_ms = self._clock.now_ms()
        await self._run(partial(steps.put_record, intent=intent, now_ms=now_ms))

    async def mark_outbox_published(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> None:
        """See `MessageStore.mark_outbox_published`."""
        await self._run(
            partial(steps.mark_outboxed, intent=intent, publication=publication)
        )

    async def mark_published_and_committed(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        """See `MessageStore.mark_published_and_committed`: one atomic step (MS-23)."""
        return await self._run(
            partial(steps.commit_published, intent=intent, publication=publication)
        )

    async def mark_committed(self, intent: CommitIntent) -> CommittedMessage:
        """See `MessageStore.mark_committed`."""
        return await self._run(partial(steps.commit_outboxed, intent=intent))

    async def load_commit(
        self, key: CommitKey, conversation: ConversationKey
    ) -> LoadedCommit | None:
        """See `MessageStore.load_commit`."""
        row = await self._find(key)
        if row is None or row.coordinates.conversation != conversation:
            return None
        return row.loaded()

    async def conversation_of(self, key: CommitKey) -> ConversationKey | None:
        """See `MessageStore.conversation_of`."""
        row = await self._find(key)
        return None if row is None else row.coordinates.conversation

    async def load_commit_for_request(
        self, request: AuthenticatedSend
    ) -> LoadedCommit | None:
        """See `MessageStore.load_commit_for_request`."""
        row = await self._find(request.key)
        if row is None:
            return None
        with translated("compare a commit"):
            steps.refuse_other(row, request)
        return row.loaded()

    async def scan_recoverable_commits(
        self, older_than_ms: int, max_items: int
    ) -> Sequence[CommitIntent]:
        """See `MessageStore.scan_recoverable_commits`."""
        return await self._read(
            "read what is not committed",
            partial(_unfinished, older_than_ms=older_than_ms, max_items=max_items),
        )

    async def hold_lease(self, name: str, holder: str, ttl_ms: int) -> bool:
        """See `MessageStore.hold_lease`; the clock is this process's."""
        now_ms = self._clock.now_ms()
        asked = (name, holder, now_ms + ttl_ms, now_ms, ttl_ms)
        return await self._run(
            lambda database: bool(database.execute(SQL["hold_lease"], asked).fetchall())
        )

    async def history_page(self, query: HistoryQuery) -> HistoryPage:
        """See `MessageStore.history_page`."""
        if not await self._membership.is_member(query.actor, query.conversation):
            raise NotAMember(query.actor)
        check_query(query, self._settings)
        now_ms = self._clock.now_ms()
        return await self._read(
            "read a page of history", partial(read_page, query=query, now_ms=now_ms)
        )

    async def readiness(self) -> None:
        """See `MessageStore.readiness`: writes a new value, and reads it back apart."""
        written, *kept = await self._run(_write_probe)
        if not is_durable((kept[0], kept[1])):
            raise StoreUnavailable(
                "promise durability",
                f"journal_mode={kept[0]}, synchronous={kept[1]}: a commit would not"
                " survive a power cut",
            )
        read = await self._read(
            "read the probe", partial(scalar, sql=SQL["read_commit_probe"])
        )
        # Another process may have written one since.
        if not isinstance(read, int) or read < written:
            raise StoreUnavailable(
                "read what it has written", f"{read} is there, {written} was written"
            )
        await self._transactions.prove_room(self._settings.readiness_room_bytes)

    async def _find(self, key: CommitKey) -> CommitRow | None:
        return await self._read("read a commit", partial(find_commit, key=key))

    async def _read(self, doing: str, work: Callable[[sqlite3.Connection], T]) -> T:
        with translated(doing):
            return await self._reader.do(work)


def _unfinished(
    database: sqlite3.Connection, older_than_ms: int, max_items: int
) -> list[CommitIntent]:
    """Return what can be read; what cannot hides no other."""
    found: list[CommitIntent] = []
    after = (-(2**63), 0)
    while len(found) < max_items:
        wanted = max_items - len(found)
        rows = database.execute(
            SQL["unfinished_commits"], (older_than_ms, *after, wanted)
        ).fetchall()
        for created_at_ms, number, *columns in rows:
            after = (created_at_ms, number)
            try:
                found.append(_intent(*columns))
            except CommitUnreadable as error:
                logger.error("commit number %d is left as it is: %s", number, error)  # noqa: TRY400 - the words are enough
        if len(rows) < wanted:
            break
    return found


def _intent(
    identity: bytes,
    sequence: int,
    state: int,
    frozen: bytes,
    partition: str | None,
    offset: int | None,
) -> CommitIntent:
    publication = (
        None
        if partition is None or offset is None
        else OutboxPublication(LogPosition(partition, offset))
    )
    return decode_intent(frozen, identity, sequence, CommitState(state), publication)


def _write_probe(database: sqlite3.Connection) -> tuple[int, object, object]:
    ((written,),) = database.execute(SQL["write_commit_probe"]).fetchall()
    return (int(written), *durability(database))
