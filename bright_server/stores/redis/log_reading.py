"""The log's entries, one a message: what a group appended as one is told apart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from bright_server.commit.encoding import envelope_key
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey
from bright_server.stores.observed_commits import observed_key
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.keys import ConversationKeys, Layout, ShardKeys
from bright_server.stores.redis.log_access import conversation_of, message_id_of
from bright_server.stores.redis.members import Member

_DOING: Final = "read the log"
_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One message in the log; `key` is its envelope's.

    Conversation and message id are None of an envelope that tells of no message.
    """

    position: LogPosition
    key: str
    conversation: ConversationKey | None
    message_id: str | None


async def every_entry(link: RedisLink, layout: Layout) -> AsyncIterator[LogEntry]:
    """Yield all entries, partition by partition, each in its order.

    Raises:
        StoreUnavailable: it could not be read.
    """
    for shard in layout.every_shard():
        start = "-"
        while True:
            page = await link.run(
                _DOING,
                ("XRANGE", shard.log, start, "+", "COUNT", _AT_ONCE),
                durable=False,
            )
            for name, words in page:
                first = int(name.partition(b"-")[0])
                fields = dict(zip(words[::2], words[1::2], strict=True))
                if b"k" in fields:
                    yield _of_envelope(shard, first, fields)
                else:
                    for entry in await _of_group(link, shard, first, fields):
                        yield entry
                start = f"({first}-0"
            if len(page) < _AT_ONCE:
                break


def _of_envelope(shard: ShardKeys, number: int, fields: dict[bytes, bytes]) -> LogEntry:
    body = fields[b"b"]
    return LogEntry(
        LogPosition(shard.partition, number),
        fields[b"k"].decode(),
        conversation_of(body),
        message_id_of(body),
    )


async def _of_group(
    link: RedisLink, shard: ShardKeys, first: int, fields: dict[bytes, bytes]
) -> list[LogEntry]:
    keys = ConversationKeys(shard, fields[b"c"].decode())
    low, count = int(fields[b"q"]), int(fields[b"n"])
    named, members = await link.talk(
        _DOING,
        [
            ("HMGET", keys.facts, "account", "conversation"),
            ("ZRANGEBYSCORE", keys.history, low, low + count - 1),
        ],
    )
    conversation = ConversationKey(*(name.decode() for name in named))
    entries = []
    for kept in members:
        member = Member(conversation, kept)
        record = member.record
        key = envelope_key(observed_key(conversation, record.message_id), record)
        position = LogPosition(shard.partition, first + member.sequence - low)
        entries.append(LogEntry(position, key, conversation, record.message_id))
    return entries
