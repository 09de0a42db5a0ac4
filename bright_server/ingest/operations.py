"""From frames that ask for something to the work that they ask for. No I/O."""

from __future__ import annotations

from typing import TypeAlias

from bright_server.commit.groups import Claim, Discovery, Progress, Work
from bright_server.messages import ConversationKey, DiscoveredConversation, Grant
from bright_server.wire.requests import (
    ConversationDiscovered,
    HistoryProgress,
    SyncComplete,
)
from bright_server.wire.text import canonical_json

Operation: TypeAlias = ConversationDiscovered | HistoryProgress | SyncComplete


def work_of(frame: Operation, grant: Grant) -> Work:
    """Return what the store has to do for a frame."""
    account = frame.channel_account_id
    if isinstance(frame, ConversationDiscovered):
        rows = [
            DiscoveredConversation(
                each.conversation_id, each.latest_message_at_ms, each.title
            )
            for each in frame.conversations
        ]
        return Discovery(grant, account, rows)
    key = ConversationKey(account, frame.conversation_id)
    if isinstance(frame, SyncComplete):
        return Claim(grant, key, frame.latest_message_id, frame.latest_message_at_ms)
    return Progress(
        grant,
        key,
        canonical_json(frame.next_time_stamp),
        frame.history_complete,
        frame.latest_message_at_ms,
        frame.page,
    )
