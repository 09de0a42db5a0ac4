"""A OneTalk page with its content script: what it saw goes to the worker until stored.

The queue is the content script's own: oldest first, one at a time, kept in memory and
lost with the page.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

from extension_harness.model.events import PageHello, PageObserved, PageTold
from extension_harness.simulation.truth import Row

_RETRY_BASE_MS = 200
_RETRY_CAP_MS = 5_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the worker that the page has not answered yet."""

    request: int
    kind: str
    body: dict[str, Any]


@dataclass(slots=True)
class Tab:
    """One open tab; a reload makes another page in it."""

    tab_id: int
    page_id: str
    account: str
    queue: deque[Row] = field(default_factory=deque)
    asked: list[Asked] = field(default_factory=list)
    is_greeted: bool = False
    waits_for: int | None = None
    """The reply that it waits for."""
    sending: Literal["hello", "observed"] = "hello"
    failures: int = 0
    retry_at_ms: int = 0

    def has_something(self, now_ms: int) -> bool:
        """Say whether it would speak to the worker now."""
        if self.waits_for is not None or now_ms < self.retry_at_ms:
            return False
        return not self.is_greeted or bool(self.queue)

    def see(self, rows: list[Row], conversation: str | None) -> None:
        """See messages as they come."""
        self.queue.append(
            {
                "channelAccountId": self.account,
                "conversationId": conversation,
                "rows": rows,
            }
        )

    def tell(self, ledger: str, entry: Row) -> None:
        """See what is no message: a card as it is drawn, or facts of a buyer."""
        self.queue.append(
            {"channelAccountId": self.account, "ledger": ledger, "entries": [entry]}
        )

    def speak(self, reply: int) -> PageHello | PageObserved | PageTold:
        """Say the next thing to the worker."""
        self.waits_for = reply
        if not self.is_greeted:
            self.sending = "hello"
            body = {"channelAccountId": self.account, "route": "#/", "lost": []}
            return PageHello(reply, self.tab_id, self.page_id, body)
        self.sending = "observed"
        if "ledger" in self.queue[0]:
            return PageTold(reply, self.queue[0])
        return PageObserved(reply, self.tab_id, self.page_id, self.queue[0])

    def answered(self, answer: Row, now_ms: int) -> Row | None:
        """Take the worker's answer; returns the body that is stored now, if one is."""
        self.waits_for = None
        word = "known" if self.sending == "hello" else "stored"
        if answer.get(word) is not True:
            self.unheard(now_ms)
            return None
        self.failures = 0
        if self.sending == "hello":
            self.is_greeted = True
            return None
        return self.queue.popleft()

    def unheard(self, now_ms: int) -> None:
        """The worker died before its answer, or could not store it: again, later."""
        self.waits_for = None
        bound = min(_RETRY_CAP_MS, _RETRY_BASE_MS * 2 ** min(self.failures, 10))
        self.failures += 1
        self.retry_at_ms = now_ms + bound
