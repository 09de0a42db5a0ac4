"""One recorded life of the real extension, lived again by the model.

The model is handed the recorded inputs, turn after turn. In each turn it has to
ask the same of the world, use as much chance, and of the store it has to find and leave
the same. Where the browser chose an order, the recording says which.
"""

from __future__ import annotations

import json
from collections import deque
from itertools import product

from extension_harness.model import effects as out
from extension_harness.model import events
from extension_harness.model.conformance.errors import DivergenceError
from extension_harness.model.conformance.order import Order
from extension_harness.model.conformance.picture import (
    Picture,
    as_json,
    copy_of,
    difference,
    picture,
    record_at,
)
from extension_harness.model.conformance.trace import RecordedLife, Turn
from extension_harness.model.disk import Disk
from extension_harness.model.steps import (
    Digest,
    Json,
    Local,
    OpenStore,
    Transact,
    Value,
)
from extension_harness.model.tasks import Task
from extension_harness.model.worker import ModelWorker
from storage_schema.onetalk.names import key_path_of

_UNDER_WAY = 5
"""Writes under way at a kill of which every choice of committed ones is tried."""
_KINDS: dict[type, str] = {
    out.StartTimer: "start",
    out.PageRequest: "ask",
    out.Reply: "reply",
    out.Connect: "connect",
    out.Send: "send",
    out.CloseSocket: "close",
}
_OUTGOING = tuple(_KINDS.values())


