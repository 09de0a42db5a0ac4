"""The OneTalk pages that are open, and asking them (background/pages.js)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from extension_harness.model.errors import PageError, SilenceError
from extension_harness.model.health import Health, Patient
from extension_harness.model.steps import AskPage, Behaviour, Join, Json, Local
from extension_harness.model.tasks import Life
from extension_harness.model.text import to_text
from storage_schema import UNDEFINED

RELOOK_MS = 3_000
"""A page that is being opened listens after that."""


@dataclass(frozen=True)
class Page:
    """A page of one account in one tab."""

    tab_id: int
    page_id: str
    account: str
    route: str


class Pages:
    """No more than a memory of this worker's life."""

    def __init__(
        self, life: Life, health: Health, registered: Callable[[Page], None]
    ) -> None:
        self._life = life
        self._health = health
        self._registered = registered
        self._pages: dict[int, Page] = {}
        self._unreached: set[int] = set()

    @property
    def all(self) -> list[Page]:
        """The newest last."""
        return list(self._pages.values())

    def of(self, account: str) -> Page | None:
        """The newest that shows this account and can be asked."""
        own = [page for page in reversed(self.all) if page.account == account]
        asked = [page for page in own if not self._health.is_out(page.tab_id)]
        return next(iter(asked or own), None)

    def register(self, page: Page) -> bool:
        """Gives False when it was known just so."""
        before = self._pages.get(page.tab_id)
        if before == page:
            return False
        self._pages.pop(page.tab_id, None)  # so that it stands last
        self._pages[page.tab_id] = page
        self._health.opened(page.tab_id, page.page_id, page.account, _patient(before))
        self._registered(page)
        return True

    @property
    def is_any_open(self) -> bool:
        """One that nobody can read is still worth telling Bright of."""
        return bool(self._pages) or self._health.is_any_troubled

    def replaced(self, tab_id: int, page_id: str) -> None:
        """Another page speaks in a tab: whatever was known there is gone."""
        before = self._pages.get(tab_id)
        if before is None or before.page_id == page_id:
            return
        del self._pages[tab_id]
        self._health.closed(tab_id, _patient(before))

    def gone(self, tab_id: int, page_id: str) -> None:
        """A page said goodbye; the next look finds those that could not."""
        known = self._pages.get(tab_id)
        if known is not None and known.page_id != page_id:
            return  # another took its place
        self._pages.pop(tab_id, None)
        self._health.closed(tab_id, _patient(known))

    def look(self, timeout_ms: float) -> Behaviour[None]:
        """Asks every OneTalk tab what it is, and forgets the ones that are gone."""
        tabs = yield Local("tabs.query", lambda disk: list(disk.tabs))
        for tab_id in dict.fromkeys([*self._pages, *self._health.tabs]):
            if tab_id not in tabs:
                self._health.closed(tab_id, _patient(self._pages.get(tab_id)))
                self._pages.pop(tab_id, None)
        asked = [
            self._life.spawn(f"describe {tab_id}", self._describe(tab_id, timeout_ms))
            for tab_id in tabs
        ]
        yield Join(tuple(asked))

    def _describe(self, tab_id: int, timeout_ms: float) -> Behaviour[None]:
        try:
            response: Json = yield AskPage(tab_id, "describe", {}, timeout_ms)
            self._described(tab_id, response)
        except Exception as error:  # noqa: BLE001 - as the extension does
            self._not_described(tab_id, timeout_ms, error)

    def _described(self, tab_id: int, response: Json) -> None:
        self._unreached.discard(tab_id)
        page_id, answer = response["pageId"], response["answer"]
        said = answer.get("channelAccountId")
        account = said if isinstance(said, str) else None
        if account is None:
            self.replaced(tab_id, page_id)
        else:
            route = to_text(answer.get("route", UNDEFINED))
            self.register(Page(tab_id, page_id, account, route))
        self._health.told(tab_id, page_id, account, answer.get("troubles"))

    def _not_described(self, tab_id: int, timeout_ms: float, error: Exception) -> None:
        page = self._pages.get(tab_id)
        if not isinstance(error, PageError) or error.code != "page_gone":
            # One that nobody knows stays worth a look for as long as its tab is open.
            if page is None:
                self._health.unanswered(tab_id)
            elif isinstance(error, SilenceError):
                self._health.silent(tab_id, page.page_id, page.account)
            return
        if tab_id in self._unreached:
            self._health.unreached(tab_id)
            return
        # A page that is just being opened has nobody yet who listens.
        self._unreached.add(tab_id)

        def again() -> None:
            self._life.spawn("look again", self._look_again(tab_id, timeout_ms))

        self._life.after(again, RELOOK_MS)

    def _look_again(self, tab_id: int, timeout_ms: float) -> Behaviour[None]:
        if tab_id not in self._unreached:
            return
        tabs = yield Local("tabs.query", lambda disk: list(disk.tabs))
        if tab_id in tabs:
            yield from self._describe(tab_id, timeout_ms)
        else:
            self._unreached.discard(tab_id)

    def ask(
        self, page: Page, kind: str, body: Json, timeout_ms: float
    ) -> Behaviour[Any]:
        """Asks one page.

        Raises:
            PageError: `page_gone`, `page_timeout`, and the page's own codes.
        """
        whole = {**body, "channelAccountId": page.account}
        try:
            response: Json = yield AskPage(page.tab_id, kind, whole, timeout_ms)
            self._health.answered(page.tab_id, page.page_id)
        except PageError as error:
            if isinstance(error, SilenceError):
                self._health.silent(page.tab_id, page.page_id, page.account)
            known = self._pages.get(page.tab_id)
            is_same = known is not None and known.page_id == page.page_id
            if error.code == "page_gone" and is_same:
                del self._pages[page.tab_id]
                self._health.closed(page.tab_id, _patient(page))
            raise
        return response["answer"]


def _patient(page: Page | None) -> Patient | None:
    return None if page is None else Patient(page.page_id, page.account)
