"""The whole store as records, for comparison with the truth.

Reads beside a running server or without one, and changes nothing. It is no snapshot: of
a server that is being written meanwhile, later parts may know more than earlier ones.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final, TypeAlias, cast

from bright_server.commit.encoding import envelope_key
from bright_server.commit.observed_content import CONTENT_FIELDS
from bright_server.commit.records import CommitKey, CommitState, MessageRecord
from bright_server.commit.transfer import CopiedCommit
from bright_server.messages import ConversationKey
from bright_server.settings import Settings
from bright_server.stores.observed_commits import observed_key
from bright_server.stores.redis import schema
from bright_server.stores.redis.claimed import claim_names, commits_of
from bright_server.stores.redis.connection import RedisLink, linked
from bright_server.stores.redis.conveyor import Command
from bright_server.stores.redis.keys import ConversationKeys, Layout, ShardKeys
from bright_server.stores.redis.log_reading import every_entry
from bright_server.stores.redis.members import Member
from bright_server.wire.text import parse_json

Record: TypeAlias = dict[str, object]

_DOING: Final = "read the store"
_AT_ONCE: Final = 500
_JSON: Final = frozenset(
    {"content", "quote", "recall", "raw", "nextTimeStamp", "profile", "facts"}
)
_NUMBERS: Final = frozenset({"observedAtMs", "committedAtMs"})


async def dump(settings: Settings) -> AsyncIterator[Record]:
    """Yield every record, the store's own first; see `stores/sqlite/dump`.

    Positions are those of a log's partition, which stands beside them. A key that is
    claimed and has no place yet is no commit.

    Raises:
        StoreMissing: there is no database; none is made.
        StoreUnavailable: it could not be read.
    """
    async with linked(settings) as link:
        found = await schema.read(link, settings)
        yield {
            "type": "store", "storeId": found.store_id, "schemaVersion": found.version
        }  # fmt: skip
        layout = Layout(found.shards)
        for shard in layout.every_shard():
            async for keys in _conversations(link, shard):
                async for record in _conversation(link, keys):
                    yield record
        async for entry in every_entry(link, layout):
            yield {
                "type": "outbox",
                "position": entry.position.offset,
                "partition": entry.position.partition,
                **_scope(entry.conversation),
                "messageId": entry.message_id,
            }
        async for record in _commits(link, layout):
            yield record


async def _commits(link: RedisLink, layout: Layout) -> AsyncIterator[Record]:
    names = await claim_names(link)
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        for commit in await commits_of(link, layout, some):
            yield _commit(commit)
            if commit.state >= CommitState.RECORDED and commit.record is not None:
                detail = _detail(commit.key, commit.record)
                if detail is not None:
                    yield detail


async def _conversations(
    link: RedisLink, shard: ShardKeys
) -> AsyncIterator[ConversationKeys]:
    start = 0
    while True:
        refs = await link.run(
            _DOING,
            ("ZRANGE", shard.conversations, start, start + _AT_ONCE - 1),
            durable=False,
        )
        for ref in refs:
            yield ConversationKeys(shard, ref.decode())
        start += len(refs)
        if len(refs) < _AT_ONCE:
            return


async def _conversation(
    link: RedisLink, keys: ConversationKeys
) -> AsyncIterator[Record]:
    facts, profile, buyer, cards, others, conflicts = await link.talk(
        _DOING,
        [
            ("HGETALL", key)
            for key in (
                keys.facts, keys.profile, keys.buyer, keys.cards, keys.card_conflicts,
                keys.conflicts,
            )
        ],
    )  # fmt: skip
    known = _texts(facts)
    key = ConversationKey(known["account"], known["conversation"])
    yield _facts(key, known)
    async for members in _history(link, keys, key):
        # Asked for now: earlier ones would lack what is written meanwhile.
        named = [_place_of(keys, key, each) for each in members]
        for member, places in zip(members, await link.talk(_DOING, named), strict=True):
            yield _message(key, member, _position(places), keys.shard.partition)
    for record in _conflicts(key, conflicts):
        yield record
    if "anchor" in known:
        yield _record(
            "anchor", key, latestMessageId=known["anchor"],
            anchoredAtMs=int(known["anchored"]),
        )  # fmt: skip
    for kind, ledger in (("contactProfile", profile), ("buyerFacts", buyer)):
        if ledger:
            said = _texts(ledger)
            if kind == "contactProfile":
                said.setdefault("aliId", None)
            yield _record(kind, key, **said)
    for record in _cards(key, "renderedCard", "committedAtMs", cards):
        yield record
    for record in _cards(key, "cardConflict", "notedAtMs", others):
        yield record


async def _history(
    link: RedisLink, keys: ConversationKeys, key: ConversationKey
) -> AsyncIterator[list[Member]]:
    last = 0
    while True:
        found = await link.run(
            _DOING,
            ("ZRANGEBYSCORE", keys.history, f"({last}", "+inf", "LIMIT", 0, _AT_ONCE),
            durable=False,
        )
        if found:
            members = [Member(key, kept) for kept in found]
            last = members[-1].sequence
            yield members
        if len(found) < _AT_ONCE:
            return


def _place_of(keys: ConversationKeys, key: ConversationKey, member: Member) -> Command:
    """Return the command that reads a message's place in the log, or none."""
    record = member.record
    if member.is_of_a_group:
        return ("HMGET", keys.ids, record.message_id)
    names = (
        envelope_key(each, record)
        for each in (
            CommitKey("sent", "", "", ""),
            observed_key(key, record.message_id),
        )
    )
    return ("HMGET", keys.shard.log_keys, *names)


