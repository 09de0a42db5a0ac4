"""Asking: who is asked, what is checked before, and when it is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pytest

from bright_server.authorization.contract import Standing
from bright_server.commands.commander import ConnectedCommander
from bright_server.commands.contract import CommandOutcome, CommandRequest
from bright_server.errors import AuthorityUnavailable
from bright_server.messages import BindingId, Grant
from bright_server.operations.metrics import Metrics
from bright_server.settings import Settings
from bright_server.wire.commands import Command
from tests.bright_server.commands.asking import result, send, snapshot
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock

GRANT = Grant(BindingId("bnd_1"), 1, frozenset({ACCOUNT}))
Nobody = Literal["no_connection", "no_page", "server_stopping"]


@dataclass
class OneChannel:
    """The only connection; keeps what goes over it."""

    channel_id: str = "x"
    grant: Grant | None = GRANT
    is_open: bool = True
    sent: list[Command] = field(default_factory=list)
    went: asyncio.Event = field(default_factory=asyncio.Event)

    def command(self, command: Command) -> bool:
        if self.is_open:
            self.sent.append(command)
            self.went.set()
        return self.is_open


@dataclass
class OneCrew:
    channel: OneChannel | Nobody

    def channel_for(self, account: str) -> OneChannel | Nobody:
        assert account == ACCOUNT
        return self.channel


@dataclass
class AnsweringAuthority:
    """Says what it is told to; `at_question` happens while it is asked."""

    standing: Standing | None = Standing.VALID
    takes_seconds: float = 0
    clock: ManualClock | None = None

    async def authenticate(self, token: str) -> Grant:
        raise NotImplementedError

    async def standings(self, grants: Iterable[Grant]) -> Mapping[Grant, Standing]:
        await asyncio.sleep(0)
        if self.clock is not None:
            self.clock.advance(self.takes_seconds)
        if self.standing is None:
            raise AuthorityUnavailable("it is asleep")
        return dict.fromkeys(grants, self.standing)


@dataclass
class Scene:
    clock: ManualClock
    channel: OneChannel
    authority: AnsweringAuthority
    metrics: Metrics
    commander: ConnectedCommander

    def counted(self, sample: str, /, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(sample, labels) or 0


def scene(
    crew: OneChannel | Nobody | None = None,
    settings: Settings | None = None,
    authority: AnsweringAuthority | None = None,
) -> Scene:
    clock, metrics = ManualClock(), Metrics()
    channel = crew if isinstance(crew, OneChannel) else OneChannel()
    authority = authority or AnsweringAuthority()
    commander = ConnectedCommander(
        OneCrew(channel if crew is None else crew),
        authority,
        settings or Settings(command_grace_seconds=0.05),
        clock,
        metrics,
    )
    return Scene(clock, channel, authority, metrics, commander)


async def begun(
    on: Scene, request: CommandRequest
) -> tuple[asyncio.Task[CommandOutcome], Command]:
    asked = asyncio.create_task(on.commander.ask(request))
    await asyncio.wait_for(on.channel.went.wait(), 10)
    return asked, on.channel.sent[-1]


async def test_a_command_is_settled_by_its_result() -> None:
    on = scene()
    ids: list[str] = []
    asked = asyncio.create_task(on.commander.ask(send(), ids.append))
    await asyncio.wait_for(on.channel.went.wait(), 10)
    (command,) = on.channel.sent
    assert command.deadline_ms == send().deadline_ms

    on.commander.answered("x", result(command.command_id, "failed", "paced"))

    assert await asked == CommandOutcome(ids[0], "failed", "paced")
    assert ids == [command.command_id]
    assert on.counted("bright_commands_total", name="message.send", outcome="failed")
    assert on.commander.size == 0


async def test_a_late_doubled_or_strange_result_is_ignored_and_counted() -> None:
    on = scene()
    asked, command = await begun(on, send())

    on.commander.answered("another", result(command.command_id, "failed"))
    on.commander.answered("x", result("nobody's"))
    on.commander.answered("x", result(command.command_id))
    on.commander.answered("x", result(command.command_id, "failed"))

    assert (await asked).outcome == "done"
    on.commander.answered("x", result(command.command_id, "failed"))
    assert on.counted("bright_command_results_ignored_total") == 4


async def test_ot_62_a_connection_that_is_lost_leaves_the_delivery_unknown() -> None:
    """OT-62: and the command goes nowhere else."""
    on = scene()
    asked, command = await begun(on, send())

    on.commander.lost("another")
    on.commander.lost("x")

    outcome = await asked
    assert (outcome.outcome, outcome.reason) == ("delivery_unknown", "connection_lost")
    assert on.channel.sent == [command]


@pytest.mark.parametrize("nobody", ["no_connection", "no_page", "server_stopping"])
async def test_without_a_page_there_is_no_extension(nobody: Nobody) -> None:
    outcome = await scene(nobody).commander.ask(send())

    assert (outcome.outcome, outcome.reason) == ("no_extension", nobody)


@pytest.mark.parametrize(
    ("standing", "reason"),
    [
        (None, "authority_silent"),
        (Standing.REVOKED, "binding_refused"),
        (Standing.VERSION_CHANGED, "binding_refused"),
        (Standing.UNKNOWN, "binding_refused"),
    ],
)
async def test_ot_60_without_the_authoritys_yes_nothing_is_sent(
    standing: Standing | None, reason: str
) -> None:
    """OT-60: asked before every operation, and no answer is a no."""
    on = scene(authority=AnsweringAuthority(standing))

    outcome = await on.commander.ask(send())

    assert (outcome.outcome, outcome.reason) == ("failed", reason)
    assert on.channel.sent == []


async def test_a_connection_that_goes_while_the_authority_is_asked() -> None:
    on = scene(OneChannel(is_open=False))

    outcome = await on.commander.ask(send())

    assert (outcome.outcome, outcome.reason) == ("no_extension", "no_connection")
    assert on.commander.size == 0


async def test_a_deadline_that_passes_before_it_goes_sends_nothing() -> None:
    clock = ManualClock()
    on = scene(authority=AnsweringAuthority(takes_seconds=11, clock=clock))
    commander = ConnectedCommander(
        OneCrew(on.channel), on.authority, Settings(), clock, on.metrics
    )

    outcome = await commander.ask(send(clock.now_ms() + 10_000))

    assert (outcome.outcome, outcome.reason) == ("failed", "deadline_passed")
    assert on.channel.sent == []


@pytest.mark.parametrize(
    ("request_", "outcome"), [(send, "delivery_unknown"), (snapshot, "failed")]
)
async def test_silence_is_given_up_a_little_after_the_deadline(
    request_: Callable[[int], CommandRequest], outcome: str
) -> None:
    on = scene()

    told = await asyncio.wait_for(
        on.commander.ask(request_(on.clock.now_ms() + 20)),
        10,
    )

    assert (told.outcome, told.reason) == (outcome, "deadline_passed")
    assert len(on.channel.sent) == 1
    on.commander.answered("x", result(told.command_id))
    assert on.counted("bright_command_results_ignored_total") == 1


async def test_ot_62_a_clock_that_is_set_back_keeps_nobody_waiting() -> None:
    """OT-62: the outcome comes, whatever becomes of the wall clock meanwhile."""
    clock = ManualClock()
    on = scene(authority=AnsweringAuthority(takes_seconds=-3600, clock=clock))
    commander = ConnectedCommander(
        OneCrew(on.channel),
        on.authority,
        Settings(max_command_seconds=1, command_grace_seconds=0.05),
        clock,
        on.metrics,
    )

    outcome = await asyncio.wait_for(commander.ask(send(clock.now_ms() + 1000)), 30)

    assert outcome.outcome == "delivery_unknown"
    assert outcome.reason == "deadline_passed"


async def test_one_connection_takes_so_many_and_no_more() -> None:
    on = scene(settings=Settings(max_connection_commands=1))
    asked, command = await begun(on, send())

    outcome = await on.commander.ask(send())

    assert (outcome.outcome, outcome.reason) == ("failed", "busy")
    on.commander.answered("x", result(command.command_id))
    assert (await asked).outcome == "done"


async def test_an_asker_who_goes_away_leaves_nothing_behind() -> None:
    on = scene()
    asked, command = await begun(on, send())

    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)

    assert on.commander.size == 0
    on.commander.answered("x", result(command.command_id))
    assert on.counted("bright_command_results_ignored_total") == 1
