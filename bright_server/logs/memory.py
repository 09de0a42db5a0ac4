"""The log in memory: one partition, as long as the process."""

from __future__ import annotations

from typing import Final

from bright_server.fanout.contract import CommittedEnvelope, LogPosition

PARTITION: Final = "outbox"


class MemoryLog:
    """See `OutboxPublisher`. It knows its keys: the same one again has its place."""

    def __init__(self) -> None:
        self._envelopes: list[CommittedEnvelope] = []
        self._positions: dict[str, LogPosition] = {}

    @property
    def envelopes(self) -> tuple[CommittedEnvelope, ...]:
        """Return all that was published, in order: the first has the offset 1."""
        return tuple(self._envelopes)

    def append(self, envelope: CommittedEnvelope) -> LogPosition:
        """Publish in one step, for a store that commits a whole group in one."""
        position = self._positions.get(envelope.key)
        if position is None:
            self._envelopes.append(envelope)
            position = LogPosition(PARTITION, len(self._envelopes))
            self._positions[envelope.key] = position
        return position

    async def publish(self, envelope: CommittedEnvelope) -> LogPosition:
        """See `OutboxPublisher.publish`."""
        return self.append(envelope)

    async def readiness(self) -> None:
        """See `OutboxPublisher.readiness`: memory that is there can be written."""
