"""A browser with the extension in it: disk, worker's life, tabs and socket.

The worker is the model of `extension_harness.model`; here is what a browser does for
it. What it asks for is carried out at once where a browser cannot fail to, and else
becomes something that the scheduler lets happen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from extension_harness.model.disk import Disk
from extension_harness.model.effects import (
    ClearAlarm,
    CloseSocket,
    Connect,
    Effect,
    PageRequest,
    Reply,
    Send,
    SetAlarm,
    StartTimer,
    StopTimer,
)
from extension_harness.model.events import (
    Alarm,
    Event,
    FrameReceived,
    LocalChanged,
    SocketClosed,
    SocketOpened,
    Started,
)
from extension_harness.model.steps import Step
from extension_harness.model.tasks import Task
from extension_harness.model.worker import ModelWorker
from extension_harness.simulation.clock import SteadyTime, WallClock
from extension_harness.simulation.network import Closing, Item, Link, Text
from extension_harness.simulation.tab import Asked, Tab
from extension_harness.simulation.truth import Row

ALARM_MS = 30_000
IDLE_MS = 30_000
"""A worker that hears nothing for so long is ended by its browser (field note L1)."""

SETTINGS: dict[str, Any] = {
    "historyPaceMs": 50,
    "historyPageSize": 2,
    "historyMaxPageSize": 16,
    "maxBatchMessages": 3,
    "listRefreshMs": 60_000,
}
"""Small pages and batches, so that a handful of messages is many steps."""


_IDLE_STEPS = frozenset({"alarms.get"})
"""Steps that only look, and whose moment nobody can tell from another."""


def _name_of(task: Task) -> str:
    return str(getattr(task.step, "name", ""))


class DeviceWatch(Protocol):
    """Is told what a device does, as it does it."""

    def worker_sends(self, device: Device, frame: Row) -> None:
        """A frame is handed to the socket; the disk is as it is at that moment."""
        ...

    def page_told(self, device: Device, body: Row) -> None:
        """A page was told that what it saw is stored."""
        ...

    def transacted(self, device: Device, name: str) -> None:
        """A transaction of the worker is over."""
        ...


class DevicePlant(Protocol):
    """A planted bug, as far as it changes what a device does."""

    def effect(self, device: Device, effect: Effect) -> Effect:
        """Change what a worker asks for."""
        ...

    def step(self, device: Device, step: Step | None) -> Step | None:
        """Change a step of a worker's task before it is done."""
        ...

    def answered(self, device: Device, body: Row, answer: Row) -> None:
        """Hear what a page answers to a question for history."""
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells a device from the others."""

    number: int
    seed: int
    accounts: tuple[str, ...]


class Device:
    """One browser profile."""

    def __init__(
        self,
        identity: Identity,
        steady: SteadyTime,
        watch: DeviceWatch,
        new_link: Callable[[int], Link],
    ) -> None:
        self.number = identity.number
        self.accounts = identity.accounts
        self.wall = WallClock(steady)
        self.disk = Disk(
            {
                "serverUrl": "ws://bright",
                "bindingToken": "",
                "deviceId": f"device-{identity.number}",
                "settings": SETTINGS,
            }
        )
        self.tabs: list[Tab] = []
        self.worker: ModelWorker | None = None
        self.is_running = False
        self.boots = 0
        self.timers: dict[int, tuple[float, int]] = {}
        self.alarm_at_ms: int | None = None
        self.heard_at_ms = 0
        self.links: dict[int, Link] = {}
        self._seed = identity.seed
        self._steady = steady
        self._watch = watch
        self._new_link = new_link
        self._pages = 0
        self._replies = 0
        self._timer_order = 0
        self.plant: DevicePlant | None = None

    # Its life.

    def start_browser(self) -> None:
        """Open the browser with a tab for each account."""
        self.is_running = True
        for account in self.accounts:
            self.open_tab(account)
        self.happen(Started())

    def kill_browser(self, *, delivers: bool) -> None:
        """Kill it with all that is not on its disk."""
        self.kill_worker(delivers=delivers)
        self.is_running = False
        self.alarm_at_ms = None
        self.tabs = []
        self.disk = self.disk.killed_browser()

    def kill_worker(self, *, delivers: bool) -> None:
        """End the worker; its sockets end with it, its tabs hear no answer."""
        self.worker = None
        self.timers.clear()
        for link in self.links.values():
            if link.is_client_open:
                link.end_client(delivers=delivers)
        self.links.clear()
        now_ms = self._steady.now_ms
        for tab in self.tabs:
            tab.asked.clear()
            if tab.waits_for is not None:
                tab.unheard(now_ms)

    def open_tab(self, account: str) -> None:
        """Open a page of an account in a new tab."""
        self._pages += 1
        tab = Tab(self._pages, f"page-{self.number}-{self._pages}", account)
        self.tabs.append(tab)
        self._show_tabs()

    def reload_tab(self, tab: Tab) -> None:
        """Load a page anew: what it had not told yet is lost."""
        self._pages += 1
        index = self.tabs.index(tab)
        fresh = Tab(tab.tab_id, f"page-{self.number}-{self._pages}", tab.account)
        self.tabs[index] = fresh
        for asked in tab.asked:
            self.carry_out(self._awake().page_answered(asked.request, None))

    def close_tab(self, tab: Tab) -> None:
        """Close a tab."""
        self.tabs.remove(tab)
        self._show_tabs()
        for asked in tab.asked:
            self.carry_out(self._awake().page_answered(asked.request, None))

    # What happens to the worker.

    def happen(self, event: Event) -> None:
        """Let something reach the worker; a dead one is started for it."""
        worker = self._awake()
        self.heard_at_ms = self._steady.now_ms
        self.carry_out(worker.wake(event))

    def runnable(self) -> Sequence[Task]:
        """Return what the worker could do now, but what can change nothing is done."""
        if self.worker is None:
            return ()
        tasks = self.worker.runnable()
        for task in tasks:
            if _name_of(task) in _IDLE_STEPS:
                self.carry_out(self.worker.advance(task))
                return self.runnable()
        return tasks

    def advance(self, task: Task) -> None:
        """Let one task do its next step."""
        worker = self._awake()
        name = _name_of(task)
        if self.plant is not None:
            task.step = self.plant.step(self, task.step)
        effects = worker.advance(task)
        self._watch.transacted(self, name)
        self.carry_out(effects)

    def ring(self) -> None:
        """Let the alarm ring; it rings again."""
        self.alarm_at_ms = self._steady.now_ms + ALARM_MS
        self.happen(Alarm())

    def fire(self, timer: int) -> None:
        """Let a timer be due."""
        del self.timers[timer]
        self.carry_out(self._awake().timer(timer))

    def speak(self, tab: Tab) -> None:
        """Let a tab say the next thing."""
        self._replies += 1
        self.happen(tab.speak(self._replies))

    def answer(self, tab: Tab, asked: Asked, answer: Row | None) -> None:
        """Let a tab answer a question; None: it fails to."""
        tab.asked.remove(asked)
        if answer is not None and asked.kind == "history" and self.plant is not None:
            self.plant.answered(self, asked.body, answer)
        fault = {"code": "page_failed", "message": "the page failed"}
        word = {"error": fault} if answer is None else {"answer": answer}
        response = {"pageId": tab.page_id, **word}
        self.heard_at_ms = self._steady.now_ms
        self.carry_out(self._awake().page_answered(asked.request, response))

    def arrive(self, link: Link, item: Item) -> None:
        """Let what was on the way reach the worker's end of a socket."""
        socket = self.socket_of(link)
        if isinstance(item, Closing):
            link.is_client_open = False
            if socket is not None:
                del self.links[socket]
                self.happen(SocketClosed(socket, item.code, item.reason))
        elif socket is not None:
            self.happen(FrameReceived(socket, json.loads(item.text)))

    def opened(self, link: Link) -> None:
        """Let the worker know that a handshake has succeeded."""
        socket = self.socket_of(link)
        if socket is not None:
            self.happen(SocketOpened(socket))

    def configure(self, token: str) -> None:
        """Let the user enter another token, in the options page."""
        self.disk.local |= {"bindingToken": token, "stop": None}
        if self.is_running:
            self.happen(LocalChanged(("bindingToken", "stop")))

    def socket_of(self, link: Link) -> int | None:
        """Return the worker's own name of a connection, if it still has it."""
        return next((s for s, each in self.links.items() if each is link), None)

    # What the worker asks for.

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Do what the worker has asked of the browser, in its order."""
        for effect in effects:
            self._carry_out(self.plant.effect(self, effect) if self.plant else effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Connect(socket=socket):
                self.links[socket] = self._new_link(self.number)
            case Send(socket=socket, frame=frame):
                link = self.links.get(socket)
                if link is not None and link.is_client_open:
                    self._watch.worker_sends(self, dict(frame))
                    link.send("up", Text(json.dumps(frame)))
            case CloseSocket(socket=socket, code=code):
                link = self.links.pop(socket, None)
                if link is not None and link.is_client_open:
                    link.is_client_open = False
                    link.down.clear()
                    link.send("up", Closing(code))
            case PageRequest(request=request, tab_id=tab_id, kind=kind, body=body):
                self._ask(Asked(request, kind, dict(body)), tab_id)
            case Reply(reply=reply, answer=answer):
                self._reply(reply, dict(answer))
            case SetAlarm() | ClearAlarm():
                self._set_alarm(is_wanted=isinstance(effect, SetAlarm))
            case StartTimer(timer=timer, ms=ms):
                self._timer_order += 1
                self.timers[timer] = (self._steady.now_ms + ms, self._timer_order)
            case StopTimer(timer=timer):
                self.timers.pop(timer, None)

    def _set_alarm(self, *, is_wanted: bool) -> None:
        if not is_wanted:
            self.alarm_at_ms = None
        elif self.alarm_at_ms is None:
            self.alarm_at_ms = self._steady.now_ms + ALARM_MS

    def _ask(self, asked: Asked, tab_id: int) -> None:
        for tab in self.tabs:
            if tab.tab_id == tab_id:
                tab.asked.append(asked)
                return
        self.carry_out(self._awake().page_answered(asked.request, None))

    def _reply(self, reply: int, answer: Row) -> None:
        for tab in self.tabs:
            if tab.waits_for == reply:
                body = tab.answered(answer, self._steady.now_ms)
                if body is not None:
                    self._watch.page_told(self, body)

    def _awake(self) -> ModelWorker:
        if self.worker is None:
            self.boots += 1
            self.heard_at_ms = self._steady.now_ms
            self.worker = ModelWorker(
                self.disk,
                boot_id=f"{self.number:02d}{self.boots:06d}-boot",
                random=Random(f"{self._seed}/{self.number}/{self.boots}").random,  # noqa: S311
                now=self.wall.now_ms,
                steady=lambda: self._steady.now_ms,
            )
        return self.worker

    def _show_tabs(self) -> None:
        self.disk.tabs = [tab.tab_id for tab in self.tabs]
