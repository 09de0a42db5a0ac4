"""Listening to a recorder in a browser, from one of the extension's own documents."""

from __future__ import annotations

from pathlib import Path

from extension_harness.browser import Browser
from extension_harness.tab import Page

RECORDER = Path(__file__).with_name("recorder.js")
_LISTEN = """
globalThis.heard = [];
globalThis.channel = new BroadcastChannel("bright.trace");
globalThis.channel.onmessage = ({ data }) => globalThis.heard.push(data);
true
"""
_TAKE = "globalThis.heard.splice(0)"


class Recording:
    """Hears every life of the worker that begins after it; close it in the end."""

    def __init__(self, browser: Browser) -> None:
        self._page: Page = browser.extension_page()
        self._page.evaluate(_LISTEN)
        self._lines: list[str] = []

    def lines(self) -> list[str]:
        """All that was heard so far."""
        self._lines += self._page.evaluate(_TAKE)
        return list(self._lines)

    def close(self) -> None:
        """Leaves."""
        self._page.close()
