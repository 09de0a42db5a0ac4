"""Conversation lists: asks a page for its list and stores it (background/lists.js)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from extension_harness.model.backoff import LONGEST_TIMER_MS
from extension_harness.model.pages import Page, Pages
from extension_harness.model.profiles import record_profiles
from extension_harness.model.settings import Settings
from extension_harness.model.steps import Behaviour, Json, Value
from extension_harness.model.store import verb
from extension_harness.model.tasks import Life
from extension_harness.model.text import utf16_length
from storage_schema.onetalk import take_list

CHUNK = 200
AGAIN_MS = 500
MAX_TRIES = 8
_MAX_SAFE = 2**53 - 1


@dataclass(frozen=True)
class _Read:
    read_at_ms: float | None = None
    tries: int = 0


@dataclass(frozen=True)
class ListEvents:
    """Who is told of what; `met`: these have a checkpoint only now."""

    listed: Callable[[str, Sequence[Json]], None]
    met: Callable[[str, Sequence[str]], None]
    profiled: Callable[[str], None]
    again: Callable[[str], None]
    failed: Callable[[Exception], object]


class Lists:
    """Asks again while a page has only the beginning of its list, or it is old."""

    def __init__(
        self,
        life: Life,
        pages: Pages,
        settings: Callable[[], Settings],
        events: ListEvents,
    ) -> None:
        self._life = life
        self._pages = pages
        self._settings = settings
        self._events = events
        self._read: dict[str, _Read] = {}
        self._timers: dict[str, int] = {}

    @property
    def is_any_unread(self) -> bool:
        """An open page's list was not read yet."""
        return any(self._is_unread(page) for page in self._pages.all)

    def _is_unread(self, page: Page) -> bool:
        if self._pages.of(page.account) is not page:
            return False  # of several pages of an account only one is asked
        known = self._read.get(page.page_id)
        if known is None:
            return True
        return known.read_at_ms is None and known.tries < MAX_TRIES

    def forget(self, page: Page) -> None:
        """Its list is to be read although it is not due."""
        self._read.pop(page.page_id, None)

    def read(self, account: str) -> Behaviour[bool]:
        """Reads the account's list when it is due; gives whether the whole of it."""
        page = self._pages.of(account)
        if page is None:
            return False
        before = self._read.get(page.page_id, _Read())
        if before.read_at_ms is not None:
            age = self._life.steady() - before.read_at_ms
            if age < self._settings().listRefreshMs:
                return False
        is_whole = yield from self._take(account, page)
        tries = 0 if is_whole else before.tries + 1
        self._forget_gone()
        read_at = self._life.steady() if is_whole else None
        self._read[page.page_id] = _Read(read_at, tries)
        self.rest(account)
        if is_whole:
            return True
        delay = min(LONGEST_TIMER_MS, AGAIN_MS * 2**tries)
        self._timers[account] = self._life.after(lambda: self._again(account), delay)
        return False

    def _again(self, account: str) -> None:
        del self._timers[account]
        self._events.again(account)

    def rest(self, account: str) -> None:
        """The account's list is read again when somebody asks, no sooner."""
        self._life.cancel(self._timers.pop(account, None))

    def _forget_gone(self) -> None:
        open_ones = {page.page_id for page in self._pages.all}
        for page_id in [each for each in self._read if each not in open_ones]:
            del self._read[page_id]

    def _take(self, account: str, page: Page) -> Behaviour[bool]:
        """False: the page has only a part of its list, or none."""
        timeout_ms = self._settings().pageTimeoutMs
        try:
            answer = yield from self._pages.ask(
                page, "conversations", {"timeoutMs": timeout_ms / 2}, timeout_ms
            )
            rows = [row for row in answer["conversations"] if _is_listed(row)]
            at_ms = self._life.now()
            for start in range(0, len(rows), CHUNK):
                yield from self._chunk(account, rows[start : start + CHUNK], at_ms)
            return answer.get("isWhole") is True
        except Exception as error:  # noqa: BLE001 - as the extension does
            self._events.failed(error)
            return False

    def _chunk(self, account: str, chunk: list[Json], at_ms: int) -> Behaviour[None]:
        conversations = [_conversation_of(row) for row in chunk]
        met = yield from verb("takeList", take_list, account, conversations, at_ms)
        self._events.met(account, met)
        self._events.listed(account, conversations)
        try:
            # Apart, and last: it holds up no message (OT-87).
            if (yield from record_profiles(account, chunk, at_ms)) > 0:
                self._events.profiled(account)
        except Exception as error:  # noqa: BLE001 - as the extension does
            self._events.failed(error)


def _is_listed(listed: Value) -> bool:
    if not isinstance(listed, dict) or "latestMessageAtMs" not in listed:
        return False
    name, time = listed.get("conversationId"), listed["latestMessageAtMs"]
    return (
        isinstance(name, str)
        and name != ""
        and utf16_length(name) <= 256
        and (time is None or _is_safe(time))
    )


def _is_safe(time: Value) -> bool:
    if isinstance(time, bool) or not isinstance(time, int | float):
        return False
    return time == time // 1 and abs(time) <= _MAX_SAFE


def _conversation_of(listed: Json) -> Json:
    """What a bootstrap keeps of it."""
    kept = {
        "conversationId": listed["conversationId"],
        "latestMessageAtMs": listed["latestMessageAtMs"],
    }
    title = listed.get("title")
    return {**kept, "title": title} if isinstance(title, str) else kept
