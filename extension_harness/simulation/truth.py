"""What really was said: the chat service's accounts, conversations and messages.

It is the one thing in a history that no fault touches, and what every invariant
compares with. Messages of a conversation have times that never fall, as the service
gives them, and at times the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from extension_harness.simulation.clock import EPOCH_MS

Row: TypeAlias = dict[str, Any]
Scope: TypeAlias = tuple[str, str, str]
"""Account, conversation, message (OT-01)."""


@dataclass(frozen=True, slots=True)
class Message:
    """A valid message as the service has it."""

    account: str
    conversation: str
    message_id: str
    sent_at_ms: int
    text: str

    @property
    def scope(self) -> Scope:
        """Return its scope of idempotency."""
        return (self.account, self.conversation, self.message_id)

    @property
    def order(self) -> tuple[int, str]:
        """Return its place in its conversation."""
        return (self.sent_at_ms, self.message_id)

    def row(self) -> Row:
        """Return the observation that a page makes of it."""
        return {
            "messageId": self.message_id,
            "conversationId": self.conversation,
            "senderId": "buyer",
            "direction": "inbound",
            "sentAtMs": self.sent_at_ms,
            "kind": "text",
            "text": self.text,
            "surface": "simulated",
        }


def card_title(message_id: str) -> str:
    """Return what the card of a message says."""
    return f"card of {message_id}"


def facts_country(version: int) -> str:
    """Return what the facts of a version say."""
    return f"country {version}"


@dataclass(slots=True)
class Conversation:
    """One conversation: its messages in order, and its contact's card."""

    account: str
    name: str
    messages: list[Message] = field(default_factory=list)
    profile_version: int = 1
    facts_version: int = 0
    broken_rows: list[Row] = field(default_factory=list)

    def contact(self) -> Row:
        """Return the contact as the list shows it now."""
        return {
            "aliId": f"ali-{self.name}",
            "profile": {"name": f"{self.name} v{self.profile_version}"},
        }

    def rendered(self) -> Row | None:
        """Return the newest message's card as a page draws it; None without one."""
        if not self.messages:
            return None
        message = self.messages[-1]
        return {
            "conversationId": self.name,
            "messageId": message.message_id,
            "sentAtMs": message.sent_at_ms,
            "cardKind": "inquiry",
            "content": {"title": card_title(message.message_id)},
        }

    def known_facts(self) -> Row:
        """Return what the page knows of the buyer now."""
        facts = {"country": facts_country(self.facts_version)}
        return {"conversationId": self.name, "facts": facts}

    def listed(self) -> Row:
        """Return the conversation's row in the page's list."""
        latest = self.messages[-1].sent_at_ms if self.messages else None
        return {
            "conversationId": self.name,
            "latestMessageAtMs": latest,
            "title": self.name,
            "contact": self.contact(),
        }

    def page(self, cursor: int | None, count: int) -> tuple[list[Row], bool]:
        """Return up to `count` rows at `cursor` or before, newest last, and if more."""
        known = [
            each
            for each in self.messages
            if cursor is None or each.sent_at_ms <= cursor
        ]
        return [each.row() for each in known[-count:]], len(known) > count


class Truth:
    """All accounts of a history."""

    def __init__(self, accounts: Sequence[str], conversations: int) -> None:
        # Two accounts may well have conversations of the same name.
        self.conversations = {
            (account, f"c{number}"): Conversation(account, f"c{number}")
            for account in accounts
            for number in range(conversations)
        }
        self.by_scope: dict[Scope, Message] = {}
        self._count = 0

    def of(self, account: str) -> list[Conversation]:
        """Return an account's conversations."""
        return [each for key, each in self.conversations.items() if key[0] == account]

    def say(self, account: str, conversation: str, now_ms: int) -> Message:
        """Have somebody write a message at a steady time."""
        place = self.conversations[account, conversation]
        at_ms = EPOCH_MS + now_ms
        if place.messages:
            at_ms = max(at_ms, place.messages[-1].sent_at_ms)
        self._count += 1
        message = Message(
            account, conversation, f"m{self._count:04d}", at_ms, f"text {self._count}"
        )
        place.messages.append(message)
        self.by_scope[message.scope] = message
        return message

    def spoil(self, account: str, conversation: str, now_ms: int) -> Row:
        """Have the page show a row that is no message (OT-32)."""
        self._count += 1
        row = {
            "messageId": f"x{self._count:04d}",
            "conversationId": conversation,
            "direction": "inbound",
            "sentAtMs": EPOCH_MS + now_ms,
            "kind": "text",
            "text": "nobody sent this",
            "surface": "simulated",
        }
        self.conversations[account, conversation].broken_rows.append(row)
        return row
