"""One planned fault on messages that pass a proxy, and a record of one that passed."""

import threading
from dataclasses import dataclass, field
from typing import Any, Literal

from extension_harness.errors import WaitTimeoutError
from extension_harness.network.proxy_connection import Direction, Link
from extension_harness.network.websocket_frames import WireMessage

Action = Literal["swallow", "duplicate", "delay", "hold", "reorder", "cut"]


@dataclass(frozen=True)
class Seen:
    """One message that reached the proxy, whatever became of it.

    Attributes:
        at: Monotonic seconds.
        connection: Counts from 1.
        kind: The frame's ``type``; ``<ping>`` and the like for others.
        body: Its JSON object, None for others. Kept in memory only.
    """

    at: float
    connection: int
    direction: Direction
    kind: str
    size: int
    body: dict[str, Any] | None = field(repr=False)


class Fault:
    """One planned fault on messages; made by `FaultProxy`."""

    def __init__(
        self,
        action: Action,
        kind: str,
        direction: Direction,
        first: int,
        count: int,
        seconds: float = 0.0,
    ) -> None:
        """Aim at ``count`` messages of ``kind`` from the ``first``; 1 is the next."""
        self.action = action
        self.kind = kind
        self.direction = direction
        self.seconds = seconds
        self._first = first
        self._count = count
        self._passed = 0
        self._hits = 0
        self._kept = 0
        self._condition = threading.Condition()
        self._released = False
        self._dropped = False
        self.held: list[tuple[Link, WireMessage]] = []

    @property
    def hits(self) -> int:
        """How many messages it has met."""
        with self._condition:
            return self._hits

    @property
    def spent(self) -> bool:
        """Whether it has met all that it was aimed at."""
        return self.hits >= self._count

    def wait(self, timeout: float = 30.0) -> None:
        """Wait until it has met all its messages, and holds what it is to hold.

        Raises WaitTimeoutError.
        """
        with self._condition:
            if not self._condition.wait_for(self._has_met_all, timeout):
                raise WaitTimeoutError(
                    f"{self.action} of {self._count} {self.kind} ({self.direction})",
                    timeout,
                    f"{self._hits} of them, {self._passed} messages of the kind passed",
                )

    def _has_met_all(self) -> bool:
        # A message is counted first, and kept by the thread that brought it after that.
        keeps = self.action in {"hold", "reorder"}
        return min(self._hits, self._kept if keeps else self._hits) >= self._count

    def release(self) -> None:
        """Send on what a ``hold`` holds, in order, and hold nothing more."""
        with self._condition:
            self._released = True
            held, self.held = self.held, []
        for link, message in held:
            link.forward(self.direction, message.raw)

    def drop(self) -> None:
        """Throw away what a ``hold`` holds, and hold nothing more."""
        with self._condition:
            self._released = self._dropped = True
            self.held = []

    def meets(self, direction: Direction, kind: str) -> bool:
        """Whether this message is one of those aimed at; counts it."""
        if direction != self.direction or kind != self.kind:
            return False
        with self._condition:
            if self._released:
                return False
            self._passed += 1
            if self._passed < self._first or self._hits >= self._count:
                return False
            self._hits += 1
            self._condition.notify_all()
            return True

    def _keep(self, link: Link, message: WireMessage) -> list[tuple[Link, WireMessage]]:
        """Keep a message; for a reorder, give all back reversed once complete."""
        with self._condition:
            self._kept += 1
            self._condition.notify_all()
            if self._released:  # between its being met and this moment
                return [] if self._dropped else [(link, message)]
            self.held.append((link, message))
            if self.action == "reorder" and len(self.held) >= self._count:
                held, self.held = self.held, []
                return held[::-1]
            return []

    def suffer(self, link: Link, message: WireMessage) -> None:
        """Do to a message that `meets` took what this fault does."""
        if self.action == "duplicate":
            link.forward(self.direction, message.raw)
            link.forward(self.direction, message.raw)
        elif self.action == "delay":
            later = threading.Timer(
                self.seconds, link.forward, (self.direction, message.raw)
            )
            later.daemon = True
            later.start()
        elif self.action in {"hold", "reorder"}:
            for kept_link, kept in self._keep(link, message):
                kept_link.forward(self.direction, kept.raw)
        elif self.action == "cut":
            link.cut()
