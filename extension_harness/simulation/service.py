"""The messaging service behind the simulated pages: what it shows when it is asked."""

from __future__ import annotations

from random import Random

from extension_harness.simulation.tab import Asked, Tab
from extension_harness.simulation.truth import Row, Truth


class Service:
    """Answers from the truth; with `rng`, its rows come in any order."""

    def __init__(self, truth: Truth, rng: Random | None) -> None:
        self._truth = truth
        self._rng = rng

    def answer(self, tab: Tab, asked: Asked) -> Row:
        """Return what a page answers, as the service has it now."""
        if asked.kind == "describe":
            return {"channelAccountId": tab.account, "route": "#/"}
        if asked.kind == "conversations":
            rows = [each.listed() for each in self._truth.of(tab.account)]
            return {
                "channelAccountId": tab.account,
                "conversations": self.shown(rows),
                "isWhole": True,
            }
        place = self._truth.conversations[tab.account, asked.body["conversationId"]]
        rows, has_more = place.page(asked.body["cursor"], asked.body["count"])
        page = {
            "observations": self.shown(rows),
            "reportedNext": None,
            "hasMore": has_more,
        }
        return {"channelAccountId": tab.account, "page": page}

    def shown(self, rows: list[Row]) -> list[Row]:
        """Return the rows as a page shows them: the list, maybe reordered."""
        if self._rng is not None:
            self._rng.shuffle(rows)
        return rows
