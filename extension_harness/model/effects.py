"""What the worker asks of the world: handed out in the order in which it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Connect:
    """Open a WebSocket; events about it name `socket`."""

    socket: int
    url: str


@dataclass(frozen=True)
class Send:
    """A frame, as the JSON object that the wire has."""

    socket: int
    frame: Mapping[str, Any]


@dataclass(frozen=True)
class CloseSocket:
    """Close it; nothing that comes from it afterwards is heard."""

    socket: int
    code: int


@dataclass(frozen=True)
class PageRequest:
    """Ask a tab; `ModelWorker.page_answered` takes the answer."""

    request: int
    tab_id: int
    kind: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """The answer to a message that came with this `reply` id."""

    reply: int
    answer: Mapping[str, Any]


@dataclass(frozen=True)
class SetAlarm:
    """Wake the worker every 30 s, also when it died."""


@dataclass(frozen=True)
class ClearAlarm:
    """No more alarms."""


@dataclass(frozen=True)
class StartTimer:
    """`ModelWorker.timer` is to be called after so many ms of this life."""

    timer: int
    ms: float


@dataclass(frozen=True)
class StopTimer:
    """It is not to be called any more."""

    timer: int


Effect: TypeAlias = (
    Connect
    | Send
    | CloseSocket
    | PageRequest
    | Reply
    | SetAlarm
    | ClearAlarm
    | StartTimer
    | StopTimer
)
