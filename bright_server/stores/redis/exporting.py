"""A whole store in Redis as records, page by page."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from bright_server.commit.transfer import (
    CopiedBinding,
    CopiedLogEntry,
    CopiedMessage,
    CopiedPage,
    CopiedRecord,
    StoreFacts,
)
from bright_server.errors import StoreUnavailable
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey
from bright_server.stores.redis.bindings import binding_of
from bright_server.stores.redis.claimed import claim_names, commits_of
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.exported import (
    PARTS,
    SEVERAL,
    message_of,
    records_of,
)
from bright_server.stores.redis.keys import (
    BINDINGS,
    TOKENS,
    ConversationKeys,
    Layout,
    ShardKeys,
)
from bright_server.stores.redis.members import Member
from bright_server.wire.text import canonical_json, parse_json

_DOING: Final = "read the store"


class RedisExport:
    """See `StoreExport`; it does not own its link.

    Names of claims have no order on the server: all of them are held here, about a
    hundred bytes for each message that was committed by itself.
    """

    def __init__(self, link: RedisLink, layout: Layout, facts: StoreFacts) -> None:
        self._link = link
        self._layout = layout
        self._facts = facts
        self._claims: list[str] | None = None

    @property
    def facts(self) -> StoreFacts:
        """See `StoreExport.facts`."""
        return self._facts

    async def page(self, kind: str, cursor: str | None, limit: int) -> CopiedPage:
        """See `StoreExport.page`.

        What a conversation has several of comes whole: more than the limit, if it has.
        """
        after: Any = None if cursor is None else parse_json(cursor)
        if kind == "bindings":
            return await self._bindings(after or "", limit)
        shard, place = after if isinstance(after, list) else (0, 0)
        if kind == "log":
            return await self._log(shard, place, limit)
        if kind == "commits":
            return await self._commits(after or "", limit)
        return await self._conversations(kind, shard, place, limit)

    async def _bindings(self, after: str, limit: int) -> CopiedPage:
        kept, tokens = await self._link.talk(
            _DOING, [("HGETALL", BINDINGS), ("HGETALL", TOKENS)]
        )
        digests = dict(zip(tokens[1::2], tokens[::2], strict=True))
        pairs = sorted(zip(kept[::2], kept[1::2], strict=True))
        names = [pair for pair in pairs if pair[0].decode() > after][:limit]
        records = [
            CopiedBinding(binding_of(name, said), digests[name]) for name, said in names
        ]
        last = names[-1][0].decode() if names else ""
        return _paged(records, last, limit)

    async def _log(self, shard: int, last: int, limit: int) -> CopiedPage:
        """Read a log on behind a number of it, and then the logs of further shards."""
        records: list[CopiedRecord] = []
        while shard < self._layout.shards:
            keys = ShardKeys(shard)
            found = await self._log_of(keys, last, limit - len(records))
            records += found
            if len(records) >= limit:
                return CopiedPage(
                    records, canonical_json((shard, found[-1].position.offset))
                )
            shard, last = shard + 1, 0
        return CopiedPage(records, None)

    async def _log_of(
        self, shard: ShardKeys, last: int, limit: int
    ) -> list[CopiedMessage | CopiedLogEntry]:
        # The entry that the next number is in may have begun before it.
        first, behind = await self._link.talk(
            _DOING,
            [
                ("XREVRANGE", shard.log, f"{last + 1}-0", "-", "COUNT", 1),
                ("XRANGE", shard.log, f"({last + 1}-0", "+", "COUNT", limit),
            ],
        )
        found: list[CopiedMessage | CopiedLogEntry] = []
        for name, words in (*first, *behind):
            if len(found) >= limit:
                break
            number = int(name.partition(b"-")[0])
            fields = dict(zip(words[::2], words[1::2], strict=True))
            if b"k" not in fields:
                run = await self._run_of(shard, number, fields, last, limit)
                found += run[: limit - len(found)]
            elif number > last:
                position = LogPosition(shard.partition, number)
                key, body = fields[b"k"].decode(), fields[b"b"]
                found.append(CopiedLogEntry(position, key, body))
        return found

    async def _run_of(
        self,
        shard: ShardKeys,
        first: int,
        fields: dict[bytes, bytes],
        last: int,
        limit: int,
    ) -> list[CopiedMessage]:
        keys = ConversationKeys(shard, fields[b"c"].decode())
        low, count = int(fields[b"q"]), int(fields[b"n"])
        start = low + max(0, last + 1 - first)
        high = min(low + count, start + limit) - 1
        named, members = await self._link.talk(
            _DOING,
            [
                ("HMGET", keys.facts, "account", "conversation"),
                ("ZRANGEBYSCORE", keys.history, start, high),
            ],
        )
        conversation = ConversationKey(*(name.decode() for name in named))
        return [
            message_of(conversation, Member(conversation, kept), shard, first - low)
            for kept in members
        ]

    async def _conversations(
        self, kind: str, shard: int, start: int, limit: int
    ) -> CopiedPage:
        records: list[CopiedRecord] = []
        while shard < self._layout.shards:
            keys = ShardKeys(shard)
            room = limit - len(records)
            refs = await self._link.run(
                _DOING,
                ("ZRANGE", keys.conversations, start, start + room - 1),
                durable=False,
            )
            names = [ConversationKeys(keys, ref.decode()) for ref in refs]
            fitting = await self._fitting(kind, names, room, must=not records)
            records += await self._of_conversations(kind, names[:fitting])
            start += fitting
            if fitting < len(names) or len(records) >= limit:
                return CopiedPage(records, canonical_json((shard, start)))
            if len(names) < room:
                shard, start = shard + 1, 0
        return CopiedPage(records, None)

    async def _fitting(
        self, kind: str, names: Sequence[ConversationKeys], room: int, *, must: bool
    ) -> int:
        """Return of how many conversations the records fit; of one at least, if so."""
        if kind not in SEVERAL or not names:
            return len(names)
        part = PARTS[kind]
        sizes = await self._link.talk(
            _DOING, [("HLEN", getattr(keys, part)) for keys in names]
        )
        fitting = sum(1 for total in accumulate(sizes) if total <= room)
        return max(fitting, 1) if must else fitting

    async def _of_conversations(
        self, kind: str, names: Sequence[ConversationKeys]
    ) -> list[CopiedRecord]:
        part = PARTS[kind]
        replies = await self._link.talk(
            _DOING,
            [
                ("HGETALL", key)
                for keys in names
                for key in (keys.facts, getattr(keys, part))
            ],
        )
        records: list[CopiedRecord] = []
        for facts, kept in zip(replies[::2], replies[1::2], strict=True):
            known = _texts(facts)
            key = ConversationKey(known["account"], known["conversation"])
            records += records_of(kind, key, _texts(kept))
        return records

    async def _commits(self, after: str, limit: int) -> CopiedPage:
        if self._claims is None:
            self._claims = await claim_names(self._link)
        start = bisect_right(self._claims, after)
        names = self._claims[start : start + limit]
        found = await commits_of(self._link, self._layout, names)
        if len(found) < len(names):
            raise StoreUnavailable(
                _DOING, "a claimed key is without its place: a server writes meanwhile"
            )
        return _paged(found, names[-1] if names else "", limit)


def _paged(records: Sequence[CopiedRecord], last: str, limit: int) -> CopiedPage:
    is_whole = len(records) < limit
    return CopiedPage(records, None if is_whole else canonical_json(last))


def _texts(reply: Sequence[bytes]) -> dict[str, str]:
    words = [word.decode() for word in reply]
    return dict(zip(words[::2], words[1::2], strict=True))
