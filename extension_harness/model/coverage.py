"""Whether something older may be missing (background/coverage.js).

A conversation that a page shows before its list was read is marked: it is claimed no
more, and keeps its anchor, until its history was walked from the newest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from extension_harness.model.steps import Behaviour, Json, Value
from extension_harness.model.store import CheckpointPages, update_checkpoint
from extension_harness.model.text import utf16_length
from extension_harness.model.walks import is_beyond, is_edge_open

MAX_REMEMBERED = 5_000
MAX_PAGES = 100


class Coverage:
    """Which pages' lists were read since they opened, and what was marked before."""

    def __init__(self) -> None:
        self._marked: dict[str, set[str]] = {}
        self._covered: dict[str, None] = {}

    def forget(self, page_id: str) -> None:
        """A page was away, or said things that nobody heard."""
        self._covered.pop(page_id, None)
        self._marked.pop(page_id, None)

    def seen(self, page_id: str, account: str, rows: Sequence[Any]) -> Behaviour[None]:
        """A page is about to have something recorded of these rows' conversations."""
        if page_id in self._covered:
            return
        marked = self._marked.setdefault(page_id, set())
        _keep_latest(self._marked)
        named = [r.get("conversationId") if isinstance(r, dict) else None for r in rows]
        for name in _distinct(named):
            if not _is_name(name) or name in marked:
                continue
            yield from update_checkpoint(account, name, _behind)
            if len(marked) < MAX_REMEMBERED:
                marked.add(name)

    def listed(self, account: str, page_ids: Sequence[str]) -> Behaviour[None]:
        """The whole list of an account was read while these pages were open."""
        if all(page_id in self._covered for page_id in page_ids):
            return
        pages = CheckpointPages(account)
        while page := (yield from pages.next()):
            found = [one for one in page if is_beyond(one) or is_edge_open(one)]
            for one in [one for one in found if _behind(one)]:
                yield from update_checkpoint(account, one["conversationId"], _behind)
        for page_id in page_ids:
            self.forget(page_id)
            self._covered[page_id] = None
        _keep_latest(self._covered)


def note_lost(lost: Value) -> Behaviour[None]:
    """What a page saw and could not keep, because its queue was full."""
    for pair in lost if isinstance(lost, list) else []:
        whole = [*pair, None, None] if isinstance(pair, list) else [None, None]
        account: Value = whole[0]
        conversation: Value = whole[1]
        if not _is_name(account):
            continue
        if _is_name(conversation):
            yield from update_checkpoint(account, conversation, _behind)
        elif conversation is None:
            pages = CheckpointPages(account)
            while page := (yield from pages.next()):
                for one in page:
                    name = one["conversationId"]
                    yield from update_checkpoint(account, name, _behind)


def _behind(seen: Json) -> Json | None:
    if seen.get("isBehind") is True or _is_unbegun(seen):
        return None
    return {**seen, "isBehind": True}


def _is_unbegun(seen: Json) -> bool:
    """Its walk begins from the newest in any case."""
    return (
        not seen["historyComplete"]
        and seen["nextTimeStamp"] is None
        and seen["pages"] == 0
    )


def _is_name(name: Value) -> TypeGuard[str]:
    return isinstance(name, str) and name != "" and utf16_length(name) <= 256


def _distinct(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _keep_latest(pages: dict[str, Any]) -> None:
    for first in list(pages)[: max(0, len(pages) - MAX_PAGES)]:
        del pages[first]
