"""Committed messages, read apart from the writer: a `MessageReader`."""

from __future__ import annotations

from collections.abc import Sequence

from bright_server.messages import (
    ContactProfile,
    ConversationKey,
    ObservedMessage,
    StoredMessage,
)
from bright_server.stores.postgresql.database import Database


class PostgresqlMessages:
    """See `MessageReader`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def messages_after(
        self, conversation: ConversationKey, sequence: int, limit: int
    ) -> tuple[Sequence[StoredMessage], ContactProfile | None]:
        """See `MessageReader.messages_after`."""
        key = (conversation.channel_account_id, conversation.conversation_id)
        rows = await self._database.run(
            "read messages", "read_messages", *key, sequence, limit
        )
        messages = []
        profile = None
        for place, *columns, ali_id, observed_at_ms, said in rows:
            message = ObservedMessage._make(columns)
            messages.append(StoredMessage(conversation, place, message))
            if said is not None:
                profile = ContactProfile(ali_id, observed_at_ms, said)
        return messages, profile
