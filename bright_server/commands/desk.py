"""The life of each command as a state machine. No I/O, no clock.

asked → sent on one connection → settled; or asked → settled, when it was never sent.
What is settled is forgotten, so a late, doubled or strange result finds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bright_server.commands.contract import (
    CommandOutcome,
    CommandRequest,
    OutcomeReason,
)
from bright_server.errors import TooManyCommands
from bright_server.wire.commands import CommandResult


@dataclass(frozen=True, slots=True)
class _Life:
    request: CommandRequest
    channel_id: str | None = None
    """The connection it was sent on; None: not sent."""


class Desk:
    """Knows every command that is under way; at most `most`, `most_a_channel` sent."""

    def __init__(self, most: int, most_a_channel: int) -> None:
        self._most = most
        self._most_a_channel = most_a_channel
        self._lives: dict[str, _Life] = {}

    @property
    def size(self) -> int:
        """Return how many commands are under way."""
        return len(self._lives)

    def ask(self, command_id: str, request: CommandRequest) -> None:
        """Take a command.

        Raises:
            TooManyCommands: as many as may be are under way.
        """
        if len(self._lives) >= self._most:
            raise TooManyCommands(len(self._lives))
        self._lives[command_id] = _Life(request)

    def has_room(self, channel_id: str) -> bool:
        """Say whether one more command may be sent on a connection."""
        sent = sum(life.channel_id == channel_id for life in self._lives.values())
        return sent < self._most_a_channel

    def sent(self, command_id: str, channel_id: str) -> None:
        """Note that a command goes on this connection, and on no other (OT-62)."""
        life = self._lives[command_id]
        assert life.channel_id is None, command_id  # noqa: S101 - never sent again
        self._lives[command_id] = replace(life, channel_id=channel_id)

    def answered(self, channel_id: str, result: CommandResult) -> CommandOutcome | None:
        """Settle a command by what its own connection says; None: nobody waits."""
        life = self._lives.get(result.command_id)
        if life is None or life.channel_id != channel_id:
            return None
        del self._lives[result.command_id]
        reason = None if result.outcome == "done" else result.reason
        return CommandOutcome(result.command_id, result.outcome, reason)

    def lost(self, channel_id: str) -> list[CommandOutcome]:
        """Settle all that was sent on a connection that is gone (OT-62)."""
        sent = [
            command_id
            for command_id, life in self._lives.items()
            if life.channel_id == channel_id
        ]
        return [self.given_up(each, "connection_lost") for each in sent]

    def given_up(self, command_id: str, reason: OutcomeReason) -> CommandOutcome:
        """Settle a command that nobody answers any more.

        A message that was sent to be sent may have been: `delivery_unknown`. Anything
        else has failed; it can be asked for again without harm.
        """
        life = self._lives.pop(command_id)
        may_have_been_sent = (
            life.channel_id is not None and life.request.name == "message.send"
        )
        return CommandOutcome(
            command_id, "delivery_unknown" if may_have_been_sent else "failed", reason
        )

    def nobody(self, command_id: str, reason: OutcomeReason) -> CommandOutcome:
        """Settle a command for which no extension is there."""
        del self._lives[command_id]
        return CommandOutcome(command_id, "no_extension", reason)

    def forget(self, command_id: str) -> None:
        """Let go of a command whose asker is gone; does nothing to a settled one."""
        self._lives.pop(command_id, None)
