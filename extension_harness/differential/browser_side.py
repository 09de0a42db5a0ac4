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

from extension_harness.browser import Browser
from extension_harness.differential.forms import Outcome, Script
from extension_harness.tab import Page

PARTS = {
    "taggedValues": "tagged_values.js",
    "opRequests": "op_requests.js",
    "opScripts": "op_scripts.js",
}
LANES = 6
"""Scripts that run side by side in the document."""
CALL_SECONDS = 120.0


def injected(name: str) -> str:
    """The expression that a file of ``injected/`` is."""
    found = files("extension_harness").joinpath(f"injected/{name}").read_text("utf-8")
    return found.rstrip().removesuffix(";")


class BrowserSide:
    """Runs op-scripts in a tab of its own; use it as a context manager."""

    def __init__(self, browser: Browser) -> None:
        """Open the tab and bring the runner into it."""
        self._page = browser.extension_page()
        # Never the names of a document that crashed and still holds its databases.
        self._prefix = f"differential-{secrets.token_hex(4)}"
        self._calls = itertools.count()
        install(self._page, PARTS)

    def __enter__(self) -> BrowserSide:
        return self

    def __exit__(self, *_: object) -> None:
        self._page.close()

    def run(self, scripts: Sequence[Script]) -> list[Outcome]:
        """What Chromium gives for each; ``{"error": …}`` for a script it cannot read."""
        told = self._page.evaluate(
            "(scripts, prefix, lanes) => opScripts.runAll(scripts, prefix, lanes)",
            list(scripts),
            f"{self._prefix}-{next(self._calls)}-",
            LANES,
            timeout=CALL_SECONDS,
        )
        outcomes: list[Outcome] = json.loads(told)
        return outcomes


def install(page: Page, parts: dict[str, str]) -> None:
    """Make each injected file a global of the document, in this order."""
    for name, file in parts.items():
        page.evaluate(f"void (globalThis.{name} ??= {injected(file)})")
