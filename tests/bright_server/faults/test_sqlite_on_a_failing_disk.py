"""Bright on SQLite, on a disk that fails: no false ACK, red, well again by itself."""

from __future__ import annotations

import errno
from functools import partial

import pytest

from tests.bright_server.faults.drill import drilled, drilling
from tests.bright_server.frames import CONVERSATION
from tests.power.machine import PowerSwitch
from tests.power.rigs import SqliteRig


@pytest.mark.parametrize("operation", ["fsync", "write"])
async def test_ms_27_and_15_what_the_disk_does_not_take_is_not_acked(
    disk: PowerSwitch, operation: str
) -> None:
    rig = SqliteRig(disk.disk)
    token = await rig.bind()

    said = await drilled(
        rig, token, partial(disk.fail, operation, errno.EIO), disk.heal
    )

    assert "disk I/O error" in said
    # What failed to be synced was written anew before it was ACKed.
    await disk.cut()
    await disk.restore()
    assert len((await rig.stored(CONVERSATION))[CONVERSATION]) == 9


async def test_ms_27_and_15_a_full_disk_acks_nothing_until_there_is_room(
    disk: PowerSwitch,
) -> None:
    rig = SqliteRig(disk.disk)
    token = await rig.bind()

    said = await drilled(rig, token, partial(disk.leave_room, 100), disk.heal)

    assert "full" in said


async def test_ms_15_room_in_the_log_for_a_probe_is_no_room_for_messages(
    disk: PowerSwitch,
) -> None:
    """MS-15: the log is written over from its beginning, on a full disk too.

    So a probe may find room at its end where a batch has none.
    """
    rig = SqliteRig(disk.disk)
    token = await rig.bind()

    async with drilling(rig, token, size=240_000) as drill:
        # Until the log has its length, and is written over.
        for _ in range(20):
            await drill.send_confirmed()
        await disk.leave_room(0)
        while await drill.is_taken():
            pass
        await drill.refuse_and_turn_red()
        assert "store: ok" not in drill.said_when_red
        assert (await drill.server.get("/readyz"))[0] == 503
        await disk.heal()
        await drill.recover()
