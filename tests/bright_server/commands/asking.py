"""Requests for commands, as somebody above would make them."""

from __future__ import annotations

from bright_server.commands.contract import CommandRequest
from bright_server.wire.commands import (
    CommandResult,
    ConversationSync,
    MessageSend,
    ProfileSnapshot,
)
from tests.bright_server.frames import ACCOUNT, CONVERSATION, command_result

SCOPE = {"channelAccountId": ACCOUNT, "conversationId": CONVERSATION}


def send(deadline_ms: int = 1_750_000_510_000) -> CommandRequest:
    arguments = MessageSend.model_validate({**SCOPE, "text": "hello"})
    return CommandRequest("message.send", arguments, deadline_ms)


def snapshot(deadline_ms: int = 1_750_000_510_000) -> CommandRequest:
    arguments = ProfileSnapshot.model_validate(SCOPE)
    return CommandRequest("profile.snapshot", arguments, deadline_ms)


def sync(deadline_ms: int = 1_750_000_510_000) -> CommandRequest:
    arguments = ConversationSync.model_validate(SCOPE)
    return CommandRequest("conversation.sync", arguments, deadline_ms)


def result(
    command_id: str, outcome: str = "done", reason: str | None = None
) -> CommandResult:
    return CommandResult.model_validate(command_result(command_id, outcome, reason))
