"""Sending one message by the page's own means, once (background/sending.js, OT-62)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from extension_harness.model.coverage import note_lost
from extension_harness.model.errors import describe
from extension_harness.model.pace import Pace
from extension_harness.model.pages import Page, Pages
from extension_harness.model.settings import Settings
from extension_harness.model.steps import Behaviour, Json, Local, Pause, Value
from extension_harness.model.tasks import Life

SHOWN = 20
LOOK_MS = 400
_NOT_ATTEMPTED = ("surface_missing", "account_changed", "account_unknown")


@dataclass(frozen=True)
class Errand:
    """Whether whoever asked is still there, and how many ms are left."""

    is_current: Callable[[], bool]
    left_ms: Callable[[], float]


@dataclass(frozen=True)
class Result:
    """`done`, `failed` or `delivery_unknown`, and why."""

    outcome: str
    reason: str | None = None


def failed(reason: str) -> Result:
    """It was not done."""
    return Result("failed", reason)


class Sending:
    """Nothing that the page answers proves a delivery: the history does."""

    def __init__(
        self,
        life: Life,
        pages: Pages,
        settings: Callable[[], Settings],
        attempted: Callable[[str], None],
    ) -> None:
        self._pages = pages
        self._settings = settings
        self._attempted = attempted
        self._pace = Pace(life, settings)
        self._under_way: set[tuple[str, str]] = set()

    def send(self, message: Json, errand: Errand) -> Behaviour[Result | None]:
        """None: whoever asked is gone before anything was sent."""
        scope = message["channelAccountId"], message["conversationId"]
        if scope in self._under_way:
            return failed("busy")
        self._under_way.add(scope)
        try:
            return (yield from self._send_once(message, errand))
        finally:
            self._under_way.discard(scope)

    def _send_once(self, message: Json, errand: Errand) -> Behaviour[Result | None]:
        account = message["channelAccountId"]
        if not (yield from _is_allowed(account)):
            return failed("consent_missing")
        page = self._pages.of(account)
        if page is None:
            return failed("page_missing")
        if not (yield from self._pace.take(account)):
            return failed("paced")
        before = set((yield from self._shown(page, message)))
        # Before, and on disk: another life finds what came of it, too.
        lost = [[account, message["conversationId"]]]
        yield from note_lost(lost)
        if not (yield from _is_allowed(account)):
            return failed("consent_missing")
        if not errand.is_current():
            return None
        if errand.left_ms() <= 0:
            return failed("deadline_passed")
        is_sent, trouble = yield from self._attempt(page, message, errand)
        if not is_sent:
            return failed(str(trouble))
        yield from note_lost(lost)
        self._attempted(account)
        return (yield from self._awaited(page, message, before, trouble, errand))

    def _attempt(
        self, page: Page, message: Json, errand: Errand
    ) -> Behaviour[tuple[bool, str | None]]:
        """Whether it may have been sent, and what the page said of it."""
        timeout_ms = min(self._settings().pageTimeoutMs, errand.left_ms())
        body = {
            "conversationId": message["conversationId"],
            "text": message["text"],
            "timeoutMs": timeout_ms,
        }
        try:
            answer = yield from self._pages.ask(
                page, "send", body, timeout_ms + LOOK_MS
            )
        except Exception as error:  # noqa: BLE001 - as the extension does
            code = describe(error).code
            return code not in _NOT_ATTEMPTED, code
        return True, answer.get("trouble")

    def _awaited(
        self,
        page: Page,
        message: Json,
        before: set[str],
        trouble: str | None,
        errand: Errand,
    ) -> Behaviour[Result | None]:
        """Looks for the message until it is there, or the time is over."""
        code = trouble or "not_confirmed"
        while errand.is_current() and errand.left_ms() > 0:
            try:
                shown = yield from self._shown(page, message)
            except Exception as error:  # noqa: BLE001 - as the extension does
                code = trouble or describe(error).code
            else:
                if any(each not in before for each in shown):
                    return Result("done")
            yield Pause(max(1, min(LOOK_MS, errand.left_ms())))
        return Result("delivery_unknown", code) if errand.is_current() else None

    def _shown(self, page: Page, message: Json) -> Behaviour[list[str]]:
        """The newest own messages of the conversation that say just this."""
        timeout_ms = self._settings().pageTimeoutMs
        ask = {
            "conversationId": message["conversationId"],
            "cursor": None,
            "count": SHOWN,
            "timeoutMs": timeout_ms / 3,
        }
        answer = yield from self._pages.ask(page, "history", ask, timeout_ms)
        rows = (answer.get("page") or {}).get("observations") or []
        return [
            str(row["messageId"])
            for row in rows
            if row.get("direction") == "outbound"
            and row.get("conversationId") == message["conversationId"]
            and _is_same(row.get("text"), message["text"])
        ]


def _is_allowed(account: str) -> Behaviour[bool]:
    allowed = yield Local(
        "storage.local.get", lambda disk: disk.local.get("sendingAllowed")
    )
    return isinstance(allowed, list) and account in allowed


def _is_same(shown: Value, sent: str) -> bool:
    return isinstance(shown, str) and _plain(shown) == _plain(sent)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
