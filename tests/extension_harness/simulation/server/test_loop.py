"""The loop without a clock: asyncio's order, and time only when it is told."""

from __future__ import annotations

import asyncio

import pytest

from extension_harness.simulation.errors import SimulationFaultError
from extension_harness.simulation.server.loop import VirtualLoop, virtual_loop


@pytest.fixture
def loop() -> VirtualLoop:
    return virtual_loop(1_000)


def test_what_is_ready_runs_in_the_order_in_which_it_was_asked_for(
    loop: VirtualLoop,
) -> None:
    seen: list[int] = []
    for number in range(3):
        loop.call_soon(seen.append, number)

    loop.run_ready(1_000)

    assert seen == [0, 1, 2]


def test_a_timer_waits_for_the_time_that_is_told(loop: VirtualLoop) -> None:
    seen: list[str] = []
    loop.call_later(2, seen.append, "late")
    loop.call_later(1, seen.append, "early")

    loop.run_ready(1_999)
    assert seen == []
    assert loop.due_ms() == 2_000

    loop.run_ready(3_000)
    assert seen == ["early", "late"]
    assert loop.due_ms() is None


def test_a_cancelled_timer_is_not_due(loop: VirtualLoop) -> None:
    loop.call_later(1, lambda: None).cancel()

    assert loop.due_ms() is None


def test_tasks_sleep_and_time_out_by_the_time_that_is_told(loop: VirtualLoop) -> None:
    async def work() -> str:
        try:
            async with asyncio.timeout(5):
                await asyncio.sleep(60)
        except TimeoutError:
            return f"out of time at {asyncio.get_running_loop().time():g}"
        return "slept"

    task = loop.create_task(work())
    loop.run_ready(1_000)
    assert not task.done()

    loop.run_ready(6_000)

    assert task.result() == "out of time at 6"


def test_what_never_comes_to_rest_is_a_fault_and_no_endless_loop(
    loop: VirtualLoop,
) -> None:
    def again() -> None:
        loop.call_soon(again)

    loop.call_soon(again)

    with pytest.raises(SimulationFaultError, match="rest"):
        loop.run_ready(1_000)
