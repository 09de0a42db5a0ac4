"""Reads a list, then walks each conversation's history back (background/sync.js).

Page by page, from where the checkpoint says (OT-44, OT-70), and only while Bright is
connected and takes the account (OT-60).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from extension_harness.model.connection import Connection
from extension_harness.model.coverage import Coverage
from extension_harness.model.errors import describe
from extension_harness.model.health import CLOSED_DOORS, Health
from extension_harness.model.lists import ListEvents, Lists
from extension_harness.model.pages import Page, Pages
from extension_harness.model.paging import (
    Decision,
    Position,
    SeenPage,
    next_position,
)
from extension_harness.model.recorder import Observed, Recorder
from extension_harness.model.rereading import rebuild
from extension_harness.model.settings import Settings
from extension_harness.model.steps import Behaviour, Json, Pause, Value
from extension_harness.model.store import CheckpointPages, update_checkpoint
from extension_harness.model.tasks import Life
from extension_harness.model.turns import Turns
from extension_harness.model.walks import begun, needs_walk, walk_order
from storage_schema.onetalk.keys import conversation_key

MAX_ROUND = 5_000
MAX_FAILURES = 3


@dataclass(frozen=True)
class SyncParts:
    """What the coordinator works with."""

    life: Life
    connection: Connection
    coverage: Coverage
    health: Health
    pages: Pages
    recorder: Recorder
    settings: Callable[[], Settings]
    listed: Callable[[str, Sequence[Json]], None]
    met: Callable[[str, Sequence[str]], None]
    profiled: Callable[[str], None]
    history_ended: Callable[[str, str], Behaviour[None]]
    failed: Callable[[Exception], object]


class Sync:
    """One round an account at a time."""

    def __init__(self, parts: SyncParts) -> None:
        self._parts = parts
        self._running: set[str] = set()
        self._again: set[str] = set()
        self._turns = Turns(parts.life)
        self._rebuilds: dict[str, int] = {}
        self._lists = Lists(
            parts.life,
            parts.pages,
            parts.settings,
            ListEvents(
                listed=parts.listed,
                met=parts.met,
                profiled=parts.profiled,
                again=self.wake,
                failed=parts.failed,
            ),
        )

    @property
    def has_work(self) -> bool:
        """A history is being walked, or an open page's list was not read yet."""
        return bool(self._running) or self._lists.is_any_unread

    def wake(self, account: str) -> None:
        """Starts a round for the account, or another one after the present."""
        if account in self._running:
            self._again.add(account)
        elif self._may_run(account):
            self._running.add(account)
            self._parts.life.spawn(f"sync {account}", self._rounds(account))

    def relist(self, page: Page) -> None:
        """Reads the list again although it is not due."""
        self._lists.forget(page)
        self.wake(page.account)

    def rebuild(self, account: str, conversation: str) -> Behaviour[Json | None]:
        """Begins a conversation anew (OT-20); None where it is not known here."""
        key = conversation_key(account, conversation)

        def begin() -> Behaviour[Json | None]:
            self._rebuilds[key] = self._rebuilds.get(key, 0) + 1
            now_ms = self._parts.life.now()
            return (yield from rebuild(account, conversation, now_ms))

        gone = yield from self._turns.take(key, begin)
        self._parts.met(account, [conversation])
        self.wake(account)
        return gone

    def _may_run(self, account: str) -> bool:
        is_held = account in self._parts.connection.accounts
        return is_held and self._parts.pages.of(account) is not None

    def _rounds(self, account: str) -> Behaviour[None]:
        try:
            while True:
                self._again.discard(account)
                yield from self._round(account)
                if account not in self._again or not self._may_run(account):
                    return
        except Exception as error:  # noqa: BLE001 - the next alarm, page or observation tries again
            self._parts.failed(error)
        finally:
            self._running.discard(account)

    def _round(self, account: str) -> Behaviour[None]:
        pages = self._parts.pages
        opened = [page.page_id for page in pages.all if page.account == account]
        if self._is_shut(account):
            # One question tells whether a page lets somebody in again.
            for page in pages.all:
                if page.account == account:
                    self._lists.forget(page)
        if (yield from self._lists.read(account)):
            yield from self._parts.coverage.listed(account, opened)
        failures = 0
        if self._is_shut(account):
            self._lists.rest(account)
            return
        found, through_ms = yield from self._unfinished(account)
        for conversation in found:
            if not self._may_run(account):
                return
            is_answered = yield from self._walk(account, conversation, through_ms)
            failures = 0 if is_answered else failures + 1
            if failures >= MAX_FAILURES or self._is_shut(account):
                return

    def _is_shut(self, account: str) -> bool:
        """Its page wants a login, or a person."""
        page = self._parts.pages.of(account)
        return page is not None and self._parts.health.is_closed(page.tab_id)

    def _unfinished(self, account: str) -> Behaviour[tuple[list[str], int]]:
        """What has to be walked; the latest time the account's service has given."""
        found: list[Json] = []
        through_ms = 0
        pages = CheckpointPages(account)
        while page := (yield from pages.next()):
            times = [one["latestMessageAtMs"] or 0 for one in page]
            through_ms = max(through_ms, *times)
            found += filter(needs_walk, page)
            if len(found) >= MAX_ROUND:
                break
        ordered = sorted(found, key=walk_order)
        return [one["conversationId"] for one in ordered], through_ms

    def _walk(
        self, account: str, conversation: str, through_ms: int
    ) -> Behaviour[bool]:
        """To the end of its history, or to where it cannot go on; False: it failed."""
        key = conversation_key(account, conversation)
        rebuilds = self._rebuilds.get(key)
        checkpoint = yield from update_checkpoint(
            account, conversation, lambda before: begun(before, through_ms)
        )
        if checkpoint is None:
            return True
        settings = self._parts.settings()
        position = Position(checkpoint["nextTimeStamp"], settings.historyPageSize)
        while self._may_run(account):
            page = yield from self._ask(account, conversation, position)
            if page is None:
                return False
            if _is_lie(page, position, checkpoint):
                lying = self._parts.pages.of(account)
                if lying is not None:
                    self._parts.health.lied(lying.tab_id, lying.page_id, account)
                yield from self._failed(account, conversation, "page_empty")
                return False
            following = yield from self._turns.take(
                key,
                self._taking(account, conversation, position, page, rebuilds),
            )
            if following is None:
                return True
            position = following
        return True

    def _taking(
        self,
        account: str,
        conversation: str,
        asked: Position,
        page: Json,
        rebuilds: int | None,
    ) -> Callable[[], Behaviour[Position | None]]:
        def take() -> Behaviour[Position | None]:
            key = conversation_key(account, conversation)
            # Begun anew meanwhile, what came before this page is gone.
            if self._rebuilds.get(key) != rebuilds:
                return None
            return (yield from self._take(account, conversation, asked, page))

        return take

    def _ask(
        self, account: str, conversation: str, position: Position
    ) -> Behaviour[Json | None]:
        """One page of history; None when it cannot be had now."""
        code = "page_failed"
        attempt = 0
        while attempt < self._parts.settings().pageAttempts:
            settings = self._parts.settings()
            yield Pause(settings.historyPaceMs * 2**attempt)
            page = self._parts.pages.of(account)
            if page is None:
                return None
            body = {
                "conversationId": conversation,
                "cursor": position.cursor,
                "count": position.count,
                "timeoutMs": settings.pageTimeoutMs / 3,
            }
            try:
                answer = yield from self._parts.pages.ask(
                    page, "history", body, settings.pageTimeoutMs
                )
            except Exception as error:  # noqa: BLE001 - as the extension does
                code = describe(error).code
                if code in CLOSED_DOORS:
                    break
            else:
                found: Json = answer["page"]
                if _shows_any(found, conversation):
                    self._parts.health.lives(page.tab_id, page.page_id)
                return found
            attempt += 1
        yield from self._failed(account, conversation, code)
        return None

    def _failed(self, account: str, conversation: str, result: str) -> Behaviour[None]:
        at_ms = self._parts.life.now()
        yield from update_checkpoint(
            account,
            conversation,
            lambda before: {**before, "failedAtMs": at_ms, "result": result},
        )

    def _take(
        self, account: str, conversation: str, asked: Position, page: Json
    ) -> Behaviour[Position | None]:
        """Stores a page with the position after it, and tells Bright (OT-44)."""
        parts = self._parts
        settings = parts.settings()
        rows = page.get("observations")
        rows = rows if isinstance(rows, list) else []
        decision = next_position(
            asked,
            SeenPage(
                rows=len(rows),
                oldest_ms=_oldest_of(rows, conversation),
                reported_next=page.get("reportedNext"),
                has_more=page.get("hasMore"),
            ),
            page_size=settings.historyPageSize,
            max_page_size=settings.historyMaxPageSize,
        )
        recorded = yield from parts.recorder.record(
            Observed(account, conversation, rows, _moved(asked, decision))
        )
        if decision.is_stuck:
            yield from self._stuck(account, conversation, asked, decision)
        checkpoint = recorded[-1]["checkpoint"]
        parts.connection.send(
            {
                "type": "history.progress",
                "channelAccountId": account,
                "conversationId": conversation,
                "nextTimeStamp": checkpoint["nextTimeStamp"],
                "historyComplete": checkpoint["historyComplete"],
                "latestMessageAtMs": checkpoint["latestMessageAtMs"],
                "page": checkpoint["pages"],
            }
        )
        if checkpoint["historyComplete"]:
            yield from parts.history_ended(account, conversation)
            # Something was seen meanwhile before which there may be more.
            if needs_walk(checkpoint):
                self.wake(account)
            return None
        return decision.next

    def _stuck(
        self, account: str, conversation: str, asked: Position, decision: Decision
    ) -> Behaviour[None]:
        code = "history_cursor_stuck"
        detail = {"cursor": asked.cursor}
        yield from self._parts.recorder.note(account, conversation, code, detail)
        if decision.next is None:
            yield from update_checkpoint(
                account, conversation, lambda before: {**before, "result": code}
            )


