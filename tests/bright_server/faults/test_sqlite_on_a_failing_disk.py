"""Bright on SQLite, on a disk that fails: no false ACK, red, well again by itself."""

from __future__ import annotations

import errno
from functools import partial

import pytest

from tests.bright_server.faults.drill import drilled
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
