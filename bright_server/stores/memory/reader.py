"""Committed messages of the store in memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, takewhile

from bright_server.messages import ContactProfile, ConversationKey, StoredMessage
from bright_server.stores.memory.ledgers import Ledgers
from bright_server.stores.memory.state import Commits
from bright_server.stores.observed_commits import observed_of


class MemoryMessages:
    """See `MessageReader`."""

    def __init__(self, commits: Commits, ledgers: Ledgers) -> None:
        self._commits = commits
        self._ledgers = ledgers

    async def messages_after(
        self, conversation: ConversationKey, sequence: int, limit: int
    ) -> tuple[Sequence[StoredMessage], ContactProfile | None]:
        """See `MessageReader.messages_after`."""
        found = self._commits.conversations.get(conversation)
        if found is None:
            return [], None
        first_open = min(found.open_sequences, default=found.last_sequence + 1)
        committed = takewhile(
            lambda item: item.sequence < first_open, found.newer(sequence)
        )
        messages = [
            StoredMessage(conversation, item.sequence, observed_of(item.record))
            for item in islice(committed, limit)
        ]
        profile = self._ledgers.profiles.get(conversation)
        if profile is None or not messages:
            return messages, None
        return messages, ContactProfile(
            profile.ali_id, profile.observed_at_ms, profile.profile
        )
