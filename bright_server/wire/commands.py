"""Commands to a page and what becomes of them, as models. No I/O.

A command goes from the server to one extension (`command`), its result comes back once
(`command.result`). Reasons are a closed list: whoever asked can act on each.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, model_validator

from bright_server.wire.scalars import Counter, Frame, Identifier, Milliseconds

CommandName = Literal["message.send", "profile.snapshot", "conversation.sync"]
ResultOutcome = Literal["done", "failed", "delivery_unknown"]

RouteReason = Literal["route_missing", "route_without_conversation", "route_ambiguous"]
"""Why a page's route names no exact conversation (OT-65)."""

CommandReason = Literal[
    "account_changed",
    "arguments_invalid",
    "busy",
    "command_unsupported",
    "connection_lost",
    "conversation_unknown",
    "consent_missing",
    "deadline_passed",
    "not_confirmed",
    "paced",
    "page_failed",
    "page_gone",
    "page_missing",
    "page_timeout",
    "profile_missing",
    "store_failed",
    "surface_missing",
    "route_missing",
    "route_without_conversation",
    "route_ambiguous",
]
"""Why a command is not `done`, as an extension says it."""

MAX_COMMAND_TEXT: Final = 20_000

CommandId = Annotated[str, Field(min_length=1, max_length=64)]


class MessageSend(Frame):
    """Send a text into a conversation, once, by the page's own means."""

    channel_account_id: Identifier
    conversation_id: Identifier
    text: Annotated[str, Field(min_length=1, max_length=MAX_COMMAND_TEXT)]


class ProfileSnapshot(Frame):
    """Observe the profile of a conversation's contact as the page has it now."""

    channel_account_id: Identifier
    conversation_id: Identifier


class ConversationSync(Frame):
    """Walk a conversation's history again; `rebuild`: forget it first (OT-20).

    Without `conversationId` it is the one that the route of the account's page names,
    if it names one exactly (OT-65).
    """

    channel_account_id: Identifier
    conversation_id: Identifier | None = None
    rebuild: bool = False

    @model_validator(mode="after")
    def _rebuild_is_exact(self) -> ConversationSync:
        if self.rebuild and self.conversation_id is None:
            raise ValueError("a rebuild names its conversationId")
        return self


Arguments: TypeAlias = MessageSend | ProfileSnapshot | ConversationSync

ARGUMENTS: Final[dict[str, type[Frame]]] = {
    "message.send": MessageSend,
    "profile.snapshot": ProfileSnapshot,
    "conversation.sync": ConversationSync,
}
"""The model of each command's arguments, by its name."""


class Command(Frame):
    """Asks the extension for one thing; never queued, never sent again (OT-62)."""

    type: Literal["command"] = "command"
    command_id: CommandId
    name: CommandName
    arguments: MessageSend | ProfileSnapshot | ConversationSync
    # By the server's clock, which `welcome` has told.
    deadline_ms: Milliseconds


class CommandResult(Frame):
    """Says what became of a command; the first one counts."""

    type: Literal["command.result"]
    command_id: CommandId
    outcome: ResultOutcome
    reason: CommandReason | None = None


class CommandOrder(Frame):
    """The body of `POST /v1/commands`: what an operator asks for."""

    name: CommandName
    arguments: dict[str, object]
    timeout_ms: Counter
