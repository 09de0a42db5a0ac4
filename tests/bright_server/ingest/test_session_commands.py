"""Commands in one connection's conversation, and the routes of pages."""

from __future__ import annotations

import pytest

from bright_server.authorization.contract import Standing
from bright_server.ingest.effects import Answered, CheckStanding, Effect
from bright_server.ingest.session import ExtensionSession
from bright_server.wire.commands import Command, CommandResult
from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    Frame,
    command_result,
    hello,
    register_page,
)
from tests.bright_server.ingest.talk import (
    NOW_MS,
    assert_serves,
    closed_with,
    only_sent,
    receive,
    sent,
)

COMMAND = Command.model_validate(
    {
        "commandId": "c-1",
        "name": "message.send",
        "arguments": {
            "channelAccountId": ACCOUNT,
            "conversationId": CONVERSATION,
            "text": "hello",
        },
        "deadlineMs": NOW_MS + 1_000,
    }
)


def test_a_command_goes_out_as_it_was_asked(opened: ExtensionSession) -> None:
    assert only_sent(opened.command(COMMAND)) == {
        "type": "command",
        "commandId": "c-1",
        "name": "message.send",
        "arguments": {
            "channelAccountId": ACCOUNT,
            "conversationId": CONVERSATION,
            "text": "hello",
        },
        "deadlineMs": NOW_MS + 1_000,
    }


def test_ot_63_no_command_goes_before_the_welcome_or_after_the_end(
    session: ExtensionSession, opened: ExtensionSession
) -> None:
    """OT-63: only an authenticated connection carries commands."""
    assert session.command(COMMAND) == []
    receive(session, hello("brt_secret"))
    assert session.command(COMMAND) == []

    closed_with(opened.displaced())
    assert opened.command(COMMAND) == []


def test_a_result_is_handed_on_and_not_answered(opened: ExtensionSession) -> None:
    effects = receive(opened, command_result("c-1", "failed", "paced"))

    assert effects == [
        Answered(CommandResult.model_validate(command_result("c-1", "failed", "paced")))
    ]


@pytest.mark.parametrize(
    ("frame", "path"),
    [
        (command_result("c-1", "perhaps"), "outcome"),
        (command_result("c-1", "failed", "because"), "reason"),
        (command_result("", "done"), "commandId"),
        ({"type": "command.result", "outcome": "done"}, "commandId"),
    ],
)
def test_a_wrong_result_is_refused_with_its_path(
    opened: ExtensionSession, frame: Frame, path: str
) -> None:
    error = only_sent(receive(opened, frame))

    assert (error["code"], error["path"]) == ("invalid_frame", path)
    assert_serves(opened)


def test_ot_64_an_extension_gives_no_commands(opened: ExtensionSession) -> None:
    """OT-64: commands have one direction."""
    frame = {"type": "command", "commandId": "c", "name": "message.send"}

    assert only_sent(receive(opened, frame))["code"] == "wrong_role"


def registered(opened: ExtensionSession, route: str) -> list[Effect]:
    (check,) = receive(opened, register_page(route=route))
    assert isinstance(check, CheckStanding)
    return opened.standing_known(check.asked_by, Standing.VALID, NOW_MS)


@pytest.mark.parametrize("route", ["#/?cid=", "#/?cid=a&cid=b", "?cid=%20#/"])
def test_ot_65_a_route_that_claims_a_conversation_names_exactly_one(
    opened: ExtensionSession, route: str
) -> None:
    """OT-65: a definite route reason, and the page counts for nothing."""
    error = only_sent(registered(opened, route))

    assert error["code"] == "route_not_exact"
    assert error["reason"] == "route_ambiguous"
    assert (error["path"], error["requestId"]) == ("route", "page")
    assert not opened.pages.has(ACCOUNT)
    assert_serves(opened)


@pytest.mark.parametrize("route", ["", "#/", "#/?cid=a%23b&x=1", "/message/x.htm"])
def test_a_page_may_be_registered_without_a_conversation(
    opened: ExtensionSession, route: str
) -> None:
    (told,) = sent(registered(opened, route))

    assert told["type"] == "page.registered"
    assert opened.pages.has(ACCOUNT)
