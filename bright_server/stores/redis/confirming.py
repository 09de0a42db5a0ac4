"""When the server's answers are ACKs: what is asked beside each durable exchange.

Everything goes behind the commands in their own round trip, in this order:

1. A count is raised. It is the connection's last write, so that what it waits for takes
   in all that the server had before, whoever wrote it; and it only rises, so a server
   that comes back with a lower one has lost writes that were ACKed.
2. `WAITAOF` answers once the server has synced that write. The server then goes on with
   the next words in a later turn: a setting that somebody changes between the write
   and its sync is seen.
3. The settings are read last. What they say was true after the sync.

No I/O: it says what to ask, and judges the replies.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final

from redis.exceptions import ResponseError

from bright_server.settings import Settings
from bright_server.stores.redis.answers import unavailable
from bright_server.stores.redis.conveyor import Command, Reply
from bright_server.stores.redis.keys import CONFIRMED

_SETTINGS: Final = (
    "appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory",
    "maxmemory-policy",
)  # fmt: skip
_COUNTS: Final = 256
"""Each process raises one of these, taken by chance: seldom one that another raises."""
_SYNC_MS: Final = 100
"""With `appendfsync always` a write is synced as soon as anything else is answered."""
_DOING: Final = "confirm"

LOST: Final = (
    "the server came back without writes that it had confirmed: restore it, then start"
    " Bright again; or start Bright again without them"
)


class Confirming:
    """What one process asks of a server, and what it knows of it."""

    def __init__(self, settings: Settings) -> None:
        self._replicas = settings.redis_replicas
        self._wait_ms = settings.redis_wait_ms
        self._mine = secrets.randbelow(_COUNTS)
        self._good: Reply = None
        self._is_lost = False
        self.confirmed = 0
        """The count of the last exchange that was confirmed; it only rises."""

    def looking(self) -> Command:
        """Return what reads the count and changes nothing; see `refusal`."""
        return ("HGET", CONFIRMED, self._mine)

    def refusal(self, reply: Reply, confirmed: int) -> str | None:
        """Return why nothing may be written to a server with this count, if so."""
        if not isinstance(reply, ResponseError) and int(reply or 0) < confirmed:
            self._is_lost = True
        return LOST if self._is_lost else None

    def words(self) -> list[Command]:
        """Return what is sent behind the commands of a durable exchange."""
        raised: Command = ("HINCRBY", CONFIRMED, self._mine, 1)
        asked: Command = ("CONFIG", "GET", *_SETTINGS)
        if not self._replicas:
            return [raised, ("WAITAOF", 1, 0, _SYNC_MS), asked]
        # A replica answers at once with what it has synced by then, and unasked once a
        # second only: asked when it has the write, it answers before it has synced it.
        # So it is asked twice.
        wait = ("WAIT", self._replicas, self._wait_ms)
        return [raised, wait, ("WAITAOF", 1, self._replicas, self._wait_ms), asked]

    def fault(self, replies: Sequence[Reply], confirmed: int) -> str | None:
        """Return why the exchange is no ground for an ACK, if so.

        `replies` are those to `words`; `confirmed` is what it was as they were sent.
        """
        count, *waits, settings = replies
        if isinstance(count, ResponseError):
            return unavailable(_DOING, count).reason
        if count <= confirmed:
            self._is_lost = True
        if self._is_lost:
            return LOST
        # They hardly ever change.
        if settings != self._good:
            fault = _settings_fault(settings)
            if fault:
                return fault
            self._good = settings
        fault = self._wait_fault(waits)
        if fault is None:
            self.confirmed = max(self.confirmed, count)
        return fault

    def _wait_fault(self, waits: Sequence[Reply]) -> str | None:
        *before, reply = waits
        if isinstance(reply, ResponseError) and "unknown command" in str(reply).lower():
            # Redis before 7.2: in a replica's memory is all that can be known.
            count = before[0] if before else 0
            reply = count if isinstance(count, ResponseError) else [1, count]
        if isinstance(reply, ResponseError):
            return unavailable(_DOING, reply).reason
        here, there = reply
        if here < 1:
            return (
                f"the server had not synced it within {self._sync_ms} ms (it makes its"
                " append-only file anew, or its disk is slow): it may be kept or not"
            )
        if there >= self._replicas:
            return None
        return (
            f"{there} of {self._replicas} replicas had it on disk within"
            f" {self._wait_ms} ms (BRIGHT_REDIS_REPLICAS): it may be kept or not"
        )

    @property
    def _sync_ms(self) -> int:
        return self._wait_ms if self._replicas else _SYNC_MS


def _settings_fault(reply: Reply) -> str | None:
    """Return why a server that is set up so does not keep what it answers."""
    if isinstance(reply, ResponseError):
        return unavailable(_DOING, reply).reason
    words = [word.decode() for word in reply]
    settings = dict(zip(words[::2], words[1::2], strict=True))
    if settings.get("appendonly") != "yes":
        return "the server keeps nothing on disk: set `appendonly yes`"
    if settings.get("appendfsync") != "always":
        return (
            "an answer would not survive a power cut: set `appendfsync always`, it is"
            f" {settings.get('appendfsync')}"
        )
    if settings.get("no-appendfsync-on-rewrite") == "yes":
        return (
            "answers would not survive a power cut while the append-only file is"
            " rewritten: set `no-appendfsync-on-rewrite no`"
        )
    policy = settings.get("maxmemory-policy")
    if settings.get("maxmemory") != "0" and policy != "noeviction":
        return (
            f"the server would throw messages away when its memory is full ({policy}):"
            " set `maxmemory-policy noeviction`"
        )
    return None
