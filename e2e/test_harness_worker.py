"""The harness ends, wakes and names each life of the extension's worker."""

import threading
import time
from contextlib import AbstractContextManager

import pytest

from e2e.conftest import FIXTURES
from extension_harness.browser import Browser
from extension_harness.errors import (
    AttachedMode,
    DevToolsError,
    EvaluationError,
    IdleDeathImpossibleError,
    WorkerStateTimeoutError,
    WorkerStoppedError,
)
from extension_harness.timeline import Timeline
from extension_harness.waiting import wait_until
from extension_harness.worker import STOP_METHODS, StopMethod, WakeMethod, Worker

RECORDER = FIXTURES / "recorder"
SHADOW = FIXTURES / "shadow"
pytestmark = pytest.mark.extension(RECORDER)
HANG_SECONDS = 45.0
"""What never ends, or ends with a time-out of a minute, hangs."""


def warned(what: str = "") -> AbstractContextManager[object]:
    return pytest.warns(AttachedMode, match=what)


@pytest.mark.parametrize("method", STOP_METHODS)
def test_ten_kills_give_ten_new_lives(worker: Worker, method: StopMethod) -> None:
    """Known bug 24: a new nonce each time and no hang, by each way to stop."""
    worker.wake()
    seen = [worker.boot_id()]
    for _ in range(10):
        began = time.monotonic()
        seen.append(worker.restart(method))
        assert time.monotonic() - began < HANG_SECONDS
    assert len(set(seen)) == 11


@pytest.mark.parametrize("method", STOP_METHODS)
def test_a_worker_that_a_debugger_holds_is_restarted_as_well(
    worker: Worker, method: StopMethod
) -> None:
    """Known bug 24: held, the next life keeps the target's id; the boot id tells."""
    worker.wake()
    with warned("idle death cannot occur"), worker.attached():
        lives = {worker.restart(method) for _ in range(3)}
    assert len(lives) == 3


@pytest.mark.parametrize("method", ["start_worker", "message"])
def test_each_way_to_wake_starts_a_stopped_worker(
    worker: Worker, method: WakeMethod
) -> None:
    worker.stop()
    assert not worker.running()
    worker.wake(method)
    assert worker.running()


def test_a_way_to_wake_that_the_extension_does_not_listen_to_is_told(
    worker: Worker,
) -> None:
    worker.stop()
    with pytest.raises(WorkerStateTimeoutError, match=r"service-worker\.js to run"):
        worker.wake("alarm", timeout=0.5)


def test_whether_an_event_wakes_it_can_be_asked(worker: Worker) -> None:
    worker.stop()
    assert worker.wakes_by_event()
    assert worker.running()


def test_a_worker_that_does_not_come_up_is_not_taken_for_woken(
    browser: Browser, worker: Worker
) -> None:
    worker.stop()
    params = {"waitForDebuggerOnStart": True, "flatten": True}
    only = {"filter": [{"type": "service_worker"}]}
    browser.devtools.call(
        "Target.setAutoAttach", {"autoAttach": True, **params, **only}
    )
    assert not worker.wakes_by_event(timeout=0.5)


def test_a_stopped_worker_answers_nothing_and_says_so(worker: Worker) -> None:
    worker.stop()
    worker.stop()  # stopping what is stopped is no error
    with pytest.raises(WorkerStoppedError, match="wake it first"):
        worker.evaluate("1")


def test_what_the_worker_throws_is_raised(worker: Worker) -> None:
    worker.wake()
    with pytest.raises(EvaluationError, match="RangeError: no"):
        worker.evaluate("Promise.reject(new RangeError('no'))")
    assert worker.evaluate("(a, b) => a + b", 1, 2) == 3


def test_a_worker_that_dies_while_it_is_asked_is_told_at_once(worker: Worker) -> None:
    worker.wake()

    def stop_once_it_is_asked() -> None:
        wait_until(lambda: worker.evaluate("globalThis.asked === true"), 30, "it")
        worker.stop()

    killer = threading.Thread(target=stop_once_it_is_asked)
    killer.start()
    began = time.monotonic()
    with pytest.raises(DevToolsError, match="died while evaluating"):
        worker.evaluate("globalThis.asked = true, new Promise(() => {})", timeout=60)
    assert time.monotonic() - began < HANG_SECONDS
    killer.join()


def test_each_life_is_in_the_timeline(worker: Worker, timeline: Timeline) -> None:
    worker.wake()
    worker.stop()
    worker.wake()
    lives = [event.facts["target"] for event in timeline.events("worker.begin")]
    ends = [event.facts["target"] for event in timeline.events("worker.end")]
    assert len(set(lives)) == len(lives) >= 2
    assert lives[:-1] == ends


@pytest.mark.timeout(240)
def test_an_idle_worker_really_dies_in_detached_mode(worker: Worker) -> None:
    """Known bug 10: nothing of the harness holds it, and its globals go with it."""
    worker.wake()
    before = worker.boot_id()
    began = time.monotonic()
    worker.wait_idle_death()
    assert time.monotonic() - began > 20  # by itself, not by us
    worker.wake()
    assert worker.boot_id() != before


def test_in_attached_mode_the_harness_says_that_idle_death_cannot_occur(
    worker: Worker,
) -> None:
    """Known bug 10."""
    worker.wake()
    with warned(), worker.attached():
        assert worker.held()
        with pytest.raises(IdleDeathImpossibleError, match="detached mode only"):
            worker.wait_idle_death()
        with warned(), pytest.raises(WorkerStateTimeoutError):
            worker.wait_stopped(0.2)
    assert not worker.held()


def test_playwright_can_drive_and_the_harness_warns(browser: Browser) -> None:
    """Known bug 10: a convenience that holds the worker is one that says so."""
    browser.worker.wake()
    with warned("Playwright"), browser.playwright() as driver:
        page = driver.contexts[0].new_page()
        page.goto(f"{browser.extension.origin}/manifest.json")
        assert page.evaluate("chrome.runtime.id") == browser.extension_id
        assert browser.worker.held()
    assert browser.running


@pytest.mark.extension(SHADOW)
def test_a_pages_own_service_worker_is_never_taken_for_the_extensions(
    browser: Browser, worker: Worker, site_with_worker: str
) -> None:
    """Known bug 57."""
    url = site_with_worker
    with browser.open(url) as page:
        page.wait_for("navigator.serviceWorker.ready.then(() => true)")
        page.evaluate("fetch('/ping').catch(() => 0)")
        worker.wake()
        kinds = [each["type"] for each in browser.devtools.targets()]
        assert kinds.count("service_worker") == 2
        assert worker.evaluate("location.protocol") == "chrome-extension:"
        for method in STOP_METHODS:
            page.evaluate("fetch('/ping').catch(() => 0)")  # that one lives on
            worker.wake()
            worker.stop(method)
            left = [
                each["url"]
                for each in browser.devtools.targets()
                if each["type"] == "service_worker"
            ]
            assert left == [f"{url}sw.js"]
