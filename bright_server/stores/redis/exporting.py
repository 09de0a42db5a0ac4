"""A whole store in Redis as records, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, cast

from bright_server.commit.records import (
    CommitIntent,
    CommitKey,
    CommitState,
    Coordinates,
)
from bright_server.commit.transfer import (
    CopiedAnchor,
    CopiedBinding,
    CopiedCard,
    CopiedCardConflict,
    CopiedCommit,
    CopiedConflict,
    CopiedConversation,
    CopiedFacts,
    CopiedLogEntry,
    CopiedMessage,
    CopiedPage,
    CopiedProfile,
    CopiedRecord,
    StoreFacts,
)
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey
from bright_server.stores.redis.bindings import binding_of
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.intents import kept_commit
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
_CLAIMS: Final = "bright:{*}:claim:*"
_SCANNED: Final = 1_000


class RedisExport:
    """See `StoreExport`; it does not own its link.

    Names of claims have no order on the server: all of them are held here, some sixty
    bytes for each message that was committed by itself.
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

        What a conversation has several of comes whole, and may be more than the limit.
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
            _message(conversation, Member(conversation, kept), shard, first - low)
            for kept in members
        ]

    async def _conversations(
        self, kind: str, shard: int, start: int, limit: int
    ) -> CopiedPage:
        while shard < self._layout.shards:
            keys = ShardKeys(shard)
            refs = await self._link.run(
                _DOING,
                ("ZRANGE", keys.conversations, start, start + limit - 1),
                durable=False,
            )
            if refs:
                names = [ConversationKeys(keys, ref.decode()) for ref in refs]
                records = await self._of_conversations(kind, names)
                return CopiedPage(records, canonical_json((shard, start + len(refs))))
            shard, start = shard + 1, 0
        return CopiedPage((), None)

    async def _of_conversations(
        self, kind: str, names: Sequence[ConversationKeys]
    ) -> list[CopiedRecord]:
        part = _PARTS[kind]
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
            records += _records(kind, key, _texts(kept))
        return records

    async def _commits(self, after: str, limit: int) -> CopiedPage:
        if self._claims is None:
            self._claims = await self._claim_names()
        names = list(islice((each for each in self._claims if each > after), limit))
        claims = await self._link.talk(
            _DOING, [("HMGET", name, *"acotui") for name in names]
        )
        records = []
        for account, conversation, *parts in claims:
            place = ConversationKey(account.decode(), conversation.decode())
            origin, tenant, sender, client_message_id = (
                each.decode() for each in parts
            )
            key = CommitKey(origin, tenant, sender, client_message_id)
            records.append(await self.commit(key, place))
        return _paged(records, names[-1] if names else "", limit)

    async def commit(self, key: CommitKey, place: ConversationKey) -> CopiedCommit:
        """Return one commit, whose place is reserved."""
        keys, name = self._layout.commit(key, place)
        reply = await self._link.run(
            _DOING, ("HGETALL", keys.shard.commit(name)), durable=False
        )
        kept = kept_commit(key, place, reply)
        found = kept.commit
        if isinstance(found, CommitIntent):
            return CopiedCommit(
                key,
                kept.identity,
                found.coordinates,
                found.state,
                found.record.created_at_ms,
                found.publication.position if found.publication else None,
                found.record,
                found.delivery,
            )
        sequence = found.coordinates.sequence
        members = await self._link.run(
            _DOING, ("ZRANGEBYSCORE", keys.history, sequence, sequence), durable=False
        )
        record = Member(place, members[0]).record if members else None
        return CopiedCommit(
            key,
            kept.identity,
            Coordinates(place, found.coordinates.message_id, sequence),
            CommitState.COMMITTED,
            record.created_at_ms if record else 0,
            found.publication.position,
            record,
        )

    async def _claim_names(self) -> list[str]:
        names: set[str] = set()
        cursor: bytes | int = 0
        while True:
            cursor, found = await self._link.run(
                _DOING,
                ("SCAN", cursor, "MATCH", _CLAIMS, "COUNT", _SCANNED),
                durable=False,
            )
            names.update(name.decode() for name in found)
            if int(cursor) == 0:
                return sorted(names)


_PARTS: Final = {
    "conversations": "facts",
    "anchors": "facts",
    "conflicts": "conflicts",
    "profiles": "profile",
    "cards": "cards",
    "card conflicts": "card_conflicts",
    "facts": "buyer",
}


def _message(
    conversation: ConversationKey, member: Member, shard: ShardKeys, ahead: int
) -> CopiedMessage:
    return CopiedMessage(
        conversation,
        member.sequence,
        member.stored.message,
        member.received_at_ms,
        member.committed_at_ms,
        LogPosition(shard.partition, member.sequence + ahead),
    )


def _records(
    kind: str, key: ConversationKey, kept: dict[str, str]
) -> Iterator[CopiedRecord]:
    """Yield what a conversation has of a kind, from one hash of it."""
    if kind == "conversations":
        yield _conversation(key, kept)
    elif kind == "anchors":
        if "anchor" in kept:
            times = int(kept["anchor_sent"]), int(kept["anchored"])
            yield CopiedAnchor(key, kept["anchor"], *times)
    elif kind == "conflicts":
        for said, noted in kept.items():
            content, _, message_id = said.partition("\n")
            _, received_at_ms, noted_at_ms = map(int, noted.split(" "))
            yield CopiedConflict(key, message_id, content, received_at_ms, noted_at_ms)
    elif kind in {"cards", "card conflicts"}:
        make = CopiedCard if kind == "cards" else CopiedCardConflict
        for scope, numbered in kept.items():
            names = cast("list[str]", parse_json(scope.partition("\n")[0]))
            _, content, at_ms, binding = numbered.split("\n", 3)
            yield make(key, names[0], names[1], content, int(at_ms), binding)
    elif kept:
        seen, written = int(kept["observedAtMs"]), int(kept["committedAtMs"])
        told = (kept["fingerprint"], seen, written, kept["bindingId"])
        if kind == "profiles":
            yield CopiedProfile(key, kept.get("aliId"), kept["profile"], *told)
        else:
            yield CopiedFacts(key, kept["facts"], *told)


def _conversation(key: ConversationKey, known: dict[str, str]) -> CopiedConversation:
    latest, complete, page = (known.get(n) for n in ("latest", "complete", "page"))
    return CopiedConversation(
        key,
        known.get("title"),
        None if latest is None else int(latest),
        int(known.get("sequence", 0)),
        known.get("next"),
        None if complete is None else complete == "1",
        None if page is None else int(page),
    )


def _paged(records: Sequence[CopiedRecord], last: str, limit: int) -> CopiedPage:
    is_whole = len(records) < limit
    return CopiedPage(records, None if is_whole else canonical_json(last))


def _texts(reply: Sequence[bytes]) -> dict[str, str]:
    words = [word.decode() for word in reply]
    return dict(zip(words[::2], words[1::2], strict=True))
