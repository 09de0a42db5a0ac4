"""What `/readyz` asks, and what it says."""

from __future__ import annotations

import asyncio

from bright_server.errors import AuthorityUnavailable
from bright_server.operations.health import ReadinessProbe


async def fine() -> None:
    """A dependency that answers."""


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
