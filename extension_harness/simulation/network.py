"""A WebSocket as both ends see it, and all that may become of it on the way.

Frames of one direction arrive in order or not at all: a frame is lost only with its
connection. A proxy in between may hold frames back, give one twice, or change two that
are next to each other; a connection may be dead with both ends believing in it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Direction = Literal["up", "down"]
"""Up is to Bright, down is to the extension."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text frame."""

    text: str


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of a connection: a close frame, or 1006 where there was none."""

    code: int
    reason: str = ""


Item: TypeAlias = Text | Closing

ABNORMAL = 1006


@dataclass(slots=True)
class Link:
    """One connection from the extension's call to the end of both its sides."""

    number: int
    device: int
    accounts: tuple[str, ...] = ()
    """Those that the device's binding allows."""
    up: deque[Item] = field(default_factory=deque)
    down: deque[Item] = field(default_factory=deque)
    is_accepted: bool = False
    is_client_open: bool = True
    is_server_open: bool = False
    is_half_open: bool = False
    server_gives_up_ms: int | None = None
    """When Bright's own pings will have told it that a half-open connection is dead."""
    held_until_ms: dict[Direction, int] = field(default_factory=dict)

    def queue(self, direction: Direction) -> deque[Item]:
        """Return what is on the way in a direction."""
        return self.up if direction == "up" else self.down

    def send(self, direction: Direction, item: Item) -> None:
        """Put something on its way; on a half-open connection it goes nowhere."""
        hears = self.is_client_open if direction == "down" else not self.is_deaf
        if hears and not self.is_half_open:
            self.queue(direction).append(item)

    def is_passable(self, direction: Direction, now_ms: int) -> bool:
        """Say whether something could arrive now."""
        if not self.queue(direction) or not self.is_accepted:
            return False
        return self.held_until_ms.get(direction, 0) <= now_ms

    @property
    def is_deaf(self) -> bool:
        """Say whether Bright has closed its side: nobody reads there any more."""
        return self.is_accepted and not self.is_server_open

    def cut(self) -> None:
        """Cut it: what is on the way is lost, and each end learns of it in time."""
        self.up.clear()
        self.down.clear()
        self.held_until_ms.clear()
        self.is_half_open = False
        if self.is_client_open:
            self.down.append(Closing(ABNORMAL, ""))
        if self.is_server_open:
            self.up.append(Closing(ABNORMAL, ""))

    def end_client(self, *, delivers: bool) -> None:
        """The extension's side is gone with its worker.

        What it had handed to the system before is still sent (`delivers`), or not.
        """
        self.is_client_open = False
        self.down.clear()
        if not delivers:
            self.up.clear()
        if self.is_server_open and not self.is_half_open:
            self.up.append(Closing(ABNORMAL, ""))

    def end_server(self) -> None:
        """Bright's side is gone with its process; what it had sent still arrives."""
        self.is_server_open = False
        self.up.clear()
        if self.is_client_open and not self.is_half_open:
            self.down.append(Closing(ABNORMAL, ""))

    def go_dead(self, gives_up_ms: int) -> None:
        """Let nothing through any more while both ends believe in it."""
        self.is_half_open = True
        self.up.clear()
        self.down.clear()
        self.server_gives_up_ms = gives_up_ms

    @property
    def is_over(self) -> bool:
        """Say whether neither end has it any more."""
        return not self.is_client_open and not self.is_server_open