def _position(places: Sequence[bytes | None]) -> int | None:
    for place in places:
        if place is not None:
            # Among the ids it stands behind the sequence.
            return int(place.rpartition(b",")[2])
    return None


def _facts(key: ConversationKey, known: dict[str, Any]) -> Record:
    complete = known.get("complete")
    page = known.get("page")
    latest = known.get("latest")
    return _record(
        "conversation",
        key,
        title=known.get("title"),
        latestMessageAtMs=None if latest is None else int(latest),
        lastSequence=int(known.get("sequence", 0)),
        nextTimeStamp=known.get("next"),
        historyComplete=None if complete is None else complete == "1",
        page=None if page is None else int(page),
    )


def _message(
    key: ConversationKey, member: Member, position: int | None, partition: str
) -> Record:
    message = member.stored.message
    return _record(
        "message", key, messageId=message.message_id, sequence=member.sequence,
        position=position, partition=partition, senderId=message.sender_id,
        direction=message.direction, sentAtMs=message.sent_at_ms, kind=message.kind,
        text=message.text, content=message.content, quote=message.quote,
        recall=message.recall, raw=message.raw, receivedAtMs=member.received_at_ms,
    )  # fmt: skip


def _conflicts(key: ConversationKey, kept: Sequence[bytes]) -> Iterator[Record]:
    pairs = zip(kept[::2], kept[1::2], strict=True)
    for said, noted in sorted(pairs, key=lambda pair: int(pair[1].split(b" ")[0])):
        content, _, message_id = said.decode().partition("\n")
        _, received_at_ms, noted_at_ms = noted.split(b" ")
        values = cast("list[object]", parse_json(content))
        yield _record(
            "conflict", key, messageId=message_id,
            **dict(zip(CONTENT_FIELDS, values, strict=True)),
            receivedAtMs=int(received_at_ms), notedAtMs=int(noted_at_ms),
        )  # fmt: skip


def _cards(
    key: ConversationKey, kind: str, when: str, kept: Sequence[bytes]
) -> Iterator[Record]:
    pairs = zip(kept[::2], kept[1::2], strict=True)
    for scope, numbered in sorted(pairs, key=lambda pair: int(pair[1].split(b"\n")[0])):
        names = cast("list[str]", parse_json(scope.decode().partition("\n")[0]))
        _, content, at_ms, binding = numbered.decode().split("\n", 3)
        yield _record(
            kind, key, messageId=names[0], cardKind=names[1], content=content,
            **{when: int(at_ms)}, bindingId=binding,
        )  # fmt: skip


def _commit(commit: CopiedCommit) -> Record:
    key, place, position = commit.key, commit.coordinates, commit.publication
    return _record(
        "commit", place.conversation, messageId=place.message_id,
        sequence=place.sequence, origin=key.origin, tenant=key.tenant,
        sender=key.sender, clientMessageId=key.client_message_id,
        state=commit.state.name,
        # Known as long as the record is: of what history has let go of it is gone.
        createdAtMs=commit.record and commit.created_at_ms,
        logPartition=position and position.partition,
        logOffset=position and position.offset,
    )  # fmt: skip


def _detail(key: CommitKey, record: MessageRecord) -> Record | None:
    said = record.content
    details: Record = {
        "customType": said.custom_type,
        "bodyReference": said.body_reference,
        "mentions": list(record.mentions) or None,
        "replyTo": record.reply_to,
        "historyExpiresAtMs": record.history_expires_at_ms,
    }
    # An observation that has none of it is as one that came in a group.
    if (
        key.origin != "sent"
        and said.sent_at_ms is not None
        and not any(details.values())
    ):
        return None
    return _record(
        "messageDetail", record.conversation, messageId=record.message_id,
        sentAtMs=said.sent_at_ms, **details,
    )  # fmt: skip


def _record(kind: str, key: ConversationKey, /, **values: object) -> Record:
    record: Record = {"type": kind, **_scope(key)}
    for name, value in values.items():
        if name in _JSON and value:
            record[name] = parse_json(str(value))
        elif name in _NUMBERS:
            record[name] = int(str(value))
        else:
            record[name] = value
    return record


def _scope(key: ConversationKey | None) -> dict[str, str | None]:
    if key is None:
        return {"channelAccountId": None, "conversationId": None}
    return {
        "channelAccountId": key.channel_account_id,
        "conversationId": key.conversation_id,
    }


def _texts(reply: Sequence[bytes]) -> dict[str, Any]:
    words = [word.decode() for word in reply]
    return dict(zip(words[::2], words[1::2], strict=True))
