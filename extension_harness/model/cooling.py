"""Conversations that wait before their next batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from extension_harness.model.backoff import full_jitter
from extension_harness.model.settings import Settings


@dataclass(frozen=True)
class _Cooled:
    until_ms: float
    attempt: int
    max_messages: float


class Cooling:
    """By conversation key; a good ACK takes one out."""

    def __init__(
        self,
        now: Callable[[], float],
        random: Callable[[], float],
        settings: Callable[[], Settings],
    ) -> None:
        self._cooled: dict[str, _Cooled] = {}
        self._now = now
        self._random = random
        self._settings = settings

    def cool(self, key: str, max_messages: float) -> int:
        """Gives the ms until it may be tried again, with so many messages at most."""
        before = self._cooled.get(key)
        attempt = (before.attempt if before else 0) + 1
        settings = self._settings()
        delay = full_jitter(
            attempt, settings.retryCoolMs, settings.backoffCapMs, self._random
        )
        most = max_messages if math.isinf(max_messages) else math.floor(max_messages)
        self._cooled[key] = _Cooled(self._now() + delay, attempt, max(1, most))
        return delay

    def forget(self, key: str) -> None:
        """A good ACK came."""
        self._cooled.pop(key, None)

    def left_ms(self, key: str) -> float:
        """How long until the conversation may be tried; 0 for now."""
        cooled = self._cooled.get(key)
        return max(0, (cooled.until_ms if cooled else 0) - self._now())

    def max_messages(self, key: str) -> float:
        """Infinity: no bound of ours."""
        cooled = self._cooled.get(key)
        return cooled.max_messages if cooled else math.inf
