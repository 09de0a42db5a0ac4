"""What a commit log promises to whoever publishes into it.

The committer publishes, a store never does: a store keeps the position that a publisher
gave it as the evidence that the message will be fanned out (CL-20).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A place in the log: an offset that only grows, inside one partition of it."""

    partition: str
    offset: int


@dataclass(frozen=True, slots=True)
class CommittedEnvelope:
    """What is published of a message: bytes that its intent has frozen (CL-10).

    `key` is the log's key and the stable identity, see `envelope_key`: a retry may
    append it twice.
    """

    key: str
    body: bytes


class OutboxPublisher(Protocol):
    """Appends committed envelopes to a durable log."""

    async def publish(self, envelope: CommittedEnvelope) -> LogPosition:
        """Append an envelope and return its place once that is durable (CL-20).

        The same envelope again may be appended again, at another place. A log that
        knows its keys returns the first place.

        Raises:
            PublicationNotDurable: there is no evidence that it was appended; it may
                have
                been (CL-30).
        """
        ...

    async def readiness(self) -> None:
        """Append for real, or prove otherwise that an append would be durable (MS-15).

        Raises:
            PublicationNotDurable: it would not, and why.
        """
        ...
