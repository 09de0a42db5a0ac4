"""Yardstick: the same rows by bare `sqlite3` into Bright's own schema, as durable.

A child process that prepares every value beforehand and then only writes: one
transaction for a group of batches, as if one batch of every connection had come in at
once. Nothing is decoded, checked or answered.

Which messages are repeats only the database can tell, and a repeat takes no number. So
a group looks its keys up as one set, numbers what is new, inserts it, fills the outbox
by reference and commits. With `foreknown` it is spared that: the plan of the work tells
it every number, and the unique key drops the repeats. No server can know that much; it
is the bound of what this schema takes on this machine.
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
INSERT INTO message (sequence, conversation, message_id, sender_id, direction,
                     sent_at_ms, kind, text, received_at_ms, committed_at_ms)
VALUES (?, ?, ?, ?, ?, ?, 'text', ?, ?, ?)
ON CONFLICT (conversation, message_id) DO NOTHING
"""
_KNOWN = """
SELECT m.conversation, m.message_id
FROM json_each(?) AS wanted
CROSS JOIN message AS m
    ON m.conversation = json_extract(wanted.value, '$[0]')
    AND m.message_id = json_extract(wanted.value, '$[1]')
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
    """The prepared values of one transaction.

    `keys` are conversation and message id of each message, as JSON; the first two
    columns of a row are the same.
    """

    messages: tuple[Row, ...]
    keys: str
    sequences: tuple[int, ...]


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
    sequences = []
    for batch in batches:
        conversation = numbers[batch.conversation_id]
        for message in batch.messages:
            sequences.append(workload.nth_of(message) + 1)
            rows.append(
                (
                    conversation,
                    message.message_id,
                    message.sender_id,
                    message.direction,
                    message.sent_at_ms,
                    message.text,
                    FIRST_ID,
                    FIRST_ID,
                )
            )
    keys = json.dumps([row[:2] for row in rows])
    return Group(tuple(rows), keys, tuple(sequences))


class Writer:
    """Commits groups; it alone writes, so it may remember the last sequences."""

    def __init__(self, connection: sqlite3.Connection, *, foreknown: bool) -> None:
        self._connection = connection
        self._foreknown = foreknown
        self._last: dict[object, int] = dict(
            connection.execute("SELECT conversation, last_sequence FROM conversation")
        )

    def write(self, group: Group) -> int:
        """Commit one group; returns how many of its messages were new."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        before = connection.execute(_LAST).fetchone()[0]
        if self._foreknown:
            rows, last = self._told(group)
        else:
            rows, last = self._numbered(group)
        connection.executemany(_INSERT, rows)
        new = connection.execute(_OUTBOX, (before,)).rowcount
        connection.executemany(_SEQUENCE, [(last[one], one) for one in last])
        connection.execute("COMMIT")
        self._last |= last
        return new

    def _told(self, group: Group) -> tuple[list[Row], dict[object, int]]:
        last: dict[object, int] = {}
        rows: list[Row] = []
        for row, sequence in zip(group.messages, group.sequences, strict=True):
            last[row[0]] = max(sequence, last.get(row[0], 0))
            rows.append((sequence, *row))
        return rows, last

    def _numbered(self, group: Group) -> tuple[list[Row], dict[object, int]]:
        known: set[Row] = set(self._connection.execute(_KNOWN, (group.keys,)))
        last: dict[object, int] = {}
        rows: list[Row] = []
        for row in group.messages:
            key = row[:2]
            if key in known:
                continue
            known.add(key)
            sequence = last.get(row[0], self._last[row[0]]) + 1
            last[row[0]] = sequence
            rows.append((sequence, *row))
        return rows, last


def run(config: dict[str, Any]) -> None:
    """Prepare, say ready, wait for the word, write everything, report."""
    workload = Workload(**config["workload"])
    with closing(open_durable(Path(config["database"]))) as connection:
        numbers = numbered_conversations(connection, workload)
        groups = prepare(workload, numbers, config["batchesOfGroup"])
        writer = Writer(connection, foreknown=config["foreknown"])
        print(json.dumps({"ready": True}), flush=True)
        sys.stdin.readline()
        began = time.perf_counter()
        ended, new, latencies = began, 0, []
        for group in groups:
            new += writer.write(group)
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
