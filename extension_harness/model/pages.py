"""The OneTalk pages that are open, and asking them (background/pages.js)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from extension_harness.model.errors import PageError
from extension_harness.model.steps import AskPage, Behaviour, Join, Json, Local
from extension_harness.model.tasks import Life
from extension_harness.model.text import to_text
from storage_schema import UNDEFINED


@dataclass(frozen=True)
class Page:
    """A page of one account in one tab."""

    tab_id: int
    page_id: str
    account: str
    route: str


class Pages:
    """No more than a memory of this worker's life."""

    def __init__(self, life: Life, registered: Callable[[Page], None]) -> None:
        self._life = life
        self._registered = registered
        self._pages: dict[int, Page] = {}

    @property
    def all(self) -> list[Page]:
        """The newest last."""
        return list(self._pages.values())

    def of(self, account: str) -> Page | None:
        """The newest that shows this account."""
        return next((p for p in reversed(self.all) if p.account == account), None)

    def register(self, page: Page) -> bool:
        """Gives False when it was known just so."""
        if self._pages.get(page.tab_id) == page:
            return False
        self._pages.pop(page.tab_id, None)  # so that it stands last
        self._pages[page.tab_id] = page
        self._registered(page)
        return True

    def look(self, timeout_ms: float) -> Behaviour[None]:
        """Asks every OneTalk tab what it is, and forgets the ones that are gone."""
        tabs = yield Local("tabs.query", lambda disk: list(disk.tabs))
        for tab_id in list(self._pages):
            if tab_id not in tabs:
                del self._pages[tab_id]
        asked = [
            self._life.spawn(f"describe {tab_id}", self._describe(tab_id, timeout_ms))
            for tab_id in tabs
        ]
        yield Join(tuple(asked))

    def _describe(self, tab_id: int, timeout_ms: float) -> Behaviour[None]:
        response: Json = yield AskPage(tab_id, "describe", {}, timeout_ms)
        answer = response["answer"]
        account = answer.get("channelAccountId")
        if not isinstance(account, str):
            return
        route = to_text(answer.get("route", UNDEFINED))
        self.register(Page(tab_id, response["pageId"], account, route))

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
        except PageError as error:
            known = self._pages.get(page.tab_id)
            is_same = known is not None and known.page_id == page.page_id
            if error.code == "page_gone" and is_same:
                del self._pages[page.tab_id]
            raise
        return response["answer"]
