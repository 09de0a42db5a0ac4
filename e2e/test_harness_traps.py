"""A trap stops the worker at the instant it names, and what is left is exactly that."""

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from e2e.conftest import FIXTURES, Listener
from extension_harness.armed_trap import ArmedTrap
from extension_harness.browser import Browser
from extension_harness.devtools.cdp import ProtocolEvent
from extension_harness.devtools.service_workers import visit
from extension_harness.errors import TrapError, TrapNotHitError
from extension_harness.network.faults import FaultProxy
from extension_harness.storage import ExtensionStorage
from extension_harness.tab import Page
from extension_harness.timeline import Timeline
from extension_harness.traps import Trap
from extension_harness.waiting import wait_until
from extension_harness.worker import Worker

pytestmark = pytest.mark.extension(FIXTURES / "recorder")
PENDING = {"id": "a", "state": "pending"}
CONFIRMED = {"id": "a", "state": "confirmed"}


@pytest.fixture
def proxy(listener: Listener, timeline: Timeline) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", listener.port, timeline=timeline) as proxy:
        yield proxy


@pytest.fixture
def page(
    browser: Browser, storage: ExtensionStorage, proxy: FaultProxy
) -> Iterator[Page]:
    """A document that tells the recorder what to record, whose worker is stopped."""
    storage.set({"serverUrl": proxy.url})
    browser.worker.stop()
    with browser.extension_page() as page:
        yield page


def record(page: Page, identifier: str = "a") -> None:
    page.evaluate(
        "id => void chrome.runtime.sendMessage({record: id}).catch(() => 0)", identifier
    )


def rows(storage: ExtensionStorage) -> list[dict[str, str]]:
    store = storage.dump("recorder")
    return list(store.records("rows")) if store.present else []


def has_ended(timeline: Timeline, times: int) -> bool:
    return len(timeline.events("worker.end")) == times


@pytest.mark.parametrize("running", [False, True], ids=["new-life", "running-life"])
@pytest.mark.parametrize(
    ("trap", "stored", "sent"),
    [
        (Trap.transaction("rows"), [], False),
        (Trap.write("rows"), [], False),
        (Trap.written("rows"), [], False),
        (Trap.committed("rows"), [PENDING], False),
        (Trap.before_send("observation.batch"), [PENDING], False),
        (Trap.received("observation.ack"), [PENDING], True),
        (
            Trap.received("observation.ack").then(Trap.transaction("rows")),
            [PENDING],
            True,
        ),
        (Trap.write("rows").where(state="confirmed"), [PENDING], True),
        (Trap.committed("rows").times(2), [CONFIRMED], True),
    ],
    ids=str,
)
def test_a_kill_leaves_exactly_what_was_done_before_its_instant(  # noqa: PLR0917
    page: Page,
    worker: Worker,
    storage: ExtensionStorage,
    proxy: FaultProxy,
    trap: Trap,
    stored: list[dict[str, str]],
    sent: bool,
    running: bool,
) -> None:
    if running:
        worker.wake()
    with worker.trap(trap) as armed:
        record(page)
        hit = armed.wait()
    assert hit.point == trap.point
    assert not worker.held()
    assert rows(storage) == stored
    assert bool(proxy.seen("observation.batch")) == sent


def test_a_frame_sent_before_the_kill_arrives(
    page: Page, worker: Worker, proxy: FaultProxy, listener: Listener
) -> None:
    """After the send, before the ACK: the server has it, the client cannot know."""
    listener.acknowledging = False
    with worker.trap(Trap.after_send("observation.batch"), action="hold") as armed:
        record(page)
        armed.wait()
        proxy.wait_for("observation.batch")
        armed.kill()
    # The proxy has it; the server may not have read it yet.
    wait_until(lambda: listener.heard == ["a"], 40, "the frame at the server")


def test_a_trap_before_the_listener_hears_a_runtime_message(
    page: Page, worker: Worker, storage: ExtensionStorage
) -> None:
    """Known bug 33: delivered, and the worker died before it acted."""
    with worker.trap(Trap.message().where(record="a")) as armed:
        record(page)
        armed.wait()
    assert rows(storage) == []


def test_a_worker_that_is_let_go_continues_as_if_nothing_had_been(
    page: Page, worker: Worker, storage: ExtensionStorage
) -> None:
    with worker.trap(Trap.committed("rows"), action="hold") as armed:
        record(page)
        armed.wait()
        assert rows(storage) == [PENDING]
        armed.release()
        wait_until(lambda: rows(storage) == [CONFIRMED], 40, "the confirmation")
    assert not worker.held()


def test_leaving_the_block_lets_a_standing_worker_go(
    page: Page, worker: Worker, storage: ExtensionStorage
) -> None:
    with worker.trap(Trap.before_send("observation.batch"), action="hold") as armed:
        record(page)
        armed.wait()
    wait_until(lambda: rows(storage) == [CONFIRMED], 40, "the confirmation")


def test_the_chosen_occurrence_is_counted(
    page: Page, worker: Worker, storage: ExtensionStorage, proxy: FaultProxy
) -> None:
    with worker.trap(Trap.before_send("observation.batch").times(3)) as armed:
        for number, identifier in enumerate("ab", 1):
            record(page, identifier)
            proxy.wait_for("observation.batch", number)
        record(page, "c")
        armed.wait()
    assert [row["id"] for row in rows(storage)] == ["a", "b", "c"]
    assert len(proxy.seen("observation.batch")) == 2


