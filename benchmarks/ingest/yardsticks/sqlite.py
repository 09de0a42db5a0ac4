"""Yardstick: the same rows by bare `sqlite3` into Bright's own schema, as durable.

A child process that prepares every value beforehand and then only writes: one
transaction for a group of batches, as if one batch of every connection had come in at
once. Nothing is decoded, checked or answered.

The plan of the work tells it every number, so a group is inserted, the unique key
drops the repeats, the outbox is filled by reference, and that is committed. No server
can know that much; it is the bound of what this schema takes on this machine. With
`numbering` it has to find out what a server has to: which messages are repeats only the
database can tell, and a repeat takes no number. So a group looks its keys up as one set
and numbers what is new.
"""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.ingest.workload import ACCOUNT, FIRST_ID, Batch, Workload
from benchmarks.ingest.yardsticks.child import batches_in_turns, main, write_all

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

    `rows` begin with the sequence, conversation and message id; `last` is the last
    sequence of each conversation after them; `keys` are the conversations and message
    ids again, as JSON.
    """

    rows: tuple[Row, ...]
    last: dict[object, int]
    keys: str


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
    batches = batches_in_turns(workload)
    return [
        _group(workload, batches[start : start + batches_of_group], numbers)
        for start in range(0, len(batches), batches_of_group)
    ]


def _group(workload: Workload, batches: list[Batch], numbers: dict[str, int]) -> Group:
    rows: list[Row] = []
    last: dict[object, int] = {}
    for batch in batches:
        conversation = numbers[batch.conversation_id]
        for message in batch.messages:
            sequence = workload.nth_of(message) + 1
            last[conversation] = max(sequence, last.get(conversation, 0))
            rows.append(
                (
                    sequence,
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
    return Group(tuple(rows), last, json.dumps([row[1:3] for row in rows]))


class Writer:
    """Commits groups; it alone writes, so it may remember the last sequences."""

    def __init__(self, connection: sqlite3.Connection, *, numbering: bool) -> None:
        self._connection = connection
        self._numbering = numbering
        self._last: dict[object, int] = dict(
            connection.execute("SELECT conversation, last_sequence FROM conversation")
        )

    def write(self, group: Group) -> int:
        """Commit one group; returns how many of its messages were new."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        before = connection.execute(_LAST).fetchone()[0]
        rows: Sequence[Row]
        if self._numbering:
            rows, last = self._numbered(group)
        else:
            rows, last = group.rows, group.last
        connection.executemany(_INSERT, rows)
        new = connection.execute(_OUTBOX, (before,)).rowcount
        connection.executemany(_SEQUENCE, [(last[one], one) for one in last])
        connection.execute("COMMIT")
        self._last |= last
        return new

    def _numbered(self, group: Group) -> tuple[Sequence[Row], dict[object, int]]:
        known: set[Row] = set(self._connection.execute(_KNOWN, (group.keys,)))
        last: dict[object, int] = {}
        rows: list[Row] = []
        for row in group.rows:
            key = row[1:3]
            if key in known:
                continue
            known.add(key)
            conversation = row[1]
            sequence = last.get(conversation, self._last[conversation]) + 1
            last[conversation] = sequence
            rows.append((sequence, *row[1:]))
        return rows, last


def run(config: dict[str, Any]) -> None:
    """Prepare, say ready, wait for the word, write everything, report."""
    workload = Workload(**config["workload"])
    with closing(open_durable(Path(config["database"]))) as connection:
        numbers = numbered_conversations(connection, workload)
        groups = prepare(workload, numbers, config["batchesOfGroup"])
        writer = Writer(connection, numbering=config["numbering"])
        write_all(workload, groups, writer.write)


if __name__ == "__main__":
    main(run, sqlite3.Error)
