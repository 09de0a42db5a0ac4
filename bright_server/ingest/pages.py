"""The pages that a connection has told of, and what is wrong with each. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from bright_server.wire.requests import PageHealth, PageRegister


@dataclass(frozen=True, slots=True)
class RegisteredPage:
    """Whose page it is, what it says that it shows, and what is wrong with it."""

    channel_account_id: str | None
    """None: nobody knows whose."""

    route: str
    told_at_ms: int
    """When it was last told of."""

    troubles: Mapping[str, int] = field(default_factory=dict)
    """Since when each trouble lasts, by its word."""


class RegisteredPages:
    """At most `most` pages, those told of last at the end.

    An extension that dies says of no page that it is closed, and each reload makes a
    new one: the one that has been told of least lately goes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._pages: dict[str, RegisteredPage] = {}

    def __iter__(self) -> Iterator[str]:
        """Return the ids, that told of last at the end."""
        return iter(self._pages)

    def __len__(self) -> int:
        """Return how many pages there are."""
        return len(self._pages)

    def items(self) -> Iterator[tuple[str, RegisteredPage]]:
        """Return the pages by id, that told of last at the end."""
        return iter(self._pages.items())

    def register(self, frame: PageRegister, now_ms: int) -> None:
        """Take what a page says of itself."""
        before = self._pages.get(frame.page_id)
        page = RegisteredPage(frame.channel_account_id, frame.route, now_ms)
        # Whether the page is well again is not said by this frame.
        is_same = (
            before is not None and before.channel_account_id == page.channel_account_id
        )
        if before is not None and is_same:
            page = replace(page, troubles=before.troubles)
        self._put(frame.page_id, page)

    def take_health(self, frame: PageHealth, now_ms: int) -> None:
        """Take all that is wrong with a page now; a page that is gone is forgotten."""
        before = self._pages.get(frame.page_id)
        if not frame.is_open:
            self._pages.pop(frame.page_id, None)
            return
        old = {} if before is None else before.troubles
        troubles = {each: old.get(each, now_ms) for each in frame.troubles}
        route = "" if before is None else before.route
        account = frame.channel_account_id
        self._put(frame.page_id, RegisteredPage(account, route, now_ms, troubles))

    def _put(self, page_id: str, page: RegisteredPage) -> None:
        self._pages.pop(page_id, None)
        while len(self._pages) >= self._most:
            del self._pages[next(iter(self._pages))]
        self._pages[page_id] = page

    def has(self, account: str) -> bool:
        """Say whether a page of the account was told of."""
        return any(page.channel_account_id == account for page in self._pages.values())
