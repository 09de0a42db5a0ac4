"""The log in PostgreSQL: one partition, gapless, in the database of the store.

It knows its keys: an envelope that is published again has its first place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.fanout.contract import CommittedEnvelope, LogPosition

PARTITION: Final = "outbox"
STATEMENTS: Final = "postgresql.sql"

Appending: TypeAlias = tuple[str, Sequence[object] | Mapping[str, object]]


class LogDatabase(Protocol):
    """What the log needs of the store's database."""

    async def write_at_once(
        self, doing: str, *statements: Appending
    ) -> list[list[tuple[Any, ...]]]:
        """Run statements as one durable transaction; return the rows of each.

        Raises:
            StoreUnavailable: it may or may not have been done.
        """
        ...

    async def prove_writable(self) -> None:
        """Write once, durably.

        Raises:
            StoreUnavailable: it could not be written, or not durably.
        """
        ...


class PostgresqlLog:
    """See `OutboxPublisher`."""

    def __init__(self, database: LogDatabase) -> None:
        self._database = database

    async def publish(self, envelope: CommittedEnvelope) -> LogPosition:
        """See `OutboxPublisher.publish`."""
        try:
            _, rows = await self._database.write_at_once(
                "publish a message", ("lock_outbox_end", ()), appending(envelope)
            )
        except StoreUnavailable as error:
            raise PublicationNotDurable(str(error)) from error
        return LogPosition(PARTITION, rows[0][0])

    async def readiness(self) -> None:
        """See `OutboxPublisher.readiness`: the log lies in the store's database."""
        try:
            await self._database.prove_writable()
        except StoreUnavailable as error:
            raise PublicationNotDurable(str(error)) from error


def envelope_digest(key: str) -> bytes:
    """Return what an envelope's row is found by, from its key."""
    return hashlib.sha256(key.encode()).digest()


def appending(envelope: CommittedEnvelope) -> Appending:
    """Return the statement that appends an envelope, once the log's end is locked."""
    return (
        "append_envelope",
        {
            "digest": envelope_digest(envelope.key),
            "key": envelope.key,
            "body": envelope.body,
        },
    )