def test_a_trap_waits_through_lives_that_end_otherwise(
    page: Page, worker: Worker, storage: ExtensionStorage
) -> None:
    with worker.trap(Trap.committed("rows")) as armed:
        for _ in range(3):
            worker.restart()
        record(page)
        armed.wait()
    assert rows(storage) == [PENDING]


def test_a_callable_acts_while_the_worker_stands_which_then_goes_on(
    page: Page, worker: Worker, storage: ExtensionStorage, proxy: FaultProxy
) -> None:
    seen: list[object] = []
    trap = Trap.committed("rows")
    with worker.trap(trap, action=lambda: seen.append(rows(storage))) as armed:
        record(page)
        armed.wait()
        proxy.wait_for("observation.batch")
    assert seen == [[PENDING]]


def test_the_next_life_can_be_asked_while_the_trap_is_still_open(
    page: Page, worker: Worker
) -> None:
    with worker.trap(Trap.transaction("rows"), action="hold") as armed:
        record(page)
        armed.wait()
        armed.kill()
        worker.wake()
        assert worker.boot_id() == worker.boot_id()


def test_a_worker_can_be_asked_while_a_trap_waits(page: Page, worker: Worker) -> None:
    with worker.trap(Trap.transaction("rows")) as armed:
        worker.wake()
        first = worker.boot_id()
        assert worker.restart() != first
        record(page)
        armed.wait()


def test_a_life_that_follows_a_stop_at_once_is_armed(
    page: Page, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However late the trap's own thread hears that the life before has ended."""
    handle = ArmedTrap._handle
    late = threading.Event()

    def handle_late(armed: ArmedTrap, event: ProtocolEvent) -> None:
        if event.method == "Inspector.targetCrashed":
            late.wait(60)
        handle(armed, event)

    monkeypatch.setattr(ArmedTrap, "_handle", handle_late)
    worker.wake()
    with worker.trap(Trap.transaction("rows")) as armed:
        worker.stop()
        with visit(worker._devtools()) as domain:
            domain.start(page.evaluate("location.origin") + "/")
        late.set()
        worker.wait_running()
        record(page)
        armed.wait()


def test_the_browser_can_be_killed_at_the_instant(
    page: Page, browser: Browser, worker: Worker, storage: ExtensionStorage
) -> None:
    with worker.trap(Trap.written("rows"), action=browser.kill) as armed:
        record(page)
        armed.wait()
    assert not browser.running
    browser.reopen()
    assert rows(storage) == []


def test_a_trap_fires_once(
    page: Page, worker: Worker, storage: ExtensionStorage
) -> None:
    with worker.trap(Trap.transaction("rows")) as armed:
        record(page)
        armed.wait()
        record(page, "b")
        wait_until(lambda: len(rows(storage)) == 1, 40, "the second row")


def test_an_instant_that_does_not_come_is_told(page: Page, worker: Worker) -> None:
    with worker.trap(Trap.before_send("never")) as armed:
        record(page)
        with pytest.raises(TrapNotHitError, match="before_send never"):
            armed.wait(0.5)
    assert not worker.held()


def test_what_an_action_raises_is_raised_by_wait(page: Page, worker: Worker) -> None:
    def fail() -> None:
        raise ValueError("no")

    with worker.trap(Trap.transaction("rows"), action=fail) as armed:
        record(page)
        with pytest.raises(ValueError, match="no"):
            armed.wait()


def test_leaving_the_block_waits_for_the_kill_that_has_begun(
    page: Page, worker: Worker, timeline: Timeline
) -> None:
    """Cut short, it would leave a worker that lives on with a part of its work lost."""
    for _ in range(10):
        ended = len(timeline.events("worker.end")) + 1
        with worker.trap(Trap.transaction("rows")) as armed:
            record(page)
            wait_until(lambda: armed.hit is not None, 40, "the hit", every=0.001)
        wait_until(partial(has_ended, timeline, ended), 40, f"end {ended} of a life")


def test_leaving_the_block_raises_what_nobody_waited_for(
    page: Page, worker: Worker
) -> None:
    def fail() -> None:
        raise ValueError("unheard")

    def leave_once_it_is_hit() -> None:
        with worker.trap(Trap.transaction("rows"), action=fail) as armed:
            record(page)
            wait_until(lambda: armed.hit is not None, 40, "the hit")

    with pytest.raises(ValueError, match="unheard"):
        leave_once_it_is_hit()


def test_a_second_trap_is_refused(worker: Worker) -> None:
    with worker.trap(Trap.transaction("rows")):  # noqa: SIM117 - the order is the point
        with pytest.raises(TrapError, match="chain"), worker.trap(Trap.message()):
            pass


def test_an_idle_worker_is_not_held_after_a_trap(page: Page, worker: Worker) -> None:
    """Known bug 10: a trap is attached mode for its block only."""
    with worker.trap(Trap.transaction("rows")) as armed:
        record(page)
        armed.wait()
    worker.wake()
    assert not worker.held()
    assert threading.active_count() < 30
