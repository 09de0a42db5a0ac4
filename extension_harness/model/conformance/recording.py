"""Listening to a recorder in a browser, from one of the extension's own documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

RECORDER = Path(__file__).with_name("recorder.js")
_LISTEN = """
globalThis.heard = [];
globalThis.channel = new BroadcastChannel("bright.trace");
globalThis.channel.onmessage = ({ data }) => globalThis.heard.push(data);
true
"""
_TAKE = "globalThis.heard.splice(0)"


class Document(Protocol):
    """One of the extension's own documents, open in a browser; `tab.Page` is one."""

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - a JSON value
        """JavaScript in the document; gives what it comes to."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class Recording:
    """Hears every life of the worker that begins after it; close it in the end."""

    def __init__(self, page: Document) -> None:
        self._page = page
        self._page.evaluate(_LISTEN)
        self._lines: list[str] = []

    def lines(self) -> list[str]:
        """All that was heard so far."""
        self._lines += self._page.evaluate(_TAKE)
        return list(self._lines)

    def close(self) -> None:
        """Leaves."""
        self._page.close()
