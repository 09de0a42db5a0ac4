"""The pages that a connection has told of. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bright_server.wire.requests import PageRegister


@dataclass(frozen=True, slots=True)
class RegisteredPage:
    """Whose page it is, and what it says that it shows."""

    channel_account_id: str
    route: str


class RegisteredPages:
    """At most `most` pages, those told of last at the end.

    No frame says that a page is closed, and each reload makes a new one: the one that
    has been told of least lately goes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._pages: dict[str, RegisteredPage] = {}

    def __iter__(self) -> Iterator[str]:
        """Return the ids, that told of last at the end."""
        return iter(self._pages)

    def register(self, frame: PageRegister) -> None:
        """Take what a page says of itself."""
        self._pages.pop(frame.page_id, None)
        while len(self._pages) >= self._most:
            del self._pages[next(iter(self._pages))]
        self._pages[frame.page_id] = RegisteredPage(
            frame.channel_account_id, frame.route
        )

    def has(self, account: str) -> bool:
        """Say whether a page of the account was told of."""
        return any(page.channel_account_id == account for page in self._pages.values())
