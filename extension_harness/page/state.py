"""The page's state while it runs: the corpus, what came live, and what was shown.

One object behind one lock, shared by the server's thread and by whoever tests. It
decides what a surface gets; the dialects decide how it is spelt.
"""

from __future__ import annotations

import threading
import time
from bisect import insort
from collections.abc import Callable
from dataclasses import replace

from extension_harness.page.corpus import Corpus
from extension_harness.page.errors import UnknownConversationError
from extension_harness.page.history import (
    HistoryPage,
    empty_page,
    page_of,
    stuck_page,
)
from extension_harness.page.ledger import Ledger
from extension_harness.page.switches import SwitchBoard
from extension_harness.page.truth import (
    Conversation,
    Message,
    normal_conversation_id,
)

Clock = Callable[[], int]


def wall_clock_ms() -> int:
    """Return this machine's time in milliseconds."""
    return time.time_ns() // 1_000_000


def _nothing(_: Message) -> None:
    """Nobody listens."""


class PageState:
    """What the page holds and has shown. Every method may be called from any thread."""

    def __init__(
        self, corpus: Corpus, switches: SwitchBoard, now_ms: Clock = wall_clock_ms
    ) -> None:
        self.corpus = corpus
        self.switches = switches
        self.now_ms = now_ms
        self.ledger = Ledger(corpus.account)
        self.on_first_version_shown: Callable[[Message], None] = _nothing
        self._lock = threading.RLock()
        self._conversations = {c.conversation_id: c for c in corpus.conversations}
        self._rows = {key: list(rows) for key, rows in corpus.rows.items()}
        self._emptied: set[tuple[str, str]] = set()
        self._serves = 0
        self.last_number = max(
            (row.number for rows in self._rows.values() for row in rows), default=0
        )
        for chat in corpus.conversations:
            self.ledger.meet(chat)
        for rows in self._rows.values():
            for row in rows:
                self._enter(row)

    def _enter(self, row: Message) -> None:
        self.ledger.add(row)
        if row.edited_text is not None:
            self.ledger.edited(replace(row, text=row.edited_text), certain=False)

    def conversations(self) -> list[Conversation]:
        """Return the conversations, the one with the newest row first."""
        if self.switches.current.account not in ("", self.corpus.account):
            return []
        with self._lock:
            return sorted(
                self._conversations.values(), key=self.latest_at_ms, reverse=True
            )

    def latest_at_ms(self, conversation: Conversation) -> int:
        """Return the time of the conversation's newest row, 0 without any."""
        rows = self._rows[conversation.conversation_id]
        return rows[-1].position_ms if rows else 0

    def latest(self, conversation: Conversation) -> Message | None:
        """Return the conversation's newest valid message."""
        rows = self._rows[conversation.conversation_id]
        return next((row for row in reversed(rows) if row.fault is None), None)

    def conversation(self, spelled: str) -> Conversation:
        """Return the conversation that `spelled` names, in any of the page's spellings.

        Raises:
            UnknownConversationError: the page has none of this id.
        """
        known = self._conversations.get(spelled)
        if known is None:
            pair, mark, rest = spelled.partition("#")
            suffix = f"#{rest.removesuffix('@icbu')}" if mark else ""
            first, _, second = pair.removesuffix("@icbu").partition("-")
            if first.isdecimal() and second.isdecimal():
                normal = normal_conversation_id(first, second, suffix)
                known = self._conversations.get(normal)
        if known is None:
            raise UnknownConversationError(spelled)
        return known

    def rename(self, conversation_id: str, name: str) -> None:
        """Give the contact of a conversation another name, as people do [M32].

        Raises:
            UnknownConversationError: the page has none of this id.
        """
        with self._lock:
            chat = self.conversation(conversation_id)
            renamed = replace(chat, name=name)
            self._conversations[chat.conversation_id] = renamed
            self.ledger.meet(renamed)

    def any_row(self, skip: str, number: int, turn: int) -> Message | None:
        """Return a valid message of a conversation other than `skip`, by `number`.

        The two turns 0 and 1 mean different messages, whatever the numbers, where a
        conversation has two: one observation made twice would be one anomaly.
        """
        others = [key for key, rows in self._rows.items() if key != skip and rows]
        if not others:
            return None
        rows = self._rows[others[number % len(others)]]
        plain = [row for row in rows if row.fault is None and row.edited_text is None]
        if not plain:
            return None
        pairs = max(1, len(plain) // 2)
        place = 2 * (number // len(others) % pairs) + turn
        return plain[place % len(plain)]

    def add(self, row: Message) -> None:
        """Put a row into its conversation at its place in time, and the ledger."""
        with self._lock:
            rows = self._rows[row.conversation_id]
            insort(rows, row, key=lambda each: (each.position_ms, each.number))
            self.last_number = max(self.last_number, row.number)
            self._enter(row)

    def replace_row(self, old: Message, new: Message | None) -> None:
        """Put `new` in the place of `old` in the history, or nothing."""
        with self._lock:
            rows = self._rows[old.conversation_id]
            place = next(i for i, row in enumerate(rows) if row.number == old.number)
            rows[place : place + 1] = [] if new is None else [new]

    def find(self, number: int) -> Message | None:
        """Return the row with this number."""
        with self._lock:
            for rows in self._rows.values():
                for row in rows:
                    if row.number == number:
                        return row
        return None

    def history(
        self,
        surface: str,
        conversation: Conversation,
        cursor_ms: int | None,
        count: int,
    ) -> HistoryPage:
        """Return the page that `surface` gets, and enter it as shown."""
        switches = self.switches.current
        key = conversation.conversation_id
        with self._lock:
            rows = self._rows[key]
            if key in switches.cursor_stuck:
                page = stuck_page(rows, count)
            elif self._is_emptied(surface, key, cursor_ms):
                page = empty_page(cursor_ms)
            else:
                page = page_of(rows, cursor_ms, count, switches)
            return replace(page, rows=self.shown(surface, page.rows))

    def shown(self, surface: str, rows: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return the rows as they are shown now, and enter them as shown.

        An edited message is shown in its first version once; from then on in the other.
        """
        with self._lock:
            versions = tuple(
                replace(row, text=row.edited_text)
                if row.edited_text is not None and self._was_shown(row)
                else row
                for row in rows
            )
            first = [row for row in rows if row.edited_text is not None]
            edited = [
                replace(row, text=row.edited_text)
                for row in first
                if not self._was_shown(row)
            ]
            valid = [row for row in versions if row.fault is None]
            self.ledger.served(surface, valid, self.now_ms())
        for row in edited:
            self.on_first_version_shown(row)
        return versions

    def _was_shown(self, row: Message) -> bool:
        return self.ledger.was_served(row.conversation_id, row.message_id)

    def _is_emptied(self, surface: str, key: str, cursor_ms: int | None) -> bool:
        """Once per surface and conversation, for one conversation in seven [M08]."""
        wanted = self.switches.current.empty_pages and "M08" in self.corpus.messy
        if not wanted or cursor_ms is None or (surface, key) in self._emptied:
            return False
        if self._conversations[key].number % 7 != 3:
            return False
        self._emptied.add((surface, key))
        return True

    def next_number(self) -> int:
        """Return the id of the next live message."""
        with self._lock:
            self.last_number += 1 + self.last_number % 7
            return self.last_number

    def serve_count(self) -> int:
        """Return a number that grows with each spelt row [M24]."""
        with self._lock:
            self._serves += 1
            return self._serves
