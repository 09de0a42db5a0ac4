"""What an account's conversations hold: the ground truth beside which all is judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from extension_harness.model.steps import Json


@dataclass
class Conversation:
    """One conversation: its rows, oldest first, and what its list entry says."""

    name: str
    title: str
    rows: list[Json] = field(default_factory=list)

    @property
    def latest_at_ms(self) -> int | None:
        """When the newest message was sent; None without one."""
        return self.rows[-1]["sentAtMs"] if self.rows else None


class Truth:
    """The conversations of one account: they outlive pages, workers and browsers."""

    def __init__(self, account: str) -> None:
        self.account = account
        self.conversations: dict[str, Conversation] = {}
        self._made = 0

    def conversation(self, name: str) -> Conversation:
        """A conversation by name, made where there is none."""
        return self.conversations.setdefault(name, Conversation(name, f"Buyer {name}"))

    def add(self, conversation: str, sent_at_ms: int, *, inbound: bool = True) -> Json:
        """A message more; it stands where its time puts it. Gives its row."""
        self._made += 1
        row: Json = {
            "surface": "history",
            "messageId": f"{self._made}.{conversation}",
            "conversationId": conversation,
            "senderId": "buyer" if inbound else self.account,
            "direction": "inbound" if inbound else "outbound",
            "sentAtMs": sent_at_ms,
            "kind": "text",
            "text": f"Message {self._made} of {conversation}",
        }
        rows = self.conversation(conversation).rows
        rows.append(row)
        rows.sort(key=lambda each: each["sentAtMs"])
        return row

    def messages(self) -> Iterator[Json]:
        """Every message that Bright has to have in the end, exactly once."""
        for conversation in self.conversations.values():
            yield from conversation.rows

    def grow(
        self, random: Random, *, conversations: int, messages: int, now_ms: int
    ) -> None:
        """A past: so many conversations with up to so many messages each.

        Some share a millisecond; a conversation may be empty.
        """
        for number in range(conversations):
            name = f"c{number}"
            self.conversation(name)
            at_ms = now_ms - random.randrange(1_000_000, 100_000_000)
            for _ in range(random.randrange(messages + 1)):
                at_ms = min(now_ms, at_ms + random.choice((0, 1, 1_000, 60_000)))
                self.add(name, at_ms, inbound=random.random() < 0.6)
