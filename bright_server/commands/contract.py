"""What asking for a command promises, and what it stands on. No I/O.

A command is sent on exactly one connection or on none, is never queued for a later one
and never sent again (OT-62, OT-63). Each has exactly one outcome. Nothing of it is
kept: a server that starts again knows of no command.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from bright_server.messages import Grant
from bright_server.wire.commands import (
    Arguments,
    Command,
    CommandName,
    CommandReason,
    CommandResult,
    ResultOutcome,
)

OutcomeKind: TypeAlias = ResultOutcome | Literal["no_extension"]
OutcomeReason: TypeAlias = (
    CommandReason
    | Literal[
        "authority_silent",
        "binding_refused",
        "no_connection",
        "no_page",
        "server_stopping",
    ]
)
"""Why a command is not `done`: what the extension says, and what the server does."""


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """One thing that is asked of a page; `deadline_ms` is wall time of the server."""

    name: CommandName
    arguments: Arguments
    deadline_ms: int

    @property
    def account(self) -> str:
        """Return the account whose page is asked."""
        return self.arguments.channel_account_id


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """What became of a command.

    `done`: the extension has proof. `failed`: nothing was attempted, or it had no
    effect that could be taken for another's. `delivery_unknown`: a message may have
    been sent; only its observation tells (OT-62). `no_extension`: nobody was there to
    ask.
    """

    command_id: str
    outcome: OutcomeKind
    reason: OutcomeReason | None = None


class Channel(Protocol):
    """A connection on which a command can go."""

    @property
    def channel_id(self) -> str:
        """Return the name of this connection, which no later one has."""
        ...

    @property
    def grant(self) -> Grant | None:
        """Return what its binding allows; None: it is not open any more."""
        ...

    def command(self, command: Command) -> bool:
        """Send a command; False: it is not open, and nothing was sent."""
        ...


class Crew(Protocol):
    """All connections, as a commander needs them."""

    def channel_for(
        self, account: str
    ) -> Channel | Literal["no_connection", "no_page", "server_stopping"]:
        """Return the connection that told last of a page of the account, or why none.

        Only a connection whose binding holds the account is asked.
        """
        ...


class CommandWatch(Protocol):
    """Whoever wants to know what connections say of commands."""

    def answered(self, channel_id: str, result: CommandResult) -> None:
        """Learn of a result that came on a connection."""
        ...

    def lost(self, channel_id: str) -> None:
        """Learn that a connection is gone: nothing more comes on it."""
        ...


class Commander(Protocol):
    """Asks for commands: an operator's entrance, or an application above."""

    async def ask(
        self, request: CommandRequest, accepted: Callable[[str], None] | None = None
    ) -> CommandOutcome:
        """Return the one outcome, at the latest shortly after the deadline.

        `accepted` hears the command's id as soon as it is taken. Whoever stops waiting
        changes nothing of what was sent.

        Raises:
            TooManyCommands: more are under way than the settings allow.
        """
        ...


class CommandCounts(Protocol):
    """Who counts commands."""

    def command_settled(self, name: str, outcome: str) -> None:
        """Count one outcome."""
        ...

    def result_ignored(self) -> None:
        """Count a result that nobody waited for: late, doubled or a stranger's."""
        ...
