"""The log in Redis: a stream a shard, in the same database as the store.

An envelope lies in the shard of its conversation, which is its partition; its offset is
the entry's number there, counted without a gap from 1. The log knows its keys: the same
envelope again has the place of the first. What a group has committed is one entry that
refers to history, for all its messages; the entry bears the first one's number.
"""

from __future__ import annotations

from typing import Protocol

from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.fanout.contract import CommittedEnvelope, LogPosition


class LogShards(Protocol):
    """Where the log lies; the store of the same database gives it."""

    async def append(self, key: str, body: bytes) -> tuple[str, int]:
        """Append once for this key, and return partition and number, durably.

        Raises:
            StoreUnavailable: it may or may not have been appended.
        """
        ...

    async def prove_durable(self) -> None:
        """Write and read, on a server that keeps what it answers.

        Raises:
            StoreUnavailable: it cannot, or would not.
        """
        ...


class RedisLog:
    """See `OutboxPublisher`."""

    def __init__(self, shards: LogShards) -> None:
        self._shards = shards

    async def publish(self, envelope: CommittedEnvelope) -> LogPosition:
        """See `OutboxPublisher.publish`."""
        try:
            partition, number = await self._shards.append(envelope.key, envelope.body)
        except StoreUnavailable as error:
            raise PublicationNotDurable(error.reason) from error
        return LogPosition(partition, number)

    async def readiness(self) -> None:
        """See `OutboxPublisher.readiness`."""
        try:
            await self._shards.prove_durable()
        except StoreUnavailable as error:
            raise PublicationNotDurable(error.reason) from error
