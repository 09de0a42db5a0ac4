"""One model extension in real time: its disk, its page, and one life after another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from extension_harness.load.link import Link
from extension_harness.model import effects as out
from extension_harness.model import events
from extension_harness.model.apart import Apart
from extension_harness.model.disk import Disk
from extension_harness.model.page import ModelPage
from extension_harness.model.steps import Json
from extension_harness.model.tasks import Task
from extension_harness.model.truth import Truth
from extension_harness.model.worker import ModelWorker

TAB = 1
REST_SECONDS = 0.5
"""A killed worker comes back within so long, at its alarm or its page's next word."""


@dataclass(frozen=True)
class Place:
    """Where an extension works: Bright's address, its token, its account."""

    url: str
    token: str
    account: str
    settings: Json


class LiveExtension:
    """Runs a model extension; `kill` may come at any time, and ends one life.

    `step_kills` is the chance that a life ends at a step: before it, or after it and
    before anything came of it.
    """

    def __init__(
        self,
        place: Place,
        random: Random,
        *,
        alarm_seconds: float,
        step_kills: float = 0.0,
    ) -> None:
        self.truth = Truth(place.account)
        self.disk = Disk(
            {
                "serverUrl": place.url,
                "bindingToken": place.token,
                "settings": place.settings,
            }
        )
        self.disk.tabs = [TAB]
        self.kills = 0
        self.frames = 0
        self.step_kills = step_kills
        self._random = random
        self._alarm_seconds = alarm_seconds
        self._pages = 0
        self.page = self._new_page()
        self._worker: ModelWorker | None = None
        self._link: Link | None = None
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._handles: set[asyncio.TimerHandle] = set()
        self._tellers: dict[int, ModelPage | Apart] = {}
        self._is_stepping = False
        self._replies = 0

    def start(self) -> None:
        """The first life."""
        self._begin()

    def stop(self) -> None:
        """The end; nothing is left running."""
        self._end_life()

    def reload_page(self) -> None:
        """Another page in the tab: what the last one had not told yet is lost."""
        self.page = self._new_page()
        self._converse()

    def show(self, row: Json) -> None:
        """The page shows a message live."""
        self.page.saw(row)
        self._converse()

    def tell(self, ledger: str, entry: Json) -> None:
        """The page shows a card, or what it knows of a buyer."""
        self.page.apart.tell(ledger, [entry])
        self._converse()

    def kill(self) -> None:
        """The worker dies here; only the disk stays. It comes back before long."""
        if self._worker is None:
            return
        self.kills += 1
        self._end_life()
        self._later(self._random.random() * REST_SECONDS, self._begin)

    def _new_page(self) -> ModelPage:
        self._pages += 1
        return ModelPage(
            self.truth, tab_id=TAB, page_id=f"page-{self._pages}", random=self._random
        )

    def _begin(self) -> None:
        self._worker = ModelWorker(
            self.disk,
            boot_id=f"{self._random.getrandbits(64):016x}",
            random=self._random.random,
            now=_now_ms,
        )
        self._do(self._worker.wake(events.Alarm()))
        self._ring()
        self._converse()

    def _end_life(self) -> None:
        self._worker = None
        for timer in (*self._timers.values(), *self._handles):
            timer.cancel()
        self._timers.clear()
        self._handles.clear()
        if self._link is not None:
            self._link.drop()
            self._link = None
        self._tellers.clear()
        self.page.replied(None)
        self.page.apart.replied(None)

    def _ring(self) -> None:
        """The alarm, as long as it is set."""
        if self._worker is not None:
            self._later(self._alarm_seconds, self._alarm)

    def _alarm(self) -> None:
        if self._worker is not None and self.disk.has_alarm:
            self._do(self._worker.wake(events.Alarm()))
        self._ring()

    def _converse(self) -> None:
        """The content script tells its next message."""
        if self._worker is None:
            return
        self._replies += 1
        message = self.page.next_message(self._replies)
        if message is not None:
            self._tellers[self._replies] = self.page
            self._do(self._worker.wake(message))
        self._replies += 1
        told = self.page.apart.next_message(self._replies)
        if told is not None:
            self._tellers[self._replies] = self.page.apart
            self._do(self._worker.wake(told))

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        """Something of this life, or of the rest after it."""

        def due() -> None:
            self._handles.discard(handle)
            call()

        handle = asyncio.get_running_loop().call_later(seconds, due)
        self._handles.add(handle)

    def _step(self) -> None:
        """One step of any task; the next one after whatever else waits."""
        self._is_stepping = False
        worker = self._worker
        runnable = worker.runnable() if worker else ()
        if worker is None or not runnable:
            return
        task = self._random.choice(runnable)
        if self._random.random() < self.step_kills:
            self._die_at(worker, task)
        else:
            self._do(worker.advance(task))

    def _die_at(self, worker: ModelWorker, task: Task) -> None:
        if self._random.random() < 0.5:
            worker.advance(task)  # committed, and nothing came of it
        self.kill()

    def _do(self, effects: list[out.Effect]) -> None:
        for effect in effects:
            self._perform(effect)
        if not self._is_stepping and self._worker and self._worker.runnable():
            self._is_stepping = True
            asyncio.get_running_loop().call_soon(self._step)

    def _perform(self, effect: out.Effect) -> None:
        match effect:
            case out.Connect(socket, url):
                self._link = Link(socket, url, self._happened)
            case out.Send(frame=frame) if self._link is not None:
                self.frames += 1
                self._link.send(frame)
            case out.CloseSocket(code=code) if self._link is not None:
                self._link.close(code)
                self._link = None
            case out.StartTimer(timer, ms):
                self._start_timer(timer, ms)
            case out.StopTimer(timer):
                self._timers.pop(timer).cancel()
            case out.PageRequest():
                self._later(self._random.random() * 0.01, self._answering(effect))
            case out.Reply(reply, answer):
                teller = self._tellers.pop(reply)
                self._later(teller.replied(answer) / 1000, self._converse)

    def _happened(self, event: events.Event) -> None:
        if isinstance(event, events.SocketClosed):
            self._link = None
        if self._worker is not None:
            self._do(self._worker.wake(event))

    def _start_timer(self, timer: int, ms: float) -> None:
        def due() -> None:
            self._timers.pop(timer, None)
            if self._worker is not None:
                self._do(self._worker.timer(timer))

        loop = asyncio.get_running_loop()
        self._timers[timer] = loop.call_later(ms / 1000, due)

    def _answering(self, asked: out.PageRequest) -> Callable[[], None]:
        page = self.page

        def answer() -> None:
            if self._worker is None:
                return
            # A page that was reloaded meanwhile answers nothing.
            is_same = page is self.page
            response = page.answer(asked.kind, asked.body) if is_same else None
            self._do(self._worker.page_answered(asked.request, response))

        return answer


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
