"""The life of a command: one connection, one outcome."""

from __future__ import annotations

import pytest

from bright_server.commands.contract import CommandOutcome, CommandRequest
from bright_server.commands.desk import Desk
from bright_server.errors import TooManyCommands
from tests.bright_server.commands.asking import result, send, snapshot, sync


@pytest.fixture
def desk() -> Desk:
    return Desk(most=4, most_a_channel=2)


def test_what_its_connection_says_settles_a_command_once(desk: Desk) -> None:
    desk.ask("c", send())
    desk.sent("c", "x")

    assert desk.answered("x", result("c")) == CommandOutcome("c", "done")
    assert desk.answered("x", result("c", "failed", "paced")) is None
    assert desk.size == 0


def test_a_result_of_another_connection_settles_nothing(desk: Desk) -> None:
    desk.ask("c", send())
    assert desk.answered("x", result("c")) is None  # not sent to anybody

    desk.sent("c", "x")
    assert desk.answered("y", result("c")) is None
    assert desk.answered("x", result("other")) is None
    assert desk.size == 1


@pytest.mark.parametrize(
    ("request_", "outcome"),
    [(send(), "delivery_unknown"), (snapshot(), "failed"), (sync(), "failed")],
)
def test_ot_62_a_lost_connection_settles_what_was_sent_on_it(
    desk: Desk, request_: CommandRequest, outcome: str
) -> None:
    """OT-62: a send that was attempted is `delivery_unknown`."""
    for command_id, channel_id in (("a", "x"), ("b", "y")):
        desk.ask(command_id, request_)
        desk.sent(command_id, channel_id)
    desk.ask("unsent", request_)

    (settled,) = desk.lost("x")

    assert settled.command_id == "a"
    assert (settled.outcome, settled.reason) == (outcome, "connection_lost")
    assert desk.answered("x", result("a")) is None
    assert desk.size == 2


def test_ot_62_nothing_goes_twice(desk: Desk) -> None:
    """OT-62: never sent again, on whatever connection."""
    desk.ask("c", send())
    desk.sent("c", "x")

    with pytest.raises(AssertionError):
        desk.sent("c", "y")


def test_what_was_never_sent_has_failed_and_is_not_unknown(desk: Desk) -> None:
    desk.ask("c", send())

    assert desk.given_up("c", "deadline_passed").outcome == "failed"


def test_a_message_without_an_answer_is_unknown(desk: Desk) -> None:
    desk.ask("c", send())
    desk.sent("c", "x")

    assert desk.given_up("c", "deadline_passed").outcome == "delivery_unknown"


def test_done_needs_no_reason(desk: Desk) -> None:
    desk.ask("c", send())
    desk.sent("c", "x")

    assert desk.answered("x", result("c", "done", "paced")) == (
        CommandOutcome("c", "done")
    )


def test_everything_is_bounded(desk: Desk) -> None:
    for number in range(4):
        desk.ask(str(number), send())
    with pytest.raises(TooManyCommands, match="BRIGHT_MAX_COMMANDS"):
        desk.ask("one more", send())

    desk.sent("0", "x")
    assert desk.has_room("x")
    desk.sent("1", "x")
    assert not desk.has_room("x")
    assert desk.has_room("y")

    desk.forget("3")
    desk.ask("one more", send())
