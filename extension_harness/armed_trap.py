"""Sets a trap in the service worker and kills it where it stands.

While a trap is set the harness attaches to each life of the worker, holds it before its
first line, wraps the points in its globals (the extension's files stay as they are) and
waits for the ``debugger`` statement that the wrapper reaches. The worker then stands
still for as long as the test wants. Meanwhile it does not die of idleness; afterwards
it is detached again.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, Literal, Protocol

from extension_harness.devtools.cdp import DevTools, Json, ProtocolEvent
from extension_harness.devtools.evaluation import evaluate
from extension_harness.devtools.service_workers import visit
from extension_harness.errors import (
    DevToolsClosedError,
    DevToolsError,
    EvaluationError,
    TrapNotHitError,
)
from extension_harness.timeline import Timeline
from extension_harness.traps import Hit, Trap
from extension_harness.waiting import countdown, wait_until

Action = Literal["kill", "hold"] | Callable[[], object]
SCRIPT = files("extension_harness").joinpath("injected/trap.js").read_text("utf-8")
FILTER = [{"type": "service_worker"}]
EVENTS = frozenset(
    {"Target.attachedToTarget", "Debugger.paused", "Inspector.targetCrashed"}
)
EVENT_LIMIT = 10_000
KILL_SECONDS = 20.0
STARTED_SECONDS = 10.0
ARM_SECONDS = 40.0
ANSWER_SECONDS = 20.0
"""What the worker may take to answer on a machine with more to do than processors."""


class TrappedWorker(Protocol):
    """The worker that a trap is set for; `Worker` is one."""

    script_url: str

    def target(self) -> Json | None:
        """Its target as the browser tells it, or None while it is stopped."""
        ...

    def stop(self) -> None:
        """End this life at once; no error when it is stopped."""
        ...


class ArmedTrap:
    """A trap that is set; made by `Worker.trap`, used as a context manager.

    Fires once. Leaving the block waits for an action that has begun, raises what it
    raised unless `wait` did, and lets a worker that still stands there go on.
    """

    def __init__(
        self,
        trap: Trap,
        action: Action,
        worker: TrappedWorker,
        devtools_url: str,
        timeline: Timeline,
    ) -> None:
        """Connect by a connection of its own: only its own sessions are seen there."""
        self.trap = trap
        self._action = action
        self._worker = worker
        self._devtools = DevTools(devtools_url)
        self._lock = threading.Lock()  # over leaving and firing: one of them is first
        self._leaving = False
        self._told = False
        self._timeline = timeline
        self._events: queue.Queue[ProtocolEvent | None] = queue.Queue(EVENT_LIMIT)
        self._held: dict[str, str] = {}  # session → target id, of every attachment
        self._sessions: dict[str, str] = {}  # those of them that are this worker's
        self._armed: set[str] = set()  # sessions with the wrappers in place
        self._hit: Hit | None = None
        self._standing: str | None = None
        self._failure: BaseException | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="trap", daemon=True)

    def __enter__(self) -> "ArmedTrap":
        try:
            self._arm()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(
        self, _type: object = None, error: BaseException | None = None, *_: object
    ) -> None:
        with self._lock:
            self._leaving = True
            fired = self._hit is not None
        if fired:  # its action is under way, or done: a kill cut short would not kill
            self._done.wait(KILL_SECONDS + ANSWER_SECONDS)
        self._done.set()
        self._take_down()
        if error is None and self._failure is not None and not self._told:
            self._told = True
            raise self._failure

    def _take_down(self) -> None:
        with contextlib.suppress(DevToolsError):
            self.release()
            self._disarm()
        self._events.put(None)
        self._thread.join(timeout=KILL_SECONDS + ANSWER_SECONDS)
        self._devtools.close()  # and with it every session that may be left

    def _arm(self) -> None:
        running = self._worker.target()
        self._devtools.listen(self._offer)
        self._thread.start()
        self._auto_attach(on=True)
        if running is not None:
            target = running["targetId"]
            # This life must be armed, or over, before the test goes on.
            wait_until(
                lambda: self._settled(target),
                ARM_SECONDS,
                f"the worker's wrappers: {self.trap}",
            )

    @property
    def hit(self) -> Hit | None:
        """What it hit, None while it has not."""
        return self._hit

    def wait(self, timeout: float = 45.0) -> Hit:
        """Wait until it was hit and its action is done.

        Raises TrapNotHitError, or what the action raised.
        """
        if not self._done.wait(timeout) and self._failure is None:
            raise TrapNotHitError(
                str(self.trap), timeout, f"{len(self._armed)} lives armed"
            )
        if self._failure is not None:
            self._told = True
            raise self._failure
        if self._hit is None:
            raise TrapNotHitError(str(self.trap), timeout)
        return self._hit

    def release(self) -> None:
        """Let a worker that stands at the trap go on as if nothing had been."""
        session, self._standing = self._standing, None
        if session is None:
            return
        with contextlib.suppress(DevToolsError, EvaluationError):
            self._run(session, "harnessTrap.disarm()")
            self._devtools.call("Debugger.resume", session=session)
            self._timeline.record("trap.release", point=str(self.trap))

    def kill(self) -> None:
        """Kill the worker where it stands."""
        session, self._standing = self._standing, None
        target = self._sessions.get(session or "")
        if session is None or target is None:
            self._worker.stop()
            return
        self._await_started()
        self._timeline.record("worker.kill", method="trap", target=target)
        with self._devtools.subscribe("Inspector.targetCrashed") as crashes:
            # Asked for first, it ends the script in the moment that the closing ends
            # the pause; alone, the closing takes two seconds more.
            self._devtools.post("Runtime.terminateExecution", session=session)
            # Its answer never comes; the answer to this one says that it was taken.
            self._devtools.call(
                "Debugger.setBreakpointsActive", {"active": True}, session=session
            )
            self._devtools.call("Target.closeTarget", {"targetId": target})
            left = countdown(KILL_SECONDS)
            while crashes.get(left()).session_id != session:
                pass
        self._let_go(session)  # as `let_go_of`

    def let_go_of(self, target: str) -> None:
        """Detach from a life that has ended, from whatever thread ended it.

        Held by a session, the next life would be taken for the same target and would
        start without its wrappers.
        """
        for session, held in list(self._held.items()):
            if held == target:
                self._let_go(session)

    def _await_started(self) -> None:
        # The browser starts a worker that is killed while it counts as starting once
        # more by itself. One that stands in its first script counts so for ever.
        with contextlib.suppress(DevToolsError), visit(self._devtools) as domain:
            domain.version(
                self._worker.script_url,
                STARTED_SECONDS,
                lambda it: it.running_status == "running",
            )

    def _offer(self, event: ProtocolEvent) -> None:
        if event.method == "Target.attachedToTarget":
            target = event.params["targetInfo"]["targetId"]
            self._held[str(event.params["sessionId"])] = str(target)
        if event.method in EVENTS:
            with contextlib.suppress(queue.Full):
                self._events.put_nowait(event)

    def _serve(self) -> None:
        while (event := self._events.get()) is not None:
            try:
                self._handle(event)
            except (DevToolsError, EvaluationError) as error:
                # A life that ends while it is being armed is no failure: the next one
                # comes.
                self._timeline.record("trap.skipped", reason=str(error)[:200])

    def _handle(self, event: ProtocolEvent) -> None:
        if event.method == "Target.attachedToTarget":
            info = event.params["targetInfo"]
            session = str(event.params["sessionId"])
            if info["type"] == "service_worker":
                self._take(session, info, waiting=event.params["waitingForDebugger"])
        elif event.session_id in self._sessions:
            session = str(event.session_id)
            if event.method == "Inspector.targetCrashed":
                self._let_go(session)  # as `let_go_of`
            else:
                self._paused(session, event.params)

    def _take(self, session: str, info: Mapping[str, Any], *, waiting: bool) -> None:
        mine = info["url"] == self._worker.script_url
        if not mine or self._hit is not None or self._leaving:
            if waiting:
                self._devtools.call("Runtime.runIfWaitingForDebugger", session=session)
            self._let_go(session)
            return
        self._sessions[session] = str(info["targetId"])
        try:
            self._wrap(session, waiting=waiting)
        except BaseException:
            self._let_go(session)  # or a life that waits would wait for ever
            raise

    def _wrap(self, session: str, *, waiting: bool) -> None:
        self._devtools.call("Debugger.enable", session=session)
        if not waiting:
            self._install(session)
            return
        # `chrome` exists only as the first script begins: that is where to wrap.
        self._devtools.call(
            "Debugger.setInstrumentationBreakpoint",
            {"instrumentation": "beforeScriptExecution"},
            session=session,
        )
        self._devtools.call("Runtime.runIfWaitingForDebugger", session=session)

    def _paused(self, session: str, params: Mapping[str, Any]) -> None:
        if session not in self._armed:
            self._install(session)
            for breakpoint_id in params.get("hitBreakpoints", ()):
                self._devtools.call(
                    "Debugger.removeBreakpoint",
                    {"breakpointId": breakpoint_id},
                    session=session,
                )
            self._devtools.call("Debugger.resume", session=session)
            return
        found = self._run(session, "harnessTrap.hit")
        with self._lock:
            fires = found is not None and self._hit is None and not self._leaving
            if fires:
                self._standing = session
                self._hit = Hit(
                    found["point"], found.get("kind"), tuple(found["stores"])
                )
        if fires:
            self._fire(found)
            return
        if self._leaving:
            self._run(session, "harnessTrap.disarm()")
        self._devtools.call("Debugger.resume", session=session)  # another's pause

    def _fire(self, found: Mapping[str, Any]) -> None:
        self._timeline.record(
            "trap.hit",
            point=found["point"],
            what=found.get("kind"),
            trap=str(self.trap),
        )
        try:
            if callable(self._action):
                self._standing = None
                self._action()
            elif self._action == "kill":
                self.kill()
            if self._action != "hold":
                with contextlib.suppress(DevToolsClosedError):  # all went with it
                    self._disarm()
        except BaseException as error:  # noqa: BLE001 - raised by `wait`
            self._failure = error
        finally:
            self._done.set()

    def _install(self, session: str) -> None:
        self._run(session, SCRIPT, self.trap.steps())
        self._armed.add(session)

    def _run(self, session: str, expression: str, *arguments: object) -> Any:  # noqa: ANN401
        return evaluate(
            self._devtools,
            session,
            expression,
            arguments,
            timeout=ANSWER_SECONDS,
            await_promise=False,
        )

    def _settled(self, target: str) -> bool:
        if any(self._sessions.get(session) == target for session in self._armed):
            return True
        return (self._worker.target() or {}).get("targetId") != target

    def _let_go(self, session: str) -> None:
        self._sessions.pop(session, None)
        with contextlib.suppress(DevToolsError):
            self._devtools.call("Target.detachFromTarget", {"sessionId": session})
        self._held.pop(session, None)

    def _disarm(self) -> None:
        for session in list(self._sessions):
            if session in self._armed:
                with contextlib.suppress(DevToolsError, EvaluationError):
                    self._run(session, "globalThis.harnessTrap?.disarm()")
            self._let_go(session)
        self._auto_attach(on=False)

    def _auto_attach(self, *, on: bool) -> None:
        params: dict[str, Any] = {
            "autoAttach": on,
            "waitForDebuggerOnStart": on,
            "flatten": True,
        }
        if on:
            params["filter"] = FILTER
        self._devtools.call("Target.setAutoAttach", params)
