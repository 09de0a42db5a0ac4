"""Reading committed messages, apart from the writer. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bright_server.messages import ContactProfile, ConversationKey, StoredMessage


class MessageReader(Protocol):
    """Where committed messages are read. A store implements it."""

    async def messages_after(
        self, conversation: ConversationKey, sequence: int, limit: int
    ) -> tuple[Sequence[StoredMessage], ContactProfile | None]:
        """Return at most `limit` messages after a sequence (0: from the first).

        They end before a place that is reserved and not committed yet: whoever reads on
        from the last sequence misses nothing.

        With them comes the profile of the conversation's contact at the same moment.

        Raises:
            StoreUnavailable: they could not be read.
        """
        ...
