"""Commands of Bright: carried out at once or not at all (background/commands.js).

Each is answered once, on the connection that it came on (OT-62). Nothing of one is
kept: a worker that dies in the middle of it knows of none (OT-63).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from extension_harness.model.connection import Connection
from extension_harness.model.errors import Fault, PageError, StoreError, describe
from extension_harness.model.ledger_writes import is_text
from extension_harness.model.normal_form import MAX_ID
from extension_harness.model.pages import Pages
from extension_harness.model.profiles import record_profiles
from extension_harness.model.rereading import mark_for_reading
from extension_harness.model.sending import Errand, Result, Sending, failed
from extension_harness.model.settings import Settings
from extension_harness.model.steps import Behaviour, Json, Value, Within
from extension_harness.model.sync import Sync
from extension_harness.model.tasks import Life
from extension_harness.model.text import utf16_length

MAX_IN_HAND = 8
MAX_SEEN = 200
_MAX_TEXT = 20_000
_DONE = Result("done")
_OURS = ("profile.snapshot", "conversation.sync")
_REASONS = (
    "account_changed",
    "arguments_invalid",
    "busy",
    "command_unsupported",
    "consent_missing",
    "conversation_unknown",
    "deadline_passed",
    "not_confirmed",
    "paced",
    "page_gone",
    "page_missing",
    "page_timeout",
    "profile_missing",
    "route_ambiguous",
    "route_missing",
    "route_without_conversation",
    "store_failed",
    "surface_missing",
)


@dataclass(frozen=True)
class CommandParts:
    """What commands are carried out with."""

    life: Life
    connection: Connection
    pages: Pages
    sync: Sync
    sending: Sending
    settings: Callable[[], Settings]
    profiled: Callable[[str], None]
    failed: Callable[[Fault], object]


class Commands:
    """A doubled frame is one command."""

    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts
        self._in_hand = 0
        self._seen: dict[str, None] = {}

    def take(self, command: Json) -> Behaviour[None]:
        """Carries out a command and answers it, if whoever asked is still there."""
        connection = self._parts.connection
        welcome = connection.welcome
        if welcome is None or not self._is_new(command["commandId"]):
            return
        errand = Errand(
            is_current=lambda: connection.welcome is welcome,
            left_ms=lambda: command["deadlineMs"] - connection.server_now_ms(),
        )
        result = yield from self._result(command, errand)
        if result is None or not errand.is_current():
            return
        frame: Json = {
            "type": "command.result",
            "commandId": command["commandId"],
            "outcome": result.outcome,
        }
        if result.reason is not None:
            known = result.reason in _REASONS
            frame["reason"] = result.reason if known else "page_failed"
        connection.send(frame)

    def _is_new(self, command_id: str) -> bool:
        if command_id in self._seen:
            return False
        self._seen[command_id] = None
        while len(self._seen) > MAX_SEEN:
            del self._seen[next(iter(self._seen))]
        return True

    def _result(self, command: Json, errand: Errand) -> Behaviour[Result | None]:
        if self._in_hand >= MAX_IN_HAND:
            return failed("busy")
        if not _is_right(command):
            return failed("arguments_invalid")
        if errand.left_ms() <= 0:
            return failed("deadline_passed")
        self._in_hand += 1
        try:
            return (yield from self._carried_out(command, errand))
        except Exception as error:  # noqa: BLE001 - as the extension does
            fault = describe(error)
            if not isinstance(error, PageError):
                self._parts.failed(fault)
            is_store = isinstance(error, StoreError)
            return failed("store_failed" if is_store else fault.code)
        finally:
            self._in_hand -= 1

    def _carried_out(self, command: Json, errand: Errand) -> Behaviour[Result | None]:
        given = command["arguments"]
        match command.get("name"):
            case "message.send":
                return (yield from self._parts.sending.send(given, errand))
            case "profile.snapshot":
                return (yield from self._in_time(self._snapshot(given), errand))
            case "conversation.sync":
                return (yield from self._in_time(self._sync(given), errand))
        return failed("command_unsupported")

    def _in_time(self, work: Behaviour[Result], errand: Errand) -> Behaviour[Result]:
        """What takes longer goes on, and is not waited for."""
        task = self._parts.life.spawn("command", work)
        if not (yield Within(task, errand.left_ms())):
            return failed("deadline_passed")
        if task.error is not None:
            raise task.error
        result: Result = task.result
        return result

    def _snapshot(self, scope: Json) -> Behaviour[Result]:
        """Observes the contact's profile; it concerns no message (OT-87)."""
        try:
            return (yield from self._observed(scope))
        except Exception as error:
            fault = Fault("profile_not_observed", describe(error).message)
            self._parts.failed(fault)
            raise

    def _observed(self, scope: Json) -> Behaviour[Result]:
        parts, account = self._parts, scope["channelAccountId"]
        page = parts.pages.of(account)
        if page is None:
            return failed("page_missing")
        timeout_ms = parts.settings().pageTimeoutMs
        answer = yield from parts.pages.ask(
            page, "conversations", {"timeoutMs": timeout_ms / 2}, timeout_ms
        )
        name = scope["conversationId"]
        rows = [
            row
            for row in answer.get("conversations") or []
            if isinstance(row, dict) and row.get("conversationId") == name
        ]
        if not rows or "contact" not in rows[0]:
            return failed("profile_missing")
        now_ms = parts.life.now()
        if (yield from record_profiles(account, rows[:1], now_ms)) > 0:
            parts.profiled(account)
        return _DONE

    def _sync(self, asked: Json) -> Behaviour[Result]:
        parts, account = self._parts, asked["channelAccountId"]
        page = parts.pages.of(account)
        if page is None:
            return failed("page_missing")
        conversation = asked.get("conversationId")
        if conversation is None:
            timeout_ms = parts.settings().pageTimeoutMs
            shown = yield from parts.pages.ask(page, "describe", {}, timeout_ms)
            if shown.get("channelAccountId") != account:
                return failed("account_changed")
            conversation = shown.get("conversationId")
            if conversation is None:  # a definite reason, not silence (OT-65)
                return failed(shown.get("routeReason") or "route_missing")
        if asked.get("rebuild") is True:
            gone = yield from parts.sync.rebuild(account, conversation)
            return failed("conversation_unknown") if gone is None else _DONE
        now_ms = parts.life.now()
        if not (yield from mark_for_reading(account, conversation, now_ms)):
            return failed("conversation_unknown")
        parts.sync.wake(account)
        return _DONE


def _is_right(command: Json) -> bool:
    given, deadline = command.get("arguments"), command.get("deadlineMs")
    if not isinstance(deadline, int) or not isinstance(given, dict):
        return False
    if not _is_id(given.get("channelAccountId")):
        return False
    name, conversation = command.get("name"), given.get("conversationId")
    text = given.get("text")
    if name == "message.send":
        is_good = is_text(text) and utf16_length(str(text)) <= _MAX_TEXT
        return is_good and _is_id(conversation)
    if name == "conversation.sync" and given.get("rebuild") is not True:
        return conversation is None or _is_id(conversation)
    return _is_id(conversation) or name not in _OURS


def _is_id(value: Value) -> bool:
    return is_text(value) and utf16_length(value) <= MAX_ID
