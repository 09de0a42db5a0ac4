"""What reaches the worker from outside, each as one turn of its loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Started:
    """Installation, update, start of the browser: as good as an alarm."""


@dataclass(frozen=True)
class Alarm:
    """The extension's own alarm rang."""


@dataclass(frozen=True)
class PageHello:
    """A page says who it is; answered `{"known": bool}`.

    `body`: `channelAccountId`, `route`, and `lost` where it lost something.
    """

    reply: int
    tab_id: int
    page_id: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class PageObserved:
    """A page saw messages; answered `{"stored": bool}` after the durable write.

    `body`: `channelAccountId`, `conversationId` (None: each row says its own), `rows`.
    """

    reply: int
    tab_id: int
    page_id: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class PageTold:
    """A page tells what is no message; answered `{"stored": bool}`.

    `body`: `channelAccountId`, `ledger` (`cards` or `facts`), `entries`.
    """

    reply: int
    body: Mapping[str, Any]


@dataclass(frozen=True)
class PageGone:
    """A page says goodbye; answered, with nothing."""

    reply: int
    tab_id: int
    page_id: str


@dataclass(frozen=True)
class PageTroubles:
    """A page says all that is wrong with it; answered `{"known": True}`.

    `body`: `channelAccountId` (None: nobody is signed in), `troubles`.
    """

    reply: int
    tab_id: int
    page_id: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class SocketOpened:
    """The handshake succeeded."""

    socket: int


@dataclass(frozen=True)
class FrameReceived:
    """A frame: its JSON object, or whatever text came instead."""

    socket: int
    frame: object


@dataclass(frozen=True)
class SocketClosing:
    """Known to be closing, and not told yet: what is sent now is not sent."""

    socket: int


@dataclass(frozen=True)
class SocketClosed:
    """It is closed, also one that never opened (1006)."""

    socket: int
    code: int
    reason: str = ""


@dataclass(frozen=True)
class LocalChanged:
    """Somebody wrote the browser's small storage."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class ReconnectAsked:
    """The popup's button; answered `{}`."""

    reply: int


@dataclass(frozen=True)
class RebuildAsked:
    """The popup's button to collect one conversation anew (OT-20)."""

    reply: int
    account: str
    conversation: str


Event: TypeAlias = (
    Started
    | Alarm
    | PageHello
    | PageObserved
    | PageTold
    | PageTroubles
    | PageGone
    | SocketOpened
    | FrameReceived
    | SocketClosing
    | SocketClosed
    | LocalChanged
    | ReconnectAsked
    | RebuildAsked
)
