"""What `/readyz` asks, and what it says."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from bright_server.backends import opened
from bright_server.commit.group_committer import GroupCommitter
from bright_server.errors import AuthorityUnavailable
from bright_server.operations.health import ReadinessProbe, store_check
from bright_server.operations.metrics import Metrics
from bright_server.settings import Settings
from tests.bright_server.manual_clock import ManualClock


async def fine() -> None:
    """A dependency that answers."""


async def soon() -> None:
    """Let the others run."""
    await asyncio.sleep(0)


async def silent() -> None:
    await asyncio.Event().wait()


async def failing() -> None:
    raise AuthorityUnavailable("it is away")


async def test_ms_15_every_dependency_has_its_line_and_one_fault_is_enough() -> None:
    probe = ReadinessProbe({"a": fine, "b": silent, "c": failing}, 0.05)

    readiness = await probe.ask()

    assert not readiness.is_ready
    assert readiness.lines[0] == "a: ok"
    assert readiness.lines[1] == "b: no answer in 0.05 s"
    assert "it is away" in readiness.lines[2]


async def test_ms_15_a_check_that_gives_up_by_itself_is_no_fault_of_the_probe() -> None:
    async def gives_up() -> None:
        raise TimeoutError

    readiness = await ReadinessProbe({"a": fine, "b": gives_up}, 5).ask()

    assert readiness.lines == ("a: ok", "b: it gave up before the deadline")
    assert not readiness.is_ready


class Stubborn:
    """A dependency whose driver does not give up when it is called off."""

    def __init__(self) -> None:
        self.asked = 0
        self.lets_go = asyncio.Event()

    async def answer(self) -> None:
        """Answer, when it does."""
        self.asked += 1
        while not self.lets_go.is_set():
            with suppress(asyncio.CancelledError):
                await self.lets_go.wait()


async def test_ms_15_a_check_that_cannot_be_called_off_is_not_waited_for() -> None:
    """MS-15: it is told in time, asked once while it lasts, and again when it ended."""
    stubborn = Stubborn()
    probe = ReadinessProbe({"a": stubborn.answer, "b": fine}, 0.05)

    try:
        for _ in range(3):
            # Else it would wait without an end.
            readiness = await asyncio.wait_for(probe.ask(), 20)
            assert readiness.lines == ("a: no answer in 0.05 s", "b: ok")
            assert stubborn.asked == 1
    finally:
        stubborn.lets_go.set()

    assert (await probe.ask()).is_ready
    assert stubborn.asked == 2


async def test_ms_15_what_was_not_stored_is_said_in_words() -> None:
    """MS-15: an operator reads it, and no program."""
    settings, clock = Settings(database="memory:"), ManualClock()
    async with opened(settings, clock) as backend:
        store = backend.observations
        committer = GroupCommitter(store, settings, clock, Metrics())
        probe = ReadinessProbe({"store": store_check(committer, store, clock)}, 60)
        asked = asyncio.create_task(probe.ask())
        while not committer.pending_items:
            await soon()
        committer.abandon()

    assert (await asked).lines == (
        "store: the store could not write the probe: the server is stopping",
    )


async def test_many_askers_share_one_probe() -> None:
    asked = 0

    async def counting() -> None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)

    probe = ReadinessProbe({"a": counting}, 1)

    answers = await asyncio.gather(*(probe.ask() for _ in range(20)))
    await probe.ask()

    assert all(each.is_ready for each in answers)
    assert asked == 2
