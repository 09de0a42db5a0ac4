"""What Bright's own store must be in itself, and what of it the ledger must explain.

Each function yields a sentence for each fault; none for a good store.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from extension_harness.page.ledger import Ledger
from extension_harness.server import StoreDump

Row = Mapping[str, Any]


def scope_of(row: Row) -> tuple[str, str, str]:
    """The idempotency scope of a row [OT-01]."""
    return (row["channelAccountId"], row["conversationId"], row["messageId"])


def conversation_of(row: Row) -> tuple[str, str]:
    """The checkpoint's scope of a row [OT-02]."""
    return (row["channelAccountId"], row["conversationId"])


def sequence_faults(server: StoreDump) -> Iterator[str]:
    """Sequences are 1, 2, 3 … in each conversation: a repeat takes none [MS-20]."""
    by_conversation: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in server.messages:
        by_conversation[conversation_of(row)].append(row["sequence"])
    for conversation, numbers in by_conversation.items():
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            yield f"sequences of {conversation} have a gap or a double"
    for row in server.of("conversation"):
        stored = len(by_conversation[conversation_of(row)])
        if row["lastSequence"] != stored:
            yield (
                f"{conversation_of(row)} counts to {row['lastSequence']} "
                f"and holds {stored}"
            )


def outbox_faults(server: StoreDump) -> Iterator[str]:
    """Each message has exactly one outbox row at its position; none is skipped."""
    rows = server.of("outbox")
    by_partition: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        by_partition[row.get("partition", "")].append(row["position"])
    for positions in by_partition.values():
        if sorted(positions) != list(range(1, len(positions) + 1)):
            yield "outbox positions have a gap or a double"
    published = Counter(scope_of(row) for row in rows)
    stored = {scope_of(row): row["position"] for row in server.messages}
    yield from (f"published twice: {each}" for each, n in published.items() if n > 1)
    yield from (
        f"published, not stored: {each}" for each in published.keys() - stored.keys()
    )
    yield from (
        f"stored, not published: {each}" for each in stored.keys() - published.keys()
    )
    for row in rows:
        if stored.get(scope_of(row), row["position"]) != row["position"]:
            yield f"published at another position than stored: {scope_of(row)}"


def conflict_faults(ledger: Ledger, server: StoreDump) -> Iterator[str]:
    """A conflict at Bright needs a message that really had two contents."""
    edited = {
        (each.channel_account_id, each.conversation_id, each.message_id)
        for each in ledger.anomalies()
        if each.code == "conflict"
    }
    for row in server.of("conflict"):
        if scope_of(row) not in edited:
            yield f"conflict at Bright without an edit in the page: {scope_of(row)}"
