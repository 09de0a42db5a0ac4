"""Messages and pages of history, read from Redis."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from bright_server.clock import Clock
from bright_server.commit.contract import Membership
from bright_server.commit.records import HistoryPage, HistoryQuery
from bright_server.errors import NotAMember
from bright_server.messages import ContactProfile, ConversationKey, StoredMessage
from bright_server.settings import Settings
from bright_server.stores.history_pages import check_query, cut
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.keys import Layout, ShardKeys
from bright_server.stores.redis.members import Member
from bright_server.stores.redis.scripts import call
from bright_server.stores.storable import storable

logger = logging.getLogger(__name__)

_SWEPT_AT_ONCE = 200


class RedisMessages:
    """See `MessageReader`."""

    def __init__(self, link: RedisLink, layout: Layout) -> None:
        self._link = link
        self._layout = layout

    async def messages_after(
        self, conversation: ConversationKey, sequence: int, limit: int
    ) -> tuple[Sequence[StoredMessage], ContactProfile | None]:
        """See `MessageReader.messages_after`."""
        with storable("read messages"):
            keys = self._layout.conversation(conversation)
        *_, (members, (ali_id, seen, profile), still_open) = await self._link.talk(
            "read messages",
            [
                ("MULTI",),
                (
                    "ZRANGEBYSCORE", keys.history, f"({sequence}", "+inf",
                    "LIMIT", 0, limit,
                ),
                ("HMGET", keys.profile, "aliId", "observedAtMs", "profile"),
                ("ZRANGE", keys.open, 0, 0),
                ("EXEC",),
            ],
        )  # fmt: skip
        end = int(still_open[0]) if still_open else None
        found = [Member(conversation, each) for each in members]
        stored = [each.stored for each in found if end is None or each.sequence < end]
        if profile is None:
            return stored, None
        name = None if ali_id is None else ali_id.decode()
        return stored, ContactProfile(name, int(seen), profile.decode())


class RedisHistory:
    """Pages of history, and its end."""

    def __init__(
        self,
        link: RedisLink,
        layout: Layout,
        membership: Membership,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._link = link
        self._layout = layout
        self._membership = membership
        self._settings = settings
        self._clock = clock

    async def page(self, query: HistoryQuery) -> HistoryPage:
        """See `MessageStore.history_page`."""
        if not await self._membership.is_member(query.actor, query.conversation):
            raise NotAMember(query.actor)
        check_query(query, self._settings)
        with storable("read history"):
            keys = self._layout.conversation(query.conversation)
        while await self.sweep([keys.shard], _SWEPT_AT_ONCE) == _SWEPT_AT_ONCE:
            pass
        lowest, highest, members = await self._link.run(
            "read history",
            call(
                "page",
                (keys.history, keys.shard.expiry),
                (
                    query.direction,
                    "" if query.anchor is None else query.anchor,
                    query.max_items,
                    query.max_bytes,
                    self._clock.now_ms(),
                    keys.ref,
                ),
            ),
            durable=False,
        )
        if not highest:
            return HistoryPage((), None, None, None)
        items = (Member(query.conversation, each).item for each in members)
        return cut(items, query, int(lowest), int(highest))

    async def sweep(self, shards: Sequence[ShardKeys], limit: int) -> int:
        """Let go of at most `limit` messages a shard whose time is over; say how many.

        It is over when both this process and the database's server say so: one clock
        that runs ahead deletes nothing for those whose clocks are right (MS-28).

        Raises:
            StoreUnavailable: some may be left.
        """
        now_ms = self._clock.now_ms()
        found = await self._link.talk(
            "find what history may let go of",
            [
                ("ZRANGEBYSCORE", shard.expiry, "-inf", now_ms, "LIMIT", 0, limit)
                for shard in shards
            ],
        )
        commands = []
        for shard, names in zip(shards, found, strict=True):
            for name in names:
                ref, _, sequence = name.decode().partition(" ")
                history = f"{shard.prefix}:h:{ref}"
                commands.append(
                    call("let_go", (history, shard.expiry), (sequence, name))
                )
        if not commands:
            return 0
        gone = sum(await self._link.talk("let go of history", commands))
        if gone:
            logger.info("history has let go of %d messages", gone)
        return gone
