"""Which commits were left on their way: read shard by shard, the oldest first."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from bright_server.commit.records import CommitIntent
from bright_server.errors import CommitUnreadable
from bright_server.stores.redis.claims import Claims
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.conveyor import Reply
from bright_server.stores.redis.intents import under_way
from bright_server.stores.redis.keys import ShardKeys

logger = logging.getLogger(__name__)


class _Due(NamedTuple):
    created_at_ms: int
    shard: int
    name: str


async def scan(
    link: RedisLink,
    shards: Sequence[ShardKeys],
    claims: Claims,
    older_than_ms: int,
    max_items: int,
) -> list[CommitIntent]:
    """See `MessageStore.scan_recoverable_commits`.

    A claim that was left alone gets its place here, and is due like the others.
    """
    await _place_claims(link, shards, claims, older_than_ms, max_items)
    unreadable = 0
    while True:
        limit = max_items + unreadable
        due = await _due(link, [shard.due for shard in shards], older_than_ms, limit)
        intents = await _intents(link, shards, due)
        if len(due) < limit or len(intents) >= max_items:
            return intents[:max_items]
        unreadable = len(due) - len(intents)


async def _due(
    link: RedisLink, keys: Sequence[str], older_than_ms: int, limit: int
) -> list[_Due]:
    replies: list[Reply] = await link.talk(
        "find commits that were left",
        [
            (
                "ZRANGEBYSCORE", key, "-inf", f"({older_than_ms}", "WITHSCORES",
                "LIMIT", 0, limit,
            )
            for key in keys
        ],
    )  # fmt: skip
    due = [
        _Due(int(float(score)), shard, name.decode())
        for shard, reply in enumerate(replies)
        for name, score in zip(reply[::2], reply[1::2], strict=True)
    ]
    return sorted(due)[:limit]


async def _place_claims(
    link: RedisLink,
    shards: Sequence[ShardKeys],
    claims: Claims,
    older_than_ms: int,
    max_items: int,
) -> None:
    left_alone = [shard.claims for shard in shards]
    limit = max_items
    while True:
        due = await _due(link, left_alone, older_than_ms, limit)
        placed = [await _place(claims, each) for each in due]
        # Those that cannot be read stay; they do not keep the others away.
        if any(placed) or len(due) < limit:
            return
        limit = max_items + len(due)


async def _place(claims: Claims, due: _Due) -> bool:
    try:
        await claims.of_name(due.shard, due.name)
    except CommitUnreadable as error:
        logger.warning("a claimed key stays without its place: %s", error)
        return False
    return True


async def _intents(
    link: RedisLink, shards: Sequence[ShardKeys], due: Sequence[_Due]
) -> list[CommitIntent]:
    if not due:
        return []
    replies = await link.talk(
        "read commits under way",
        [("HGETALL", shards[each.shard].commit(each.name)) for each in due],
    )
    intents = []
    for each, reply in zip(due, replies, strict=True):
        try:
            intent = under_way(each.name, reply)
        except CommitUnreadable as error:
            logger.warning("a commit under way is left out: %s", error)
            continue
        if intent is not None:
            intents.append(intent)
    return intents
