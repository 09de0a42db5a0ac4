"""What a page tells that is no message: no message waits for it, nor it for one.

One thing at a time, again and again until it is stored, as `content/observer.js` does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from extension_harness.model.events import PageTold
from extension_harness.model.steps import Json

MAX_TOLD = 200
_RETRY_BASE_MS = 200.0
_RETRY_CAP_MS = 5_000.0


def retry_ms(failures: int, random: Random) -> float:
    """How long the content script waits before it tells something again."""
    half = min(_RETRY_CAP_MS, _RETRY_BASE_MS * 2.0 ** min(failures, 10)) / 2
    return half + random.random() * half


class Apart:
    """Cards and facts on their way to the worker; the oldest goes when it is full."""

    def __init__(self, account: str, random: Random) -> None:
        self._account = account
        self._random = random
        self._queue: deque[Json] = deque()
        self._told: Json | None = None
        self._failures = 0

    def tell(self, ledger: str, entries: Sequence[Json]) -> None:
        """`ledger` is `cards` or `facts`."""
        if len(self._queue) >= MAX_TOLD:
            self._queue.popleft()
        self._queue.append(
            {
                "channelAccountId": self._account,
                "ledger": ledger,
                "entries": list(entries),
            }
        )

    @property
    def has_to_tell(self) -> bool:
        """Something waits, or is told and not answered yet."""
        return bool(self._queue)

    def next_message(self, reply: int) -> PageTold | None:
        """What is told next; None while it waits for an answer."""
        if self._told is not None or not self._queue:
            return None
        self._told = self._queue[0]
        return PageTold(reply, self._told)

    def replied(self, answer: Mapping[str, Any] | None) -> float:
        """The worker's answer; None: it died before.

        Gives in how many ms `next_message` is due again.
        """
        told, self._told = self._told, None
        is_taken = answer is not None and answer.get("stored") is True
        self._failures = 0 if is_taken else self._failures + 1
        if not is_taken:
            return retry_ms(self._failures, self._random)
        if self._queue and self._queue[0] is told:
            self._queue.popleft()
        return 0.0
