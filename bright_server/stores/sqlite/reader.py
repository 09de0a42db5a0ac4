"""Committed messages, read apart from the writer: the embedded `MessageReader`."""

from __future__ import annotations

from collections.abc import Sequence

from bright_server.messages import (
    ContactProfile,
    ConversationKey,
    ObservedMessage,
    StoredMessage,
)
from bright_server.stores.sqlite.connection import StoreConnection, translated
from bright_server.stores.sqlite.queries import SQL


class SqliteMessages:
    """Reads over one connection, which it does not own."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    async def messages_after(
        self, conversation: ConversationKey, sequence: int, limit: int
    ) -> tuple[Sequence[StoredMessage], ContactProfile | None]:
        """Return messages after a sequence, and the contact's profile of that moment.

        Raises:
            StoreUnavailable: they could not be read.
        """
        key = (conversation.channel_account_id, conversation.conversation_id)
        with translated("read messages"):
            rows = await self._connection.execute_fetchall(
                SQL["read_messages"], (*key, sequence, limit)
            )
        messages = []
        profile = None
        for place, *columns, ali_id, observed_at_ms, said in rows:
            message = ObservedMessage._make(columns)
            messages.append(StoredMessage(conversation, place, message))
            if said is not None:
                profile = ContactProfile(ali_id, observed_at_ms, said)
        return messages, profile