class ReplayedLife:
    """The model in the place of one life of the real worker."""

    def __init__(self, number: int, disk: Disk, order: Order) -> None:
        self._number = number
        self._order = order
        self._disk = disk
        self._worker: ModelWorker | None = None
        self._turn = 0
        self._came: Json = {"kind": "none"}
        self._effects: list[out.Effect] = []
        self._random: deque[float] = deque()
        self._names: deque[str] = deque()
        self._calls: dict[int, Json] = {}
        self._begun: dict[int, Json] = {}
        self._timers: dict[int, int] = {}
        self._sockets: dict[int, int] = {}
        self._questions: dict[int, int] = {}
        self._stopped: set[int] = set()
        self._unheard: set[int] = set()

    def live(self, life: RecordedLife) -> int:
        """Takes every turn; gives how many.

        Raises:
            DivergenceError: what the model did otherwise.
        """
        for turn in life.turns:
            self._take(turn)
            self._turn += 1
        return self._turn

    def killed(self, after: Picture) -> Disk:
        """The disk that it leaves: of writes under way some may have been committed."""
        tasks: list[Task] = []
        for entry in self._begun.values():
            at = [task for task in self._at(entry["verb"]) if task not in tasks]
            if entry["mode"] == "write" and len(tasks) < _UNDER_WAY:
                tasks += at[:1]
        for chosen in product((False, True), repeat=len(tasks)):
            disk = copy_of(self._disk)
            for task, is_committed in zip(tasks, chosen, strict=True):
                if is_committed and isinstance(task.step, Transact):
                    disk.run(task.step.call)
            if difference(picture(disk), after) is None:
                return _heir(self._disk, disk)
        return self._disk  # whoever looks at it next says what is different

    def _take(self, turn: Turn) -> None:
        for entry in turn.out:
            self._hear(entry)
        for came in turn.came:
            self._came = came
            self._handle(came)
            self._make_digests()
            self._pair_all(turn)
        self._compare(turn)

    def _make_digests(self) -> None:
        while digests := [t for t in self._runnable() if isinstance(t.step, Digest)]:
            for task in digests:
                self._advance(task)

    def _hear(self, entry: Json) -> None:
        """What the browser gave the real one in this turn."""
        match entry["kind"]:
            case "random":
                self._random.append(entry["value"])
            case "uuid":
                self._names.append(entry["value"])
            case "begin":
                self._begun[entry["transaction"]] = entry
            case "call":
                self._calls[entry["call"]] = entry
            case "closing" if entry["socket"] in self._sockets:
                self._wake(events.SocketClosing(self._sockets[entry["socket"]]))

    def _handle(self, came: Json) -> None:
        match came["kind"]:
            case "boot":
                self._boot()
            case "timer":
                self._timer(came["timer"])
            case "done":
                self._transaction(self._begun.pop(came["transaction"]), came)
            case "opened":
                self._advance(self._one(OpenStore, "open"))
            case "returned":
                self._returned(self._calls.pop(came["call"]), came["value"])
            case "answered":
                request = self._questions.pop(came["question"])
                self._effects += self._alive.page_answered(request, came["response"])
            case "message":
                self._message(came)
            case _:
                self._simple(came)

    def _simple(self, came: Json) -> None:
        socket = self._sockets.get(came.get("socket", 0), 0)
        match came["kind"]:
            case "alarm":
                self._wake(events.Alarm())
            case "configured":
                self._wake(events.LocalChanged(tuple(came["keys"])))
            case "open":
                self._wake(events.SocketOpened(socket))
            case "frame":
                self._wake(events.FrameReceived(socket, came["data"]))
            case "closed":
                self._wake(events.SocketClosed(socket, came["code"], came["reason"]))

    @property
    def _alive(self) -> ModelWorker:
        if self._worker is None:
            raise self._otherwise("it lives before its boot")
        return self._worker

    def _boot(self) -> None:
        def name() -> str:
            if not self._names:
                raise self._otherwise("it names what the real one did not")
            return self._names.popleft()

        self._worker = ModelWorker(
            self._disk,
            boot_id=name(),
            random=self._chance,
            now=lambda: int(self._came["nowMs"]),
            steady=lambda: float(self._came["steadyMs"]),
            new_id=name,
        )

    def _chance(self) -> float:
        if not self._random:
            raise self._otherwise("it leaves to chance what the real one did not")
        return self._random.popleft()

    def _wake(self, event: events.Event) -> None:
        self._effects += self._alive.wake(event)

    def _advance(self, task: Task) -> None:
        self._effects += self._alive.advance(task)

    def _runnable(self) -> list[Task]:
        return list(self._alive.runnable())

    def _at(self, verb: str) -> list[Task]:
        """Tasks that ask the store, or the browser, by this name; the first first."""
        if self._worker is None:
            return []
        return [
            task
            for task in self._runnable()
            if isinstance(task.step, Transact | Local) and task.step.name == verb
        ]

    def _one(self, kind: type, name: str) -> Task:
        for task in self._runnable():
            if isinstance(task.step, kind):
                return task
        raise self._otherwise(f"nothing of it waits for {name}")

    def _timer(self, real: int) -> None:
        timer = self._timers.pop(real)
        if timer in self._stopped:
            raise self._otherwise("it had stopped the timer that is due")
        self._effects += self._alive.timer(timer)

    def _message(self, came: Json) -> None:
        told, reply = came["told"], came["reply"]
        match told:
            case {"type": "page.hello", "pageId": page, "body": body}:
                tab, said = came["tab"], json.loads(body)
                self._wake(events.PageHello(reply, tab, page, said))
            case {"type": "page.observed", "pageId": page, "body": body}:
                tab, said = came["tab"], json.loads(body)
                self._wake(events.PageObserved(reply, tab, page, said))
            case {"type": "page.told", "body": body}:
                self._wake(events.PageTold(reply, json.loads(body)))
            case {"type": "page.gone", "pageId": page}:
                self._wake(events.PageGone(reply, came["tab"], page))
            case {"type": "page.troubles", "pageId": page, "body": body}:
                tab, said = came["tab"], json.loads(body)
                self._wake(events.PageTroubles(reply, tab, page, said))
            case {"to": "worker", "kind": "reconnect"}:
                self._wake(events.ReconnectAsked(reply))
            case {"to": "worker", "kind": "rebuild"}:
                scope = told["channelAccountId"], told["conversationId"]
                self._wake(events.RebuildAsked(reply, *scope))
            case _:
                self._unheard.add(reply)

    def _returned(self, call: Json, value: Value) -> None:
        """The browser's word on its small storage, alarms and tabs is believed."""
        disk = self._disk
        match call["name"]:
            case "storage.local.get":
                for key in call["given"][0]:
                    disk.local.pop(key, None)
                disk.local.update(value)
            case "storage.session.get":
                disk.session.update(value)
            case "alarms.get":
                disk.has_alarm = value is not None
            case "tabs.query":
                disk.tabs = [tab["id"] for tab in value]
        tasks = self._at(call["name"])
        if not tasks:
            raise self._otherwise(f"nothing of it asks for {call['name']}")
        self._advance(tasks[0])

    def _transaction(self, begun: Json, done: Json) -> None:
        verb = begun["verb"]
        if "error" in done:
            raise self._otherwise(f"the store failed: {done['error']}")
        tasks = self._at(verb)
        if not tasks:
            raise self._otherwise(f"nothing of it asks the store to {verb}")
        others: list[str] = []
        fitting: list[Task] = []
        for task in tasks:
            disk = copy_of(self._disk) if begun["mode"] == "write" else self._disk
            step = task.step
            found = as_json(disk.run(step.call)) if isinstance(step, Transact) else None
            other = self._other(disk, found, done)
            if other is None:
                fitting.append(task)
            else:
                others.append(other)
        if not fitting:
            raise self._otherwise(f"{verb}: {others[0]}")
        self._advance(fitting[self._order.choose(len(fitting))])

    def _other(self, disk: Disk, found: Value, done: Json) -> str | None:
        """How a verb's result or writes are others than the real one's."""
        if found != done["value"]:
            return f"found {found} instead of {done['value']}"
        left: dict[tuple[str, str], Value] = {}
        for store, kind, given in done["writes"]:
            key = given[key_path_of(store)] if kind == "put" else given
            left[store, key] = given if kind == "put" else None
        for (store, key), value in left.items():
            mine = disk.run(record_at(store, key))
            if mine != value:
                return f"left {mine} instead of {value}"
        return None

    def _compare(self, turn: Turn) -> None:
        """Both asked the same of the world in this turn."""
        for kind in _OUTGOING:
            mine, real = self._mine(kind), self._real(turn, kind)
            asked = [_words_of(each) for each in mine]
            expected = [_real_words_of(each) for each in real]
            if asked != expected:
                raise self._otherwise(f"{kind}: {asked} instead of {expected}")
        self._effects = []
        if self._random:
            raise self._otherwise("it left less to chance than the real one")

    def _mine(self, kind: str) -> list[Value]:
        return [each for each in self._effects if _KINDS.get(type(each)) == kind]

    def _real(self, turn: Turn, kind: str) -> list[Json]:
        return [
            entry
            for entry in turn.out
            if entry["kind"] == kind and entry.get("reply", 0) not in self._unheard
        ]

    def _pair_all(self, turn: Turn) -> None:
        """What was asked first by one is what was asked first by the other."""
        for effect in self._effects:
            if isinstance(effect, out.StopTimer):
                self._stopped.add(effect.timer)
        for kind in ("start", "ask", "connect"):
            pairs = zip(self._mine(kind), self._real(turn, kind), strict=False)
            for effect, entry in pairs:
                self._pair(effect, entry)

    def _pair(self, effect: Value, entry: Json) -> None:
        match entry["kind"]:
            case "start":
                self._timers[entry["timer"]] = effect.timer
            case "ask":
                self._questions[entry["question"]] = effect.request
            case "connect":
                self._sockets[entry["socket"]] = effect.socket

    def _otherwise(self, what: str) -> DivergenceError:
        came = json.dumps(self._came)[:300]
        return DivergenceError(what, self._number, self._turn, came)


def _heir(before: Disk, after: Disk) -> Disk:
    """The records of one disk, and what the browser keeps beside them."""
    after.local, after.session = before.local, before.session
    after.has_alarm, after.tabs = before.has_alarm, before.tabs
    return after


def _words_of(effect: Value) -> Value:
    match effect:
        case out.StartTimer(ms=ms):
            return ms
        case out.PageRequest(tab_id=tab, kind=kind, body=body):
            return tab, kind, as_json(body)
        case out.Reply(reply, answer):
            return reply, _plain(as_json(answer))
        case out.Connect(url=url):
            return url
        case out.Send(frame=frame):
            return as_json(frame)
        case out.CloseSocket(code=code):
            return code


def _real_words_of(entry: Json) -> Value:
    match entry["kind"]:
        case "start":
            return entry["ms"]
        case "ask":
            return entry["tab"], entry["asked"], entry["body"]
        case "reply":
            return entry["reply"], _plain(entry["value"])
        case "connect":
            return entry["url"]
        case "send":
            return entry["frame"]
        case "close":
            return entry["code"]


def _plain(answer: Value) -> Value:
    """An answer without the words of its fault, which no code depends on."""
    if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
        return {**answer, "error": answer["error"].get("code")}
    return answer
