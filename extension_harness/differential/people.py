"""The ids that histories are told with: some of them hard to tell apart."""

from __future__ import annotations

import random
from dataclasses import dataclass

from storage_schema.onetalk.keys import (
    candidate_key,
    conversation_key,
)

IDS = (
    *(
        "a",
        "ab",
        "1",
        "10",
        'quo"te',
        "back\\slash",
        "com,ma",
        '["a","b"]',
        "new\nline",
    ),
    *("名前", "é", "e\u0301", "\U0001f600", "\ud800", "x\udc00", "\uffff", "\x00", " "),
)
"""Ids that run into their neighbours where a key is written carelessly."""
TIMES = (0, 1, 9, 10, 11, 1_700_000_000_000, 1_700_000_000_001, 999_999_999_999_999)


@dataclass(frozen=True)
class Told:
    """A message that was told of, as far as ACKs name it."""

    account: str
    conversation: str
    message: str
    sent_at_ms: int

    @property
    def candidate(self) -> str:
        """Its candidate's key."""
        return candidate_key(
            self.account, self.conversation, self.sent_at_ms, self.message
        )


class People:
    """Two accounts, whose conversations have the same names, and message ids."""

    def __init__(self, draw: random.Random) -> None:
        """Choose the ids of one history."""
        self.draw = draw
        self.accounts = draw.sample(IDS, 2)
        self.conversations = draw.sample(IDS, 3)
        self.messages = draw.sample(IDS, 7)
        self.told: list[Told] = []
        self.cards: list[tuple[str, str, str, str]] = []
        self.clock = 1_700_000_000_000

    def now(self) -> int:
        """A later moment than before, most of the time."""
        self.clock += self.draw.choice((0, 1, 5, 60_000))
        return self.clock

    def account(self) -> str:
        """One of the two accounts, mostly the first."""
        return self.accounts[0 if self.draw.random() < 0.65 else 1]

    def conversation(self) -> str:
        """One of the conversations, mostly the first."""
        at = self.draw.choice((0, 0, 0, 1, 1, 2))
        return self.conversations[at]

    def message(self) -> str:
        """One of the few message ids."""
        return self.draw.choice(self.messages)

    def scope_key(self) -> str:
        """A conversation's key, seldom of one that is unknown."""
        if self.draw.random() < 0.1:
            return "no key"
        return conversation_key(self.account(), self.conversation())
