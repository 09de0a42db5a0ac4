"""The log that lies in the store's own SQLite file: the outbox.

Its positions are gapless and shared with the messages that come in groups: a message's
position is its place in the log. So an envelope is known by the message that it is of,
and the same one again finds the first place.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol, TypeVar, cast

from bright_server.errors import MessageStoreError, PublicationNotDurable
from bright_server.fanout.contract import CommittedEnvelope, LogPosition
from bright_server.sql_file import statements_in
from bright_server.wire.text import parse_json

T = TypeVar("T")

PARTITION: Final = "outbox"
SQL: Final = statements_in(__package__, "sqlite.sql")

_FULL = 2


class Runner(Protocol):
    """Does a step in a durable transaction of the file."""

    async def __call__(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Return what the step returned, once it is on disk.

        Raises:
            MessageStoreError: it may or may not be on disk.
        """
        ...


class SqliteOutbox:
    """See `OutboxPublisher`; it does not own what it writes through."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    async def publish(self, envelope: CommittedEnvelope) -> LogPosition:
        """See `OutboxPublisher.publish`; the same message again has its first place.

        The message has to stand in this file: it is what the outbox refers to.
        """
        try:
            return await self._run(partial(append, envelope=envelope))
        except MessageStoreError as error:
            raise PublicationNotDurable(str(error)) from error

    async def readiness(self) -> None:
        """See `OutboxPublisher.readiness`: writes on the way that envelopes take."""
        try:
            mode, level = await self._run(_prove)
        except MessageStoreError as error:
            raise PublicationNotDurable(str(error)) from error
        if (mode, level) != ("wal", _FULL):
            raise PublicationNotDurable(
                f"journal_mode={mode}, synchronous={level}: an entry would not survive"
                " a power cut"
            )


def append(database: sqlite3.Connection, envelope: CommittedEnvelope) -> LogPosition:
    """Append an envelope in the open transaction, or find its place (CL-20).

    Raises:
        PublicationNotDurable: it is of no message that is recorded here.
    """
    row = database.execute(SQL["find_place"], _scope(envelope)).fetchone()
    if row is None:
        raise PublicationNotDurable(
            f"the message of {envelope.key!a} is not recorded in this store"
        )
    (place,) = row
    if place < 0:
        place = _next_place(database, place)
        database.execute(SQL["add_envelope"], (place, envelope.key, envelope.body))
    return LogPosition(PARTITION, place)


def _next_place(database: sqlite3.Connection, place: int) -> int:
    (last,) = database.execute(SQL["last_position"]).fetchone()
    position = int(last) + 1
    database.execute(SQL["move_message"], (position, place))
    database.execute(SQL["move_detail"], (position, place))
    database.execute(SQL["add_entry"], (position, position))
    return position


def _scope(envelope: CommittedEnvelope) -> tuple[str, str, str]:
    try:
        record = cast("dict[str, Any]", parse_json(envelope.body.decode()))["record"]
        conversation = record["conversation"]
        return (
            conversation["channel_account_id"],
            conversation["conversation_id"],
            record["message_id"],
        )
    except (ValueError, TypeError, KeyError) as error:
        raise PublicationNotDurable(
            f"the envelope {envelope.key!a} cannot be read"
        ) from error


def _prove(database: sqlite3.Connection) -> tuple[str, int]:
    database.execute(SQL["rewrite_probe"])
    mode, level = database.execute(SQL["durability"]).fetchone()
    return str(mode), int(level)
