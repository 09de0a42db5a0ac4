"""What is known of conversations beside their messages: activity, progress, anchors."""

from __future__ import annotations

from dataclasses import dataclass, field

from bright_server.commit.groups import (
    Claim,
    ClaimProven,
    ClaimUnproven,
    Discovery,
    DiscoveryStored,
    Progress,
    ProgressStored,
)
from bright_server.messages import Anchor, ConversationKey


@dataclass(slots=True)
class ConversationFacts:
    """Times of activity, titles, progress of history, and anchors."""

    activity: dict[ConversationKey, int] = field(default_factory=dict)
    titles: dict[ConversationKey, str] = field(default_factory=dict)
    progress: dict[ConversationKey, Progress] = field(default_factory=dict)
    anchors: dict[ConversationKey, Anchor] = field(default_factory=dict)
    anchored_sent_at: dict[ConversationKey, int] = field(default_factory=dict)

    def discover(self, work: Discovery) -> DiscoveryStored:
        """Keep the page's list; activity only moves forward."""
        keys = []
        for each in work.conversations:
            key = ConversationKey(work.channel_account_id, each.conversation_id)
            self._touch(key, each.latest_message_at_ms)
            if each.title is not None:
                self.titles[key] = each.title
            keys.append(key)
        return DiscoveryStored([self.anchors.get(key) for key in keys])

    def store_progress(self, work: Progress) -> ProgressStored:
        """Keep where a conversation's history stands (OT-44)."""
        self.progress[work.conversation] = work
        if work.latest_message_at_ms is not None:
            self._touch(work.conversation, work.latest_message_at_ms)
        return ProgressStored()

    def claim(
        self, work: Claim, sent_at_ms: int | None, now_ms: int
    ) -> ClaimProven | ClaimUnproven:
        """Move an anchor forward to a committed message (OT-50).

        `sent_at_ms` is the claimed message's own time; None: it is not committed.
        """
        if sent_at_ms is None:
            return ClaimUnproven()
        key = work.conversation
        self._touch(key, work.latest_message_at_ms)
        there = self.anchors.get(key)
        claimed = (sent_at_ms, work.latest_message_id)
        moved = there is None or claimed > (
            self.anchored_sent_at[key],
            there.latest_message_id,
        )
        if moved:
            self.anchors[key] = Anchor(key, work.latest_message_id, now_ms)
            self.anchored_sent_at[key] = sent_at_ms
        return ClaimProven(self.anchors[key], moved)

    def _touch(self, key: ConversationKey, at_ms: int) -> None:
        self.activity[key] = max(self.activity.get(key, 0), at_ms)
