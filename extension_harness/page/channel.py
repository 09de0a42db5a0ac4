"""The line between the server and the open pages: events out, reports in.

It stands in for the page's own real-time channel, so that live messages reach the
page's event bus, list and document whichever surfaces are switched on. Each page has a
bounded queue; a page that does not read is closed and comes back by itself.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from starlette.websockets import WebSocket, WebSocketDisconnect

from extension_harness.page.dialects.spelling import JsonObject
from extension_harness.page.state import PageState
from extension_harness.page.truth import Message

QUEUE_LIMIT = 2_000
AWAITED_LIMIT = 10_000


@dataclass(eq=False, slots=True)
class OpenPage:
    """One open page: what is to be sent to it, and whether its boot is over."""

    queue: asyncio.Queue[str | None] = field(
        default_factory=lambda: asyncio.Queue(QUEUE_LIMIT)
    )
    ready: bool = False


class Channel:
    """Every open page of one server. `broadcast` may be called from any thread."""

    def __init__(self, state: PageState) -> None:
        self._state = state
        self._pages: set[OpenPage] = set()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._changed = threading.Condition()
        self._awaited: OrderedDict[int, Message] = OrderedDict()
        self._emissions = 0

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take the loop in which the pages are served."""
        self.loop = loop

    def ready_pages(self) -> int:
        """Return how many open pages have finished their boot."""
        with self._changed:
            return sum(page.ready for page in self._pages)

    def open_pages(self) -> int:
        """Return how many pages are open, their boot finished or not."""
        with self._changed:
            return len(self._pages)

    def wait_ready(self, count: int, seconds: float) -> bool:
        """Wait until `count` pages are open and ready; False when time is over."""
        with self._changed:
            return self._changed.wait_for(lambda: self.ready_pages() >= count, seconds)

    def wait_closed(self, seconds: float) -> bool:
        """Wait until no page is open; False when time is over."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pages, seconds)

    def emission(self, row: Message) -> int:
        """Return a number under which a page reports that it emitted `row`."""
        with self._changed:
            self._emissions += 1
            self._awaited[self._emissions] = row
            if len(self._awaited) > AWAITED_LIMIT:
                self._awaited.popitem(last=False)
            return self._emissions

    def broadcast(self, command: JsonObject) -> None:
        """Send a command to every open page; none open: it is gone."""
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._send, json.dumps(command))

    def _send(self, text: str) -> None:
        for page in self._pages:
            try:
                page.queue.put_nowait(text)
            except asyncio.QueueFull:
                page.queue.get_nowait()
                page.queue.put_nowait(None)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one page until it goes."""
        await socket.accept()
        page = OpenPage()
        self._change(page, present=True)
        sender = asyncio.create_task(self._deliver(page, socket))
        try:
            while True:
                self._report(page, await socket.receive_text())
        except WebSocketDisconnect:
            pass
        finally:
            sender.cancel()
            self._change(page, present=False)

    def _change(self, page: OpenPage, *, present: bool) -> None:
        with self._changed:
            (self._pages.add if present else self._pages.discard)(page)
            self._changed.notify_all()

    async def _deliver(self, page: OpenPage, socket: WebSocket) -> None:
        while (text := await page.queue.get()) is not None:
            await socket.send_text(text)
        await socket.close(1013)

    def _report(self, page: OpenPage, text: str) -> None:
        report = json.loads(text)
        if report.get("type") == "ready":
            with self._changed:
                page.ready = True
                self._changed.notify_all()
        if report.get("type") == "emitted":
            row = self._awaited.get(int(report.get("emission", 0)))
            if row is not None and row.fault is None:
                self._state.ledger.served("emitter", [row], self._state.now_ms())
