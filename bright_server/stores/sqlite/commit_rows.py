"""A single commit as rows: read, and made messages of. Inside the caller's transaction.

A commit's message stands in `message` from its recording on: at the negative number of
the commit until it is published, then at its place in the log.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from bright_server.commit.encoding import decode_intent
from bright_server.commit.identity import identity_digest
from bright_server.commit.records import (
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    Coordinates,
    LoadedCommit,
    MessageRecord,
    OutboxPublication,
)
from bright_server.errors import CommitUnreadable
from bright_server.fanout.contract import LogPosition
from bright_server.logs import sqlite as log
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.stores.observed_commits import observed_of, request_of
from bright_server.stores.sqlite.queries import SQL
from bright_server.wire.text import canonical_json


@dataclass(frozen=True, slots=True)
class CommitRow:
    """What is kept of a key; `number` is None of a message that a group committed.

    `frozen` is None once it is committed (MS-13).
    """

    number: int | None
    key: CommitKey
    identity: bytes
    ref: int
    coordinates: Coordinates
    state: CommitState
    frozen: bytes | None
    publication: OutboxPublication | None

    def intent(self) -> CommitIntent:
        """Return the intent that the row holds.

        Raises:
            CommitUnreadable: it is in no format that this server knows.
        """
        return decode_intent(
            self.frozen or b"",
            self.identity,
            self.coordinates.sequence,
            self.state,
            self.publication,
        )

    def committed(self) -> CommittedMessage:
        """Return the ground for an ACK; only for a row that is published."""
        if self.publication is None:
            raise CommitUnreadable(
                f"the key {self.key.client_message_id!a}", "it has no publication"
            )
        return CommittedMessage(self.key, self.coordinates, self.publication)

    def loaded(self) -> LoadedCommit:
        """Return what `load_commit` says."""
        if self.state is CommitState.COMMITTED:
            return self.committed()
        return self.intent()


def find_commit(database: sqlite3.Connection, key: CommitKey) -> CommitRow | None:
    """Return what is kept of a key, whichever way its message came in; None: nothing.

    An observation that a group committed is what it would have been as a single commit.
    """
    row = database.execute(SQL["find_commit"], _columns_of(key)).fetchone()
    if row is not None:
        return commit_row(key, row)
    return _find_grouped(database, key) if key.origin == "observed" else None


def commit_row(key: CommitKey, row: tuple[Any, ...]) -> CommitRow:
    """Return the row of `find_commit`'s columns."""
    number, identity, ref, account, name, sequence, message_id, state, frozen = row[:9]
    partition, offset = row[9:]
    return CommitRow(
        number,
        key,
        identity,
        ref,
        Coordinates(ConversationKey(account, name), message_id, sequence),
        CommitState(state),
        frozen,
        None if offset is None else OutboxPublication(LogPosition(partition, offset)),
    )


def _find_grouped(database: sqlite3.Connection, key: CommitKey) -> CommitRow | None:
    scope = (key.tenant, key.sender, key.client_message_id)
    row = database.execute(SQL["find_grouped"], scope).fetchone()
    if row is None:
        return None
    sequence, position, *columns = row
    conversation = ConversationKey(key.tenant, key.sender)
    message = ObservedMessage._make(columns)
    return CommitRow(
        None,
        key,
        identity_digest(request_of(conversation, message)),
        0,
        Coordinates(conversation, message.message_id, sequence),
        CommitState.COMMITTED,
        None,
        OutboxPublication(LogPosition(log.PARTITION, position)),
    )


def is_taken(database: sqlite3.Connection, record: MessageRecord) -> bool:
    """Say whether the conversation has another message of this id, or will have."""
    scope = _scope_of(record.conversation)
    row = database.execute(SQL["is_taken"], (*scope, record.message_id)).fetchone()
    return bool(row and row[0])


def add_commit(
    database: sqlite3.Connection,
    key: CommitKey,
    identity: bytes,
    record: MessageRecord,
    frozen: bytes,
) -> int:
    """Reserve the conversation's next number for a key, and return it."""
    scope = _scope_of(record.conversation)
    database.execute(SQL["add_conversations"], scope)
    # All rows are fetched, or the statement would not have ended.
    ((ref, sequence),) = database.execute(SQL["next_sequence"], scope).fetchall()
    ((number,),) = database.execute(
        SQL["add_commit"],
        (
            *_columns_of(key),
            identity,
            ref,
            sequence,
            record.message_id,
            record.created_at_ms,
        ),
    ).fetchall()
    database.execute(SQL["add_intent"], (number, frozen))
    return int(sequence)


def add_record(
    database: sqlite3.Connection, row: CommitRow, record: MessageRecord, now_ms: int
) -> None:
    """Write the record into history; it has no place in the log yet (MS-14)."""
    assert row.number is not None  # noqa: S101 - a group's message has its record
    said, shown = record.content, observed_of(record)
    database.execute(
        SQL["add_message"],
        (
            -row.number,
            row.ref,
            shown.message_id,
            row.coordinates.sequence,
            *shown[1:],
            record.created_at_ms,
            now_ms,
        ),
    )
    detail = (
        said.custom_type,
        said.body_reference,
        canonical_json(record.mentions) if record.mentions else None,
        record.reply_to,
        record.history_expires_at_ms,
    )
    # An observation that has none of it is as one that came in a group.
    if row.key.origin == "sent" or said.sent_at_ms is None or any(detail):
        database.execute(SQL["add_detail"], (-row.number, said.sent_at_ms, *detail))
    database.execute(SQL["set_recorded"], (row.number,))


def set_committed(
    database: sqlite3.Connection, row: CommitRow, publication: OutboxPublication
) -> CommittedMessage:
    """Make the last step: what only the earlier ones needed is let go of (MS-13)."""
    place = publication.position
    database.execute(SQL["set_committed"], (place.partition, place.offset, row.number))
    database.execute(SQL["drop_intent"], (row.number,))
    return CommittedMessage(row.key, row.coordinates, publication)


def _columns_of(key: CommitKey) -> tuple[str, str, str, str]:
    return (key.origin, key.tenant, key.sender, key.client_message_id)


def _scope_of(conversation: ConversationKey) -> tuple[str, str]:
    return (conversation.channel_account_id, conversation.conversation_id)
