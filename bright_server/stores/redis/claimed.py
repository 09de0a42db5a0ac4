"""All commits of a database, found by the keys that were claimed for them.

It reads alone. A key whose place is not reserved yet is no commit, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bright_server.commit.records import CommitKey
from bright_server.commit.transfer import CopiedCommit
from bright_server.messages import ConversationKey
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.conveyor import Reply
from bright_server.stores.redis.exported import commit_of
from bright_server.stores.redis.intents import kept_commit
from bright_server.stores.redis.keys import Layout

_DOING: Final = "read the store"
_CLAIMS: Final = "bright:{*}:claim:*"
_SCANNED: Final = 1_000


async def claim_names(link: RedisLink) -> list[str]:
    """Return the names of all claims, sorted: about a hundred bytes each.

    Raises:
        StoreUnavailable: they could not be read.
    """
    names: set[str] = set()
    cursor: bytes | int = 0
    while True:
        cursor, found = await link.run(
            _DOING,
            ("SCAN", cursor, "MATCH", _CLAIMS, "COUNT", _SCANNED),
            durable=False,
        )
        names.update(name.decode() for name in found)
        if int(cursor) == 0:
            return sorted(names)


async def commits_of(
    link: RedisLink, layout: Layout, names: Sequence[str]
) -> list[CopiedCommit]:
    """Return the commits of claims; one without a place is none.

    Raises:
        CommitUnreadable: one is in no format that is known here.
        StoreUnavailable: they could not be read.
    """
    claims = await link.talk(_DOING, [("HMGET", name, *"acotui") for name in names])
    claimed = [_claimed(fields) for fields in claims if fields[0] is not None]
    named = [layout.commit(key, place) for key, place in claimed]
    hashes = await link.talk(
        _DOING, [("HGETALL", keys.shard.commit(name)) for keys, name in named]
    )
    kept = [
        (keys, kept_commit(key, place, reply))
        for (key, place), (keys, _), reply in zip(claimed, named, hashes, strict=True)
        if reply
    ]
    sequences = [(keys, each.commit.coordinates.sequence) for keys, each in kept]
    histories = await link.talk(
        _DOING,
        [
            ("ZRANGEBYSCORE", keys.history, sequence, sequence)
            for keys, sequence in sequences
        ],
    )
    return [
        commit_of(each, members)
        for (_, each), members in zip(kept, histories, strict=True)
    ]


def _claimed(fields: Sequence[Reply]) -> tuple[CommitKey, ConversationKey]:
    account, conversation, *parts = (each.decode() for each in fields)
    return CommitKey(*parts), ConversationKey(account, conversation)
