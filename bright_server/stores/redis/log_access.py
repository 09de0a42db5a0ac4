"""The log's keys in the database, for the log, which knows nothing of Redis."""

from __future__ import annotations

from typing import Any, Final, cast

from bright_server.messages import ConversationKey
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.durability import prove_durable
from bright_server.stores.redis.keys import Layout
from bright_server.stores.redis.scripts import call
from bright_server.wire.text import parse_json

_DOING: Final = "append to the log"


class LogAccess:
    """See `LogShards`: appends to the shard of an envelope's conversation."""

    def __init__(self, link: RedisLink, layout: Layout) -> None:
        self._link = link
        self._layout = layout

    async def append(self, key: str, body: bytes) -> tuple[str, int]:
        """Append once for this key, and return partition and number, durably.

        Raises:
            StoreUnavailable: it may or may not have been appended.
        """
        conversation = conversation_of(body)
        shard = (
            self._layout.log_of(key)
            if conversation is None
            else self._layout.conversation(conversation).shard
        )
        number = await self._link.run(
            _DOING,
            call("append", (shard.log, shard.log_last, shard.log_keys), (key, body)),
        )
        return shard.partition, int(number)

    async def prove_durable(self) -> None:
        """Write and read, on a server that keeps what it answers.

        Raises:
            StoreUnavailable: it cannot, or would not.
        """
        await prove_durable(self._link)


def conversation_of(body: bytes) -> ConversationKey | None:
    """Return where an envelope's message lies; None: it tells of no conversation."""
    try:
        return ConversationKey(**_record_of(body)["conversation"])
    except (TypeError, KeyError):
        return None


def message_id_of(body: bytes) -> str | None:
    """Return which message an envelope is of; None: it tells of none."""
    message_id = _record_of(body).get("message_id")
    return message_id if isinstance(message_id, str) else None


def _record_of(body: bytes) -> dict[str, Any]:
    try:
        told = parse_json(body.decode())
    except ValueError:
        return {}
    record = told.get("record") if isinstance(told, dict) else None
    return cast("dict[str, Any]", record) if isinstance(record, dict) else {}
