"""Yardstick: the same rows by bare `sqlite3` into Bright's own schema, as durable.

A child process that prepares every row beforehand and then only writes: one
transaction for a group of batches, as if one batch of every connection had come in at
once. A message that is there already is left alone by the unique key, the outbox is
filled by reference. Nothing is decoded, checked or answered, so this is the bound for
any server in Python over this schema.
"""

import json
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import percentile
from benchmarks.workload import ACCOUNT, FIRST_ID, Batch, Workload

_INSERT = """
INSERT INTO message (conversation, message_id, sequence, sender_id, direction,
                     sent_at_ms, kind, text, received_at_ms, committed_at_ms)
VALUES (?, ?, ?, ?, ?, ?, 'text', ?, ?, ?)
ON CONFLICT (conversation, message_id) DO NOTHING
"""
_OUTBOX = """
INSERT INTO outbox (position, message)
SELECT position, position FROM message WHERE position > ?
"""
_SEQUENCE = "UPDATE conversation SET last_sequence = ? WHERE conversation = ?"
_LAST = "SELECT coalesce(max(position), 0) FROM message"

Row = tuple[object, ...]


@dataclass(frozen=True)
class Group:
    """The prepared rows of one transaction."""

    messages: tuple[Row, ...]
    last_sequences: tuple[tuple[int, int], ...]


def open_durable(database: Path) -> sqlite3.Connection:
    """A connection that is as durable as Bright's own: WAL and synchronous=FULL."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL").fetchone()
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def numbered_conversations(
    connection: sqlite3.Connection, workload: Workload
) -> dict[str, int]:
    """Every conversation's number in the database; missing ones are created."""
    own = workload.conversations // workload.connections
    ids = [
        workload.batch(client, nth).conversation_id
        for client in range(workload.connections)
        for nth in range(own)
    ]
    connection.executemany(
        "INSERT INTO conversation (channel_account_id, conversation_id) VALUES (?, ?)"
        " ON CONFLICT DO NOTHING",
        [(ACCOUNT, one) for one in ids],
    )
    return dict(
        connection.execute("SELECT conversation_id, conversation FROM conversation")
    )


def prepare(
    workload: Workload, numbers: dict[str, int], batches_of_group: int
) -> list[Group]:
    """All rows of a round, one group for every `batches_of_group` batches."""
    turns = zip(
        *(workload.of_connection(client) for client in range(workload.connections)),
        strict=True,
    )
    batches = [batch for turn in turns for batch in turn]
    return [
        _group(workload, batches[start : start + batches_of_group], numbers)
        for start in range(0, len(batches), batches_of_group)
    ]


def _group(workload: Workload, batches: list[Batch], numbers: dict[str, int]) -> Group:
    rows: list[Row] = []
    last: dict[int, int] = {}
    for batch in batches:
        conversation = numbers[batch.conversation_id]
        for message in batch.messages:
            sequence = workload.nth_of(message) + 1
            last[conversation] = max(sequence, last.get(conversation, 0))
            rows.append(
                (
                    conversation,
                    message.message_id,
                    sequence,
                    message.sender_id,
                    message.direction,
                    message.sent_at_ms,
                    message.text,
                    FIRST_ID,
                    FIRST_ID,
                )
            )
    return Group(tuple(rows), tuple((value, key) for key, value in last.items()))


def write(connection: sqlite3.Connection, group: Group) -> int:
    """Commit one group; returns how many of its messages were new."""
    connection.execute("BEGIN IMMEDIATE")
    before = connection.execute(_LAST).fetchone()[0]
    connection.executemany(_INSERT, group.messages)
    new = connection.execute(_OUTBOX, (before,)).rowcount
    connection.executemany(_SEQUENCE, group.last_sequences)
    connection.execute("COMMIT")
    return new


def run(config: dict[str, Any]) -> None:
    """Prepare, say ready, wait for the word, write everything, report."""
    workload = Workload(**config["workload"])
    with closing(open_durable(Path(config["database"]))) as connection:
        numbers = numbered_conversations(connection, workload)
        groups = prepare(workload, numbers, config["batchesOfGroup"])
        print(json.dumps({"ready": True}), flush=True)
        sys.stdin.readline()
        began = time.perf_counter()
        ended, new, latencies = began, 0, []
        for group in groups:
            new += write(connection, group)
            started, ended = ended, time.perf_counter()
            latencies.append(ended - started)
    report = {
        "seconds": ended - began,
        "p50Ms": percentile(latencies, 0.5) * 1000,
        "p99Ms": percentile(latencies, 0.99) * 1000,
        "confirmed": workload.sent,
        "duplicates": workload.sent - new,
        "otherwise": 0,
    }
    print(json.dumps(report), flush=True)
    sys.stdin.readline()  # stay until measured


def main() -> None:
    """Run as a child: the configuration comes as the first line of standard input."""
    try:
        run(json.loads(sys.stdin.readline()))
    except sqlite3.Error as failure:
        print(json.dumps({"error": f"{type(failure).__name__}: {failure}"}), flush=True)


if __name__ == "__main__":
    main()
