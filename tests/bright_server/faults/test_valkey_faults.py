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
from shutil import copytree, rmtree

import pytest

from tests.bright_server.faults.drill import Drill, Step, drilled, swept
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


LOOSE = [("appendonly", "no"), ("appendfsync", "everysec"), ("appendfsync", "no")]


@pytest.mark.parametrize(("setting", "value"), LOOSE)
async def test_ms_27_and_15_a_server_that_is_set_up_to_forget_gives_no_ack(
    tmp_path: Path, setting: str, value: str
) -> None:
    """MS-27, MS-15: while it runs; both ways to a commit are red, and say why."""
    async with on_a_network(tmp_path) as (rig, _):
        safe = {"appendonly": "yes", "appendfsync": "always"}[setting]

        async def loosen() -> None:
            rig.engine.ask("CONFIG", "SET", setting, value)

        async def heal() -> None:
            rig.engine.ask("CONFIG", "SET", setting, safe)

        said = await drilled(rig, await rig.bind(), loosen, heal)
        red = [line for line in said.splitlines() if f"set `{setting} {safe}`" in line]
        assert [line.partition(":")[0] for line in red] == ["store", "commits"]


@pytest.mark.parametrize("writer_process", [True, False])
async def test_ms_27_a_server_that_comes_back_with_less_gives_no_ack(
    tmp_path: Path, writer_process: bool
) -> None:
    """MS-27: the numbers of what it lost are not given a second time.

    The process to which it was confirmed finds out: the writer's, if it has its own.
    """
    async with on_a_network(tmp_path) as (rig, _):
        token, files = await rig.bind(), rig.engine.folder
        async with rig.serving(writer_process=writer_process) as server:
            drill = Drill(server, token)
            try:
                await drill.send_confirmed()
                copytree(files, tmp_path / "copy")
                await drill.send_confirmed()
                rig.kill()
                rmtree(files)
                copytree(tmp_path / "copy", files)
                await rig.start()

                for _ in range(5):
                    await drill.refuse_and_turn_red()
                red = drill.said_when_red.splitlines()
                lost = [each for each in red if "came back without" in each]
                who = ["store"] if writer_process else ["store", "commits"]
                assert [each.partition(":")[0] for each in lost] == who
            finally:
                await drill.close()
        stored = await rig.stored(CONVERSATION)
        assert len(stored[CONVERSATION]) == 3, "no group was written on what is left"


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
