"""A OneTalk page of the model, with its content script: deterministic, without I/O.

It shows a `Truth`, answers what the worker asks, and tells the worker what it sees, one
message at a time, again and again until that is stored, as `content/observer.js` does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from random import Random
from typing import Any

from extension_harness.model.apart import Apart, retry_ms
from extension_harness.model.events import PageHello, PageObserved
from extension_harness.model.steps import Json
from extension_harness.model.truth import Truth

MAX_QUEUED = 2_000


class ModelPage:
    """One page in one tab; a reload is another object with another `page_id`.

    `random` decides only what a real page decides by chance: the order of its rows
    while `is_disordered`, and the wait before it tells something again. `list_size`:
    how much of its list it has yet, None for all. `apart`: what it tells of cards and
    facts.
    """

    def __init__(
        self, truth: Truth, *, tab_id: int, page_id: str, random: Random
    ) -> None:
        self.truth = truth
        self.tab_id = tab_id
        self.page_id = page_id
        self.is_disordered = False
        self.list_size: int | None = None
        self.route = "message"
        self.apart = Apart(truth.account, random)
        self._random = random
        self._queue: deque[Json] = deque()
        self._lost: dict[str, list[str | None]] = {}
        self._hello_told = False
        self._told: PageHello | PageObserved | None = None
        self._telling_lost: dict[str, list[str | None]] = {}
        self._failures = 0

    def saw(self, *rows: Json, conversation: str | None = None) -> None:
        """The page shows messages live; they wait to be told.

        What does not fit into the queue is lost, and the next greeting says so.
        """
        body = {
            "channelAccountId": self.truth.account,
            "conversationId": conversation,
            "rows": list(rows),
        }
        if len(self._queue) < MAX_QUEUED:
            self._queue.append(body)
            return
        for row in rows:
            name = row["conversationId"]
            self._lost[name] = [self.truth.account, name]
            self._hello_told = False

    def shown_again(self) -> None:
        """Back from the browser's page cache: greets again."""
        self._hello_told = False

    @property
    def has_to_tell(self) -> bool:
        """Something waits, or is told and not answered yet."""
        return not self._hello_told or bool(self._queue) or self._told is not None

    def next_message(self, reply: int) -> PageHello | PageObserved | None:
        """What the content script says next; None while it waits for an answer."""
        if self._told is not None:
            return None
        if not self._hello_told:
            self._hello_told = True
            self._telling_lost, self._lost = self._lost, {}
            self._told = PageHello(
                reply,
                self.tab_id,
                self.page_id,
                {**self._about(), "lost": list(self._telling_lost.values())},
            )
        elif self._queue:
            self._told = PageObserved(reply, self.tab_id, self.page_id, self._queue[0])
        return self._told

    def replied(self, answer: Mapping[str, Any] | None) -> float:
        """The worker's answer; None: it died before.

        Gives in how many ms `next_message` is due again: 0 where it took what it was
        told.
        """
        told, self._told = self._told, None
        if isinstance(told, PageHello):
            is_taken = answer is not None and answer.get("known") is True
            if not is_taken:
                self._hello_told = False
                self._lost = {**self._telling_lost, **self._lost}
        else:
            is_taken = answer is not None and answer.get("stored") is True
            if is_taken:
                self._queue.popleft()
        self._failures = 0 if is_taken else self._failures + 1
        if is_taken:
            return 0.0
        return retry_ms(self._failures, self._random)

    def answer(self, kind: str, body: Mapping[str, Any]) -> Json:
        """The answer to a `PageRequest` of the worker's."""
        if kind == "describe":
            return self._answered(self._about())
        if body.get("channelAccountId") != self.truth.account:
            return self._refused("account_changed", "Another account is signed in.")
        if kind == "conversations":
            return self._answered(self._list())
        if kind == "history":
            page = self._history(str(body["conversationId"]), body)
            return self._answered({"page": page})
        return self._refused("unknown_request", kind)

    def _about(self) -> Json:
        return {"channelAccountId": self.truth.account, "route": self.route}

    def _answered(self, answer: Json) -> Json:
        return {"pageId": self.page_id, "answer": answer}

    def _refused(self, code: str, message: str) -> Json:
        return {"pageId": self.page_id, "error": {"code": code, "message": message}}

    def _list(self) -> Json:
        listed = [
            {
                "conversationId": each.name,
                "latestMessageAtMs": each.latest_at_ms,
                "title": each.title,
                "contact": {
                    "aliId": f"ali-{each.name}",
                    "profile": {"name": each.title, "country": "DE"},
                },
            }
            for each in self.truth.conversations.values()
        ]
        listed.sort(key=lambda each: -int(str(each["latestMessageAtMs"] or 0)))
        whole = len(listed)
        shown = listed if self.list_size is None else listed[: self.list_size]
        return {"conversations": shown, "isWhole": len(shown) == whole}

    def _history(self, name: str, body: Mapping[str, Any]) -> Json:
        """The newest rows at the cursor's time or before, as many as were asked for."""
        cursor, count = body.get("cursor"), int(body["count"])
        held = self.truth.conversations.get(name)
        rows = [
            row
            for row in (held.rows if held else [])
            if cursor is None or row["sentAtMs"] <= cursor
        ]
        shown = rows[-count:]
        if self.is_disordered:
            shown = self._random.sample(shown, len(shown))
        return {
            "observations": [dict(row) for row in shown],
            "reportedNext": None,
            "hasMore": len(rows) > count,
        }
