"""Yardstick: the same rows by a bare client into Bright's own keys, as durable.

As beside SQLite: a child process that prepares every value beforehand, here even the
bytes that go over the wire, and then only writes, one transaction for a group of
batches. No script runs: what a conversation has, its ids, its history and the shard's
log, is written by plain commands, and repeats are dropped because they write what is
there. The plan of the work tells it every number; nothing is decoded, looked up or
answered. The server syncs its file once for the transaction, as for Bright.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from redis import Connection
from redis.exceptions import RedisError

from benchmarks.ingest.workload import ACCOUNT, FIRST_ID, Batch, Message, Workload
from benchmarks.ingest.yardsticks.child import batches_in_turns, main, write_all
from bright_server.commit.observed_content import canonical_content
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.stores.redis.keys import STORE, ConversationKeys, Layout

Command = tuple[str | bytes | int, ...]
# The driver has no types for the connection beneath its clients.
Wire = Any
_connected: Any = Connection
_COMMANDS_OF_BATCH = 5
_HISTORY = 1  # which of them says how many messages were new


class Plan:
    """Knows the number and the place in the log of every message, as they come."""

    def __init__(self, workload: Workload, layout: Layout) -> None:
        self._workload = workload
        self._layout = layout
        self._last: Counter[int] = Counter()
        self._placed: dict[tuple[str, int], int] = {}

    def keys(self, batch: Batch) -> ConversationKeys:
        """Return where a batch's conversation lies."""
        return self._layout.conversation(
            ConversationKey(ACCOUNT, batch.conversation_id)
        )

    def commands(self, batch: Batch) -> Iterator[Command]:
        """Return what writes a batch."""
        keys = self.keys(batch)
        name, count = batch.conversation_id, self._workload.new_of_batch
        sequences = [self._workload.nth_of(each) + 1 for each in batch.messages]
        last = max(sequences)
        position = self._last[keys.shard.number]
        self._last[keys.shard.number] += count
        for sequence in range(last - count + 1, last + 1):
            position += 1
            self._placed[name, sequence] = position
        ids: list[str] = []
        history: list[str | bytes | int] = []
        for message, sequence in zip(batch.messages, sequences, strict=True):
            ids += [message.message_id, f"{sequence},{self._placed[name, sequence]}"]
            history += [sequence, _member(message, sequence)]
        first = last - count + 1
        entry = f"{self._placed[name, first]}-0"
        yield ("HSET", keys.ids, *ids)
        yield ("ZADD", keys.history, *history)
        yield ("XADD", keys.shard.log, entry, "c", keys.ref, "q", first, "n", count)
        yield ("INCRBY", keys.shard.log_last, count)
        yield ("HSET", keys.facts, "sequence", last)


def run(config: dict[str, Any]) -> None:
    """Prepare, say ready, wait for the word, write everything, report."""
    workload = Workload(**config["workload"])
    connection: Wire = _connected(
        host=config["host"], port=config["port"], db=config["number"]
    )
    connection.connect()
    groups = _prepared(connection, workload, config["batchesOfGroup"])
    write_all(workload, groups, partial(_write, connection))


def _prepared(
    connection: Wire, workload: Workload, size: int
) -> list[tuple[list[bytes], int]]:
    """Make the conversations known, and return the transactions as bytes."""
    connection.send_command("HGET", STORE, "shards")
    plan = Plan(workload, Layout(int(connection.read_response())))
    batches = batches_in_turns(workload)
    for nth, batch in enumerate(
        {each.conversation_id: each for each in batches}.values()
    ):
        keys = plan.keys(batch)
        named = ("account", ACCOUNT, "conversation", batch.conversation_id)
        connection.send_command("HSET", keys.facts, *named)
        connection.read_response()
        connection.send_command("ZADD", keys.shard.conversations, nth, keys.ref)
        connection.read_response()
    groups = []
    for start in range(0, len(batches), size):
        group = batches[start : start + size]
        commands = [each for batch in group for each in plan.commands(batch)]
        packed = connection.pack_commands([("MULTI",), *commands, ("EXEC",)])
        groups.append((packed, len(commands)))
    return groups


def _write(connection: Wire, group: tuple[list[bytes], int]) -> int:
    packed, size = group
    connection.send_packed_command(packed)
    for _ in range(1 + size):  # what is only queued so far
        connection.read_response()
    replies = connection.read_response()
    return sum(int(each) for each in replies[_HISTORY::_COMMANDS_OF_BATCH])


def _member(message: Message, sequence: int) -> bytes:
    """Return a message as history keeps it."""
    said = ObservedMessage(
        message.message_id, message.sender_id, message.direction, message.sent_at_ms,
        "text", message.text, None, None, None, None,
    )  # fmt: skip
    head = f"{sequence} {message.sent_at_ms} {FIRST_ID} {FIRST_ID} ".encode()
    return head + canonical_content(said) + f"\n\n{message.message_id}".encode()


if __name__ == "__main__":
    main(run, RedisError)
