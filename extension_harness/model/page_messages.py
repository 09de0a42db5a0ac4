"""What pages tell the worker by themselves (background/page-messages.js)."""

from __future__ import annotations

from collections.abc import Callable

from extension_harness.model.buyer_facts import record_facts
from extension_harness.model.cards import record_rendered_cards
from extension_harness.model.coverage import Coverage, note_lost
from extension_harness.model.errors import describe
from extension_harness.model.events import (
    PageHello,
    PageObserved,
    PageTold,
    PageTroubles,
)
from extension_harness.model.health import Health
from extension_harness.model.pages import Page, Pages
from extension_harness.model.recorder import Observed, Recorder
from extension_harness.model.steps import Behaviour, Json
from extension_harness.model.sync import Sync
from extension_harness.model.text import to_text
from extension_harness.model.walks import needs_walk

Told = Callable[[str, str, str | None], None]
"""A ledger, an account, and the conversation where it is one."""


class PageMessages:
    """Who they are, what they lost, what they saw."""

    def __init__(
        self,
        coverage: Coverage,
        pages: Pages,
        health: Health,
        recorder: Recorder,
        sync: Sync,
        told: Told,
        failed: Callable[[Exception], object],
    ) -> None:
        self._coverage = coverage
        self._pages = pages
        self._health = health
        self._recorder = recorder
        self._sync = sync
        self._told = told
        self._failed = failed

    def hello(self, told: PageHello) -> Behaviour[Json]:
        """A page says who it is; `known` False: it has to be told again."""
        try:
            yield from note_lost(told.body.get("lost"))
        except Exception as error:  # noqa: BLE001 - as the extension does
            return {"known": False, "error": self._fault(error)}
        account, route = told.body.get("channelAccountId"), told.body.get("route")
        text = "" if route is None else to_text(route)
        page = Page(told.tab_id, told.page_id, str(account), text)
        # One that greets again may have said things that nobody heard, and one that was
        # away, or another account's, has missed some. It may also just show another.
        before = self._known_as(page.page_id, page.account)
        if before is None or before.route == page.route:
            self._coverage.forget(told.page_id)
        if not self._pages.register(page):
            self._sync.relist(page)
        return {"known": True}

    def observed(self, told: PageObserved) -> Behaviour[Json]:
        """`stored` is True when it is on disk, and only then."""
        account = told.body["channelAccountId"]
        conversation = told.body.get("conversationId")
        rows = told.body["rows"]
        named = [{"conversationId": conversation}] if conversation else rows
        try:
            # It was away, and what it missed is older than what it shows now.
            if self._known_as(told.page_id, account) is None:
                self._coverage.forget(told.page_id)
            yield from self._coverage.seen(told.page_id, account, named)
            recorded = yield from self._recorder.record(
                Observed(account, conversation, rows)
            )
            if any(needs_walk(each["checkpoint"]) for each in recorded):
                self._sync.wake(account)
            if not any(page.page_id == told.page_id for page in self._pages.all):
                self._pages.register(Page(told.tab_id, told.page_id, account, ""))
        except Exception as error:  # noqa: BLE001 - as the extension does
            return {"stored": False, "error": self._fault(error)}
        return {"stored": True}

    def _known_as(self, page_id: str, account: str) -> Page | None:
        """The same page, where it is open and was this account's."""
        for page in self._pages.all:
            if (page.page_id, page.account) == (page_id, account):
                return page
        return None

    def told(self, told: PageTold, now_ms: int) -> Behaviour[Json]:
        """What is no message: no message waits for it."""
        account, entries = told.body["channelAccountId"], told.body.get("entries")
        try:
            if told.body.get("ledger") == "cards":
                if (yield from record_rendered_cards(account, entries, now_ms)) > 0:
                    self._told("cards", account, None)
            elif told.body.get("ledger") == "facts":
                taken = yield from record_facts(account, entries, now_ms)
                for conversation in taken:
                    self._told("facts", account, conversation)
        except Exception as error:  # noqa: BLE001 - as the extension does
            return {"stored": False, "error": self._fault(error)}
        return {"stored": True}

    def troubles(self, told: PageTroubles) -> Json:
        """A page says all that is wrong with it now."""
        account, troubles = told.body["channelAccountId"], told.body.get("troubles")
        self._pages.replaced(told.tab_id, told.page_id)
        self._health.told(told.tab_id, told.page_id, account, troubles)
        return {"known": True}

    def _fault(self, error: Exception) -> Json:
        self._failed(error)
        fault = describe(error)
        return {"code": fault.code, "message": fault.message}
