"""Asks for commands: the one adapter between the desk, the connections and the time.

Before a command goes the authority is asked once more; without its yes nothing is sent
(OT-60).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from bright_server.authorization.contract import Authority, Standing
from bright_server.clock import Clock
from bright_server.commands.contract import (
    Channel,
    CommandCounts,
    CommandOutcome,
    CommandRequest,
    Crew,
    OutcomeReason,
)
from bright_server.commands.desk import Desk
from bright_server.errors import AuthorityUnavailable
from bright_server.settings import Settings
from bright_server.wire.commands import Command, CommandResult


class ConnectedCommander:
    """A `Commander` over the connections that are there; also their `CommandWatch`."""

    def __init__(
        self,
        crew: Crew,
        authority: Authority,
        settings: Settings,
        clock: Clock,
        counts: CommandCounts,
    ) -> None:
        self._crew = crew
        self._authority = authority
        self._settings = settings
        self._clock = clock
        self._counts = counts
        self._desk = Desk(settings.max_commands, settings.max_connection_commands)
        self._waiting: dict[str, asyncio.Future[CommandOutcome]] = {}

    @property
    def size(self) -> int:
        """Return how many commands are under way."""
        return self._desk.size

    async def ask(
        self, request: CommandRequest, accepted: Callable[[str], None] | None = None
    ) -> CommandOutcome:
        """See `Commander.ask`."""
        command_id = uuid.uuid4().hex
        self._desk.ask(command_id, request)
        try:
            if accepted is not None:
                accepted(command_id)
            outcome = await self._carried_out(command_id, request)
        finally:
            self._waiting.pop(command_id, None)
            self._desk.forget(command_id)
        self._counts.command_settled(request.name, outcome.outcome)
        return outcome

    def answered(self, channel_id: str, result: CommandResult) -> None:
        """See `CommandWatch.answered`."""
        outcome = self._desk.answered(channel_id, result)
        if outcome is None:
            self._counts.result_ignored()
        else:
            self._tell(outcome)

    def lost(self, channel_id: str) -> None:
        """See `CommandWatch.lost`."""
        for outcome in self._desk.lost(channel_id):
            self._tell(outcome)

    async def _carried_out(
        self, command_id: str, request: CommandRequest
    ) -> CommandOutcome:
        channel = self._crew.channel_for(request.account)
        if isinstance(channel, str):
            return self._desk.nobody(command_id, channel)
        if (refusal := await self._refusal(channel, request)) is not None:
            return self._desk.given_up(command_id, refusal)
        # From here to the wait nothing else runs: the result cannot come too early.
        self._desk.sent(command_id, channel.channel_id)
        settled: asyncio.Future[CommandOutcome]
        settled = asyncio.get_running_loop().create_future()
        self._waiting[command_id] = settled
        if not channel.command(_frame(command_id, request)):
            return self._desk.nobody(command_id, "no_connection")
        await asyncio.wait(
            {settled},
            timeout=self._seconds_left(request) + self._settings.command_grace_seconds,
        )
        if settled.done():
            return settled.result()
        return self._desk.given_up(command_id, "deadline_passed")

    def _seconds_left(self, request: CommandRequest) -> float:
        seconds = (request.deadline_ms - self._clock.now_ms()) / 1000
        # A wall clock that was set back meanwhile must not make the wait endless.
        return min(max(0, seconds), self._settings.max_command_seconds)

    async def _refusal(
        self, channel: Channel, request: CommandRequest
    ) -> OutcomeReason | None:
        """Return why a command may not go, the authority asked; None: it may."""
        grant = channel.grant
        if grant is None:
            return "connection_lost"
        try:
            standings = await self._authority.standings([grant])
        except AuthorityUnavailable:
            return "authority_silent"
        if standings.get(grant, Standing.REVOKED) is not Standing.VALID:
            return "binding_refused"
        if self._clock.now_ms() >= request.deadline_ms:
            return "deadline_passed"
        return None if self._desk.has_room(channel.channel_id) else "busy"

    def _tell(self, outcome: CommandOutcome) -> None:
        settled = self._waiting.pop(outcome.command_id, None)
        if settled is not None and not settled.done():
            settled.set_result(outcome)


def _frame(command_id: str, request: CommandRequest) -> Command:
    return Command.model_validate(
        {
            "commandId": command_id,
            "name": request.name,
            "arguments": request.arguments,
            "deadlineMs": request.deadline_ms,
        }
    )
