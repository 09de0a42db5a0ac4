"""Yardstick: the same rows by bare psycopg into Bright's own schema, as durable.

As beside SQLite: a child process that prepares every value beforehand and then only
writes, one transaction for a group of batches. The rows of a group go in as arrays in
one INSERT, which is the fastest INSERT that PostgreSQL has; the unique key drops the
repeats, the outbox's end and the conversations are moved on, and that is committed. The
plan of the work tells it every number; nothing is decoded, looked up or answered.
"""

from typing import Any

import psycopg

from benchmarks.ingest.workload import ACCOUNT, FIRST_ID, Batch, Workload
from benchmarks.ingest.yardsticks.child import batches_in_turns, main, write_all

_CONVERSATION = """
INSERT INTO conversation (channel_account_id, conversation_id) VALUES (%s, %s)
ON CONFLICT DO NOTHING
"""
_ROWS = """
INSERT INTO message (
    conversation, sequence, message_id, sender_id, direction, sent_at_ms, text, kind,
    received_at_ms, committed_at_ms
)
SELECT conversation, sequence, message_id, sender, direction, at_ms, said, 'text',
    %s::bigint, %s::bigint
FROM unnest(
    %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::bigint[],
    %s::text[]
) AS new (conversation, sequence, message_id, sender, direction, at_ms, said)
ON CONFLICT DO NOTHING
"""
_END = "UPDATE outbox_end SET last_position = last_position + %s"
_OUTBOX = """
INSERT INTO outbox (first_position, messages, conversation, first_sequence)
SELECT * FROM unnest(%s::bigint[], %s::integer[], %s::bigint[], %s::bigint[])
"""
_SEQUENCES = """
UPDATE conversation AS c SET last_sequence = new.last
FROM unnest(%s::bigint[], %s::bigint[]) AS new (conversation, last)
WHERE c.conversation = new.conversation
"""

Columns = list[list[Any]]


class Group:
    """The prepared values of one transaction."""

    def __init__(
        self, workload: Workload, batches: list[Batch], refs: dict[str, int]
    ) -> None:
        rows: list[tuple[Any, ...]] = []
        self.last: dict[int, int] = {}
        for batch in batches:
            ref = refs[batch.conversation_id]
            for message in batch.messages:
                sequence = workload.nth_of(message) + 1
                self.last[ref] = max(sequence, self.last.get(ref, 0))
                rows.append(
                    (
                        ref,
                        sequence,
                        message.message_id,
                        message.sender_id,
                        message.direction,
                        message.sent_at_ms,
                        message.text,
                    )
                )
        self.columns: Columns = [list(column) for column in zip(*rows, strict=True)]
        self.firsts = {row[0]: row[1] for row in reversed(rows)}


class Writer:
    """Commits groups; it alone writes."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        found = connection.execute("SELECT last_position FROM outbox_end").fetchone()
        self._end = int(found[0]) if found else 0

    def write(self, group: Group) -> int:
        """Commit one group; returns how many of its messages were new."""
        connection = self._connection
        connection.execute("BEGIN")
        done = connection.execute(_ROWS, (FIRST_ID, FIRST_ID, *group.columns))
        new = done.rowcount
        # One entry for each conversation, as one for each batch would cost.
        refs = list(group.firsts)
        places = [self._end + 1 + number for number in range(len(refs))]
        sequences = [group.firsts[ref] for ref in refs]
        connection.execute(_SEQUENCES, (list(group.last), list(group.last.values())))
        connection.execute(
            f"{_OUTBOX} ON CONFLICT DO NOTHING",
            (places, [1] * len(refs), refs, sequences),
        )
        connection.execute(_END, (new,))
        connection.execute("COMMIT")
        self._end += new
        return new


def run(config: dict[str, Any]) -> None:
    """Prepare, say ready, wait for the word, write everything, report."""
    workload = Workload(**config["workload"])
    with psycopg.connect(config["address"], autocommit=True) as connection:
        refs = _conversations(connection, workload)
        batches = batches_in_turns(workload)
        size = config["batchesOfGroup"]
        groups = [
            Group(workload, batches[start : start + size], refs)
            for start in range(0, len(batches), size)
        ]
        writer = Writer(connection)
        write_all(workload, groups, writer.write)


def _conversations(
    connection: psycopg.Connection[Any], workload: Workload
) -> dict[str, int]:
    own = workload.conversations // workload.connections
    ids = [
        (ACCOUNT, workload.batch(client, nth).conversation_id)
        for client in range(workload.connections)
        for nth in range(own)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_CONVERSATION, ids)
        cursor.execute("SELECT conversation_id, conversation FROM conversation")
        return dict(cursor.fetchall())


if __name__ == "__main__":
    main(run, psycopg.Error)
