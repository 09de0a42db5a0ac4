"""What each step of a single commit writes. No I/O."""

from __future__ import annotations

from bright_server.commit.records import CommitIntent, OutboxPublication
from bright_server.stores.postgresql.commit_rows import key_digest, message_row
from bright_server.stores.postgresql.database import Statement


def recording(ref: int, intent: CommitIntent) -> list[Statement]:
    """Return what makes RESERVED RECORDED (MS-14)."""
    return [
        ("add_message", message_row(ref, intent)),
        ("set_recorded", (key_digest(intent.key),)),
    ]


def outboxing(intent: CommitIntent, publication: OutboxPublication) -> list[Statement]:
    """Return what makes RECORDED OUTBOXED."""
    at = publication.position
    return [("set_outboxed", (at.partition, at.offset, key_digest(intent.key)))]


def finishing(
    ref: int, intent: CommitIntent, publication: OutboxPublication, now_ms: int
) -> list[Statement]:
    """Return what makes RECORDED or OUTBOXED COMMITTED, and history's expiry known.

    The conversation's count of open commits is the caller's.
    """
    at = publication.position
    expires_at_ms = intent.record.history_expires_at_ms
    place = (ref, intent.coordinates.sequence)
    return [
        ("set_committed", (at.partition, at.offset, key_digest(intent.key))),
        ("show_message", (now_ms, expires_at_ms, *place)),
    ]