def _moved(asked: Position, decision: Decision) -> Json:
    following = asked.cursor if decision.next is None else decision.next.cursor
    if decision.next is not None and following is None:
        following = asked.cursor
    return {
        "askedWith": asked.cursor,
        "nextTimeStamp": None if decision.is_complete else following,
        "historyComplete": decision.is_complete,
    }


def _is_lie(page: Json, asked: Position, checkpoint: Json) -> bool:
    """A dead page shows nothing, or another's, where its list told of a message."""
    return (
        not _shows_any(page, checkpoint["conversationId"])
        and asked.cursor is None
        and checkpoint["latestMessageAtMs"] is not None
        and page.get("hasMore") is not True
    )


def _shows_any(page: Json, conversation: str) -> bool:
    """It has rows, and not of other conversations alone."""
    rows = page.get("observations")
    return any(_is_of(row, conversation) for row in rows or [])


def _is_of(row: Value, conversation: str) -> bool:
    named = row.get("conversationId") if isinstance(row, dict) else None
    return not isinstance(named, str) or named == conversation


def _oldest_of(rows: Sequence[Any], conversation: str) -> int | None:
    """Rows of another conversation say nothing about this one."""
    times = [
        row["sentAtMs"]
        for row in rows
        if isinstance(row, dict)
        and _is_number(row.get("sentAtMs"))
        and row.get("conversationId") == conversation
    ]
    return min(times, default=None)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
