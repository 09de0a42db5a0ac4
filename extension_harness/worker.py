"""The extension's service worker: is it alive, which life is it, end it, wake it.

No handle is kept: every call looks the target up afresh by the extension's own script,
so a restarted worker, one with the same target id, and a page's own service worker are
no traps. Looking attaches to nothing. `evaluate` and `boot_id` attach for as long as
they take, which starts Chromium's 30 s of idleness anew.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

from extension_harness.armed_trap import Action, ArmedTrap
from extension_harness.devtools.cdp import DevTools, Json, ProtocolEvent
from extension_harness.devtools.evaluation import evaluate
from extension_harness.devtools.service_workers import visit
from extension_harness.errors import (
    AttachedMode,
    IdleDeathImpossibleError,
    TrapError,
    WorkerStateTimeoutError,
    WorkerStoppedError,
)
from extension_harness.launch.unpacked import UnpackedExtension
from extension_harness.tab import open_page
from extension_harness.timeline import Timeline
from extension_harness.traps import Trap
from extension_harness.waiting import countdown, wait_until

StopMethod = Literal["close_target", "stop_worker"]
WakeMethod = Literal["start_worker", "message", "alarm"]
STOP_METHODS: tuple[StopMethod, ...] = ("close_target", "stop_worker")

# The first answer in a life is kept for that life. `bright.bootId` is the convention
# for an extension that tells its boot id; any other gets a nonce.
BOOT_ID = "globalThis.__bootIdSeen ??= globalThis.bright?.bootId ?? crypto.randomUUID()"
IDLE_SECONDS = 90.0
"""Chromium ends an idle worker after 30 s; the rest is for a busy machine."""


class Worker:
    """The service worker of the extension under test; made by `Browser`."""

    def __init__(
        self,
        devtools: Callable[[], DevTools],
        extension: UnpackedExtension,
        timeline: Timeline,
    ) -> None:
        """Look at the worker through whatever connection is current."""
        self._devtools = devtools
        self._timeline = timeline
        self._armed: ArmedTrap | None = None
        self.follow(extension)

    def follow(self, extension: UnpackedExtension) -> None:
        """Be the worker of this build from now on; a trap that is set waits for it."""
        self._extension = extension
        script = (extension.service_worker or "").lstrip("/").removeprefix("./")
        self.script_url = f"{extension.origin}/{script}"

    def target(self) -> Json | None:
        """The worker's target as the browser tells it, or None while it is stopped."""
        for target in self._devtools().targets():
            if target["type"] == "service_worker" and target["url"] == self.script_url:
                return target
        return None

    def target_id(self) -> str:
        """The target's id; raises WorkerStoppedError."""
        target = self.target()
        if target is None:
            raise WorkerStoppedError(f"{self.script_url} is not running; wake it first")
        return str(target["targetId"])

    def running(self) -> bool:
        """Whether it is alive now (starting counts)."""
        return self.target() is not None

    def held(self) -> bool:
        """Whether any debugger, ours or another's, is attached to it now."""
        target = self.target()
        return target is not None and bool(target["attached"])

    def evaluate(
        self, expression: str, *arguments: object, timeout: float = 15.0
    ) -> Any:  # noqa: ANN401 - as evaluation.evaluate
        """JavaScript in the worker's global scope; see `evaluation.evaluate`.

        Raises WorkerStoppedError when it is not running: evaluating never wakes.
        """
        devtools = self._devtools()
        with devtools.attached(self.target_id()) as session:
            return evaluate(devtools, session, expression, arguments, timeout=timeout)

    def boot_id(self, timeout: float = 15.0) -> str:
        """What names this life; it differs in each. Raises WorkerStoppedError."""
        return str(self.evaluate(BOOT_ID, timeout=timeout))

    def stop(self, method: StopMethod = "close_target", timeout: float = 20.0) -> None:
        """End this life at once and wait until it has ended; no error when stopped.

        ``close_target`` closes the worker's own target; ``stop_worker`` stops this
        version in the ServiceWorker domain. Neither touches another worker.

        Raises WorkerStateTimeoutError.
        """
        target = self.target()
        if target is None:
            return
        left = countdown(timeout)
        self._timeline.record("worker.kill", method=method, target=target["targetId"])
        devtools = self._devtools()
        if method == "close_target":
            devtools.call("Target.closeTarget", {"targetId": target["targetId"]})
        else:
            with visit(devtools) as domain:
                version = domain.version(self.script_url, left())
                if version is None:
                    raise WorkerStateTimeoutError(
                        f"a registered version of {self.script_url}", timeout
                    )
                domain.stop(version.version_id)
        # Not `running`: by then it may live again, under another target id.
        wait_until(
            lambda: (self.target() or {}).get("targetId") != target["targetId"] or None,
            left(),
            f"{self.script_url} to stop by {method}",
            error=WorkerStateTimeoutError,
            every=0.005,
        )
        if self._armed is not None:
            self._armed.let_go_of(target["targetId"])

    def wait_stopped(self, timeout: float) -> None:
        """Wait until it is not running; warns (AttachedMode) when it is held."""
        if self.held():
            warnings.warn(
                AttachedMode(
                    "a debugger is attached to the service worker: it cannot die of "
                    "idleness; detach it, or stop the worker by name"
                ),
                stacklevel=2,
            )
        wait_until(
            lambda: not self.running(),
            timeout,
            f"{self.script_url} to stop",
            error=WorkerStateTimeoutError,
        )
        self._timeline.record("worker.stopped")

    def wait_idle_death(self, timeout: float = IDLE_SECONDS) -> None:
        """Wait until it dies by itself; leave page and server in peace meanwhile.

        Raises IdleDeathImpossibleError at once when something holds it,
        WorkerStateTimeoutError.
        """
        if self.held():
            raise IdleDeathImpossibleError(
                "a debugger is attached to the service worker, which keeps it alive; "
                "idle death shows in detached mode only"
            )
        wait_until(
            lambda: not self.running(),
            timeout,
            f"{self.script_url} to die of idleness",
            every=0.25,
            error=WorkerStateTimeoutError,
        )
        self._timeline.record("worker.idle_death")

    def wait_running(self, timeout: float = 30.0) -> None:
        """Wait until it is running. Raises WorkerStateTimeoutError."""
        wait_until(
            self.running,
            timeout,
            f"{self.script_url} to run",
            error=WorkerStateTimeoutError,
            every=0.005,
        )

    def wake(self, method: WakeMethod = "start_worker", timeout: float = 30.0) -> None:
        """Start it and wait until it runs; no error when it does already.

        ``start_worker`` starts it without an event; ``message`` sends it a runtime
        message ``{type: "harness.wake"}``, whatever it makes of it; ``alarm`` sets a
        due alarm (an extension with that permission and a listener).
        """
        left = countdown(timeout)
        if method != "start_worker":
            self._wake_by_event(method, left())
        with visit(self._devtools()) as domain:
            if method == "start_worker":
                domain.start(f"{self._extension.origin}/")
            # Not only its target: a worker stopped while it starts is started again.
            if not domain.version(
                self.script_url, left(), lambda it: it.running_status == "running"
            ):
                raise WorkerStateTimeoutError(f"{self.script_url} to run", timeout)
        self._timeline.record("worker.wake", method=method)

    def wakes_by_event(self, timeout: float = 20.0) -> bool:
        """Whether a runtime message starts it within so many seconds.

        False of an extension that listens to messages tells that the browser delivers
        none: a worker killed in the instant in which it is becoming ready may leave its
        queue of events waiting for a start that is over (docs/harness.md). Then only
        another start of the extension or of the browser helps.
        """
        try:
            self.wake("message", timeout)
        except WorkerStateTimeoutError:
            return False
        return True

    def restart(self, method: StopMethod = "close_target") -> str:
        """Stop, wake, and prove another life by its boot id, which is returned."""
        before = self.boot_id() if self.running() else None
        self.stop(method)
        self.wake()
        after = self.boot_id()
        if after == before:
            raise WorkerStateTimeoutError("another boot id after a restart", 0, after)
        self._timeline.record("worker.restarted", boot_id=after)
        return after

    @contextlib.contextmanager
    def trap(self, trap: Trap, action: Action = "kill") -> Iterator[ArmedTrap]:
        """Set a trap while the block runs; it fires once.

        Args:
            trap: The instant. Counted from now in a life that runs, from its first line
                in each later one.
            action: ``kill`` ends the worker there; ``hold`` leaves it standing for
                `ArmedTrap.kill` or `ArmedTrap.release`; a callable (``browser.kill``)
                is called, from another thread, while the worker stands.

        Raises TrapError when another one is set: `Trap.then` makes one of several.
        """
        if self._armed is not None:
            raise TrapError("a trap is set already; chain instants with Trap.then")
        self._armed = ArmedTrap(
            trap, action, self, self._devtools().url, self._timeline
        )
        try:
            with self._armed as armed:
                yield armed
        finally:
            self._armed = None

    @property
    def sprung(self) -> Trap | None:
        """The trap that is set now, once it has fired."""
        armed = self._armed
        return armed.trap if armed is not None and armed.hit is not None else None

    @contextlib.contextmanager
    def attached(self) -> Iterator[None]:
        """Hold the worker as a debugger does: it does not die of idleness meanwhile.

        Warns (AttachedMode) to say so.
        """
        warnings.warn(
            AttachedMode("attached to the service worker: idle death cannot occur"),
            stacklevel=3,
        )
        with self._devtools().attached(self.target_id()):
            yield

    def watch(self, devtools: DevTools) -> None:
        """Record each beginning and end of a life, attached to nothing."""

        def notice(event: ProtocolEvent) -> None:
            if event.method == "Target.targetCreated":
                target = event.params["targetInfo"]
                if target["url"] == self.script_url:
                    seen.add(target["targetId"])
                    self._timeline.record("worker.begin", target=target["targetId"])
            elif event.method == "Target.targetDestroyed":
                target_id = event.params["targetId"]
                if target_id in seen:
                    seen.discard(target_id)
                    self._timeline.record("worker.end", target=target_id)

        seen: set[str] = set()
        devtools.listen(notice)
        devtools.call(
            "Target.setDiscoverTargets",
            {"discover": True, "filter": [{"type": "service_worker"}]},
        )

    def _wake_by_event(self, method: WakeMethod, timeout: float) -> None:
        expression = {
            # Nobody listening, or a listener that answers late, is the extension's
            # matter.
            "message": "void chrome.runtime.sendMessage({type: 'harness.wake'})"
            ".catch(() => undefined)",
            "alarm": "chrome.alarms.create('harness.wake', {when: Date.now()})",
        }[method]
        url = f"{self._extension.origin}/manifest.json"
        with open_page(self._devtools(), url, background=True) as page:
            page.wait_for(
                "location.protocol === 'chrome-extension:' && !!chrome.runtime"
            )
            page.evaluate(expression)
            self.wait_running(timeout)  # before the tab goes, and with it the message
