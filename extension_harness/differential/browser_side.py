"""The browser's side: scripts run in Chromium's IndexedDB, in the extension's origin.

One document runs them all, many in one call and a few side by side, each over databases
of its own that are deleted after it.
"""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from extension_harness.browser import Browser
from extension_harness.differential.forms import History, Outcome, Script, settled

PARTS = {
    "taggedValues": "tagged_values.js",
    "opRequests": "op_requests.js",
    "opScripts": "op_scripts.js",
    "storeHistories": "store_histories.js",
}
LANES = 12
"""Cases that run side by side in the document."""
CALL_SECONDS = 120.0


class BrowserSide:
    """Runs cases in a tab of its own; use it as a context manager."""

    def __init__(self, browser: Browser) -> None:
        """Open the tab and bring the runners into it."""
        # Never the names of a document that crashed and still holds its databases.
        self._prefix = f"differential-{secrets.token_hex(4)}"
        self._calls = itertools.count()
        self._page = browser.extension_page()
        for name, file in PARTS.items():
            self._page.evaluate(f"void (globalThis.{name} ??= {_injected(file)})")

    def __enter__(self) -> BrowserSide:
        return self

    def __exit__(self, *_: object) -> None:
        self._page.close()

    def run_scripts(self, scripts: Sequence[Script]) -> list[Outcome]:
        """What Chromium gives for each; ``{"error": …}`` where it cannot be run."""
        return self._run("opScripts", list(scripts))

    def run_histories(self, histories: Sequence[History]) -> list[Outcome]:
        """What the extension's own store does in each."""
        outcomes = self._run("storeHistories", list(histories))
        return [settled(outcome) for outcome in outcomes]

    def _run(self, runner: str, cases: list[Any]) -> list[Outcome]:
        told = self._page.evaluate(
            f"(cases, prefix, lanes) => {runner}.runAll(cases, prefix, lanes)",
            cases,
            f"{self._prefix}-{next(self._calls)}-",
            LANES,
            timeout=CALL_SECONDS,
        )
        outcomes: list[Outcome] = json.loads(told)
        return outcomes


def _injected(name: str) -> str:
    """The expression that a file of ``injected/`` is."""
    found = files("extension_harness").joinpath(f"injected/{name}").read_text("utf-8")
    return found.rstrip().removesuffix(";")
