"""What a session wants done: the only way in which it reaches the world.

The endpoint carries effects out in their order. An effect that asks something names the
session's method that takes the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from bright_server.commit.groups import Work
from bright_server.messages import Anchor, Grant
from bright_server.wire.commands import CommandResult
from bright_server.wire.requests import Heartbeat, PageHealth, PageRegister


class CloseCode(IntEnum):
    """Why a connection ends; 44xx: not with the same credentials, 45xx: later."""

    UNSUPPORTED_DATA = 1003
    INTERNAL_ERROR = 1011
    SERVICE_RESTART = 1012
    TRY_AGAIN_LATER = 1013
    BROKEN_HANDSHAKE = 4400
    BINDING_REFUSED = 4401
    NO_HELLO = 4408
    DISPLACED = 4409
    AUTHORITY_SILENT = 4503


@dataclass(frozen=True, slots=True)
class Send:
    """Send this text frame."""

    text: str


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection, after what was sent before."""

    code: CloseCode
    reason: str


@dataclass(frozen=True, slots=True)
class Authenticate:
    """Ask the authority for a grant; answer by `admitted`, `refused` or `silent`."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Join:
    """The connection stands: an older one of the same device and binding must go."""

    device_id: str
    grant: Grant


@dataclass(frozen=True, slots=True)
class CheckStanding:
    """Ask whether the grant still holds; answer by `standing_known`, or `silent`."""

    grant: Grant
    asked_by: Heartbeat | PageRegister | PageHealth


@dataclass(frozen=True, slots=True)
class Submit:
    """Have this work stored; answer by `work_done`, or `work_refused`."""

    ticket: int
    work: Work
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Announce:
    """Tell the other connections of the account that an anchor has moved."""

    anchor: Anchor


@dataclass(frozen=True, slots=True)
class Registered:
    """A page of the account is open behind this connection."""

    channel_account_id: str


@dataclass(frozen=True, slots=True)
class Answered:
    """Tell whoever asked for a command what the extension says of it."""

    result: CommandResult


Effect: TypeAlias = (
    Send
    | Close
    | Authenticate
    | Join
    | CheckStanding
    | Submit
    | Announce
    | Registered
    | Answered
)
