"""The steps of a single commit, each inside the caller's transaction.

Nothing here is durable before that transaction is. A step that raises has changed
nothing, or is rolled back by whoever runs it.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

from bright_server.commit.encoding import (
    decode_intent,
    encode_frozen,
    envelope_of,
    record_of,
)
from bright_server.commit.identity import identity_digest, is_identity_of
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitState,
    CommittedMessage,
    FrozenDelivery,
    OutboxPublication,
    ReserveCandidate,
    ReserveResult,
)
from bright_server.errors import (
    CommitUnknown,
    IdentityConflict,
    PublicationConflict,
    WrongCommitState,
)
from bright_server.logs import sqlite as log
from bright_server.stores.sqlite.commit_rows import (
    CommitRow,
    add_commit,
    add_record,
    find_commit,
    is_taken,
    set_committed,
)
from bright_server.stores.sqlite.queries import SQL


@dataclass(frozen=True, slots=True)
class Reservation:
    """What `reserve` was given, prepared before anybody waits for it."""

    request: AuthenticatedSend
    identity: bytes
    candidate: ReserveCandidate
    frozen: bytes

    @classmethod
    def of(
        cls,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> Reservation:
        """Freeze request, delivery and candidate (MS-11)."""
        record = record_of(request, candidate)
        return cls(
            request,
            identity_digest(request),
            candidate,
            encode_frozen(request.key, record, delivery),
        )


def reserve(database: sqlite3.Connection, asked: Reservation) -> ReserveResult:
    """Return what stands under the key, or reserve it (MS-20)."""
    request = asked.request
    row = find_commit(database, request.key)
    if row is not None:
        refuse_other(row, request)
        return row.loaded()
    record = record_of(request, asked.candidate)
    # History holds an id once: two of it could never both be recorded (MS-21).
    if is_taken(database, record):
        raise IdentityConflict(record.message_id)
    sequence = add_commit(database, request.key, asked.identity, record, asked.frozen)
    return decode_intent(
        asked.frozen, asked.identity, sequence, CommitState.RESERVED, None
    )


def refuse_other(row: CommitRow, request: AuthenticatedSend) -> None:
    """Refuse a request that is not the one that was first (MS-12)."""
    if not is_identity_of(row.identity, request):
        raise IdentityConflict(request.key.client_message_id)


def put_record(database: sqlite3.Connection, intent: CommitIntent, now_ms: int) -> None:
    """RESERVED becomes RECORDED; later states stay (MS-22)."""
    row = _row_of(database, intent)
    if row.state is CommitState.RESERVED:
        add_record(database, row, intent.record, now_ms)


def mark_outboxed(
    database: sqlite3.Connection, intent: CommitIntent, publication: OutboxPublication
) -> None:
    """RECORDED becomes OUTBOXED; the same publication again changes nothing (MS-22)."""
    row = _row_of(database, intent)
    if _may_publish(row, publication):
        place = publication.position
        database.execute(
            SQL["set_outboxed"], (place.partition, place.offset, row.number)
        )


def commit_published(
    database: sqlite3.Connection, intent: CommitIntent, publication: OutboxPublication
) -> CommittedMessage:
    """RECORDED becomes COMMITTED in one step (MS-23)."""
    row = _row_of(database, intent)
    if not _may_publish(row, publication) and row.state is CommitState.COMMITTED:
        return row.committed()
    return set_committed(database, row, publication)


def commit_outboxed(
    database: sqlite3.Connection, intent: CommitIntent
) -> CommittedMessage:
    """OUTBOXED becomes COMMITTED; COMMITTED stays."""
    row = _row_of(database, intent)
    if row.state is CommitState.COMMITTED:
        return row.committed()
    if row.publication is None:
        raise _wrong_state(row, CommitState.OUTBOXED)
    return set_committed(database, row, row.publication)


def finish(database: sqlite3.Connection, row: CommitRow, now_ms: int) -> None:
    """Make all the steps that are left at once: its message came in a group (MS-23).

    The group's ACK then stands on a commit, not on an intent.
    """
    if row.state is CommitState.COMMITTED:
        return
    intent = row.intent()
    if row.state is CommitState.RESERVED:
        add_record(database, row, intent.record, now_ms)
    publication = row.publication or OutboxPublication(
        log.append(database, envelope_of(intent))
    )
    set_committed(database, replace(row, state=CommitState.RECORDED), publication)


def _row_of(database: sqlite3.Connection, intent: CommitIntent) -> CommitRow:
    row = find_commit(database, intent.key)
    if row is None or row.coordinates != intent.coordinates:
        raise CommitUnknown(intent.key.client_message_id)
    return row


def _may_publish(row: CommitRow, publication: OutboxPublication) -> bool:
    """Say whether the publication is news; False: the very same is kept already."""
    if row.state is CommitState.RESERVED:
        raise _wrong_state(row, CommitState.RECORDED)
    if row.publication is None:
        return True
    if row.publication != publication:
        raise PublicationConflict(row.key.client_message_id)
    return False


def _wrong_state(row: CommitRow, needed: CommitState) -> WrongCommitState:
    return WrongCommitState(row.key.client_message_id, needed.name, row.state.name)
