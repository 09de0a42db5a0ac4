"""Bright on Valkey when disk, network or server fail: no false ACK, and well again.

Real servers throughout; the disk and the network are the tests' own. A Valkey that
could not write its append-only file ends, and whatever runs it starts it again.
"""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.bright_server.faults.drill import Step, drilled, swept
from tests.bright_server.faults.proxy import Proxy, between
from tests.bright_server.frames import CONVERSATION
from tests.power.machine import PowerSwitch
from tests.power.rigs import ValkeyRig

HASTY = {"redis_timeout_seconds": 1}
"""For a server that never answers; what else fails is told at once."""


@asynccontextmanager
async def on_a_network(folder: Path) -> AsyncIterator[tuple[ValkeyRig, Proxy]]:
    """Bright on a Valkey that it reaches over a network of the test's own."""
    rig = ValkeyRig(folder, folder / "log")
    try:
        await rig.start()
        async with between(lambda: rig.engine.port) as proxy:
            rig.port = proxy.port
            yield rig, proxy
    finally:
        rig.close()


@asynccontextmanager
async def on_a_disk(disk: PowerSwitch, folder: Path) -> AsyncIterator[ValkeyRig]:
    """Bright on a Valkey whose files lie on a disk that fails on command."""
    rig = ValkeyRig(disk.disk, folder / "log")
    try:
        await rig.start()
        await disk.sync()
        yield rig
    finally:
        rig.close()


async def test_ms_27_and_25_a_connection_may_break_at_each_request_of_a_commit(
    tmp_path: Path,
) -> None:
    async with on_a_network(tmp_path) as (rig, proxy):
        sweep = await swept(rig, await rig.bind(), proxy)

    assert sweep.breaks >= 2
    # The answer to a commit was lost, and what it had done was found.
    assert sweep.done_unanswered >= 1


@pytest.mark.parametrize("fault", ["stall", "shut"])
async def test_ms_15_and_27_a_server_that_is_not_reached_is_told_and_found_again(
    tmp_path: Path, fault: str
) -> None:
    async with on_a_network(tmp_path) as (rig, proxy):

        async def break_it() -> None:
            getattr(proxy, fault)()

        said = await drilled(rig, await rig.bind(), break_it, proxy.heal, **HASTY)

    assert "store" in said


@pytest.mark.parametrize("fault", ["no fsync", "no room"])
async def test_ms_27_and_15_what_the_disk_does_not_take_is_not_acked(
    disk: PowerSwitch, tmp_path: Path, fault: str
) -> None:
    async with on_a_disk(disk, tmp_path) as rig:

        async def heal() -> None:
            await disk.heal()
            rig.kill()
            await rig.start()

        faults: dict[str, Step] = {
            "no fsync": partial(disk.fail, "fsync", errno.EIO),
            "no room": partial(disk.leave_room, 0),
        }
        await drilled(rig, await rig.bind(), faults[fault], heal, **HASTY)
        await disk.cut()
        rig.kill()
        await disk.restore()
        await rig.start()
        assert len((await rig.stored(CONVERSATION))[CONVERSATION]) == 9
