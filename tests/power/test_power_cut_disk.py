"""The disk itself: what a power cut takes, and what it may not take."""

from __future__ import annotations

import asyncio
import errno
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.power.machine import PowerSwitch, switched_on

T = TypeVar("T")
PAGE = 4096


async def on(work: Callable[[], T]) -> T:
    """Do blocking work beside the loop, as a program on the disk would."""
    return await asyncio.wait_for(asyncio.to_thread(work), 20)


def write_synced(path: Path, content: bytes, *, folder: bool = True) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, content)
    os.fsync(descriptor)
    os.close(descriptor)
    if folder:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


async def after_a_cut(power: PowerSwitch, chance: float = 0) -> None:
    await power.cut(chance)
    await power.restore()


async def test_what_was_synced_stays_and_what_was_not_is_gone(
    power: PowerSwitch,
) -> None:
    path = power.disk / "file"

    def work() -> int:
        write_synced(path, b"a" * 3 * PAGE)
        descriptor = os.open(path, os.O_RDWR)
        os.pwrite(descriptor, b"b" * PAGE, PAGE // 2)
        os.pwrite(descriptor, b"c", 5 * PAGE)
        assert os.pread(descriptor, 2, 5 * PAGE - 1) == b"\0c"
        return descriptor

    descriptor = await on(work)
    await after_a_cut(power)

    assert await on(path.read_bytes) == b"a" * 3 * PAGE
    # Who was at work when the power went hears nothing from the new life.
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        await on(lambda: os.fsync(descriptor))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        await on(lambda: os.pwrite(descriptor, b"late", 0))
    await on(lambda: os.close(descriptor))
    assert await on(path.read_bytes) == b"a" * 3 * PAGE


async def test_a_size_lasts_after_an_fsync_only(power: PowerSwitch) -> None:
    path = power.disk / "file"

    def work() -> None:
        write_synced(path, b"a" * 2 * PAGE + b"tail")
        with path.open("r+b") as file:
            file.truncate(10)
            file.seek(0)
            file.write(b"new")

    await on(work)
    assert await on(path.read_bytes) == b"newaaaaaaa"
    await after_a_cut(power)
    assert await on(path.read_bytes) == b"a" * 2 * PAGE + b"tail"

    def cut_off_and_sync() -> None:
        descriptor = os.open(path, os.O_RDWR)
        os.ftruncate(descriptor, 10)
        os.ftruncate(descriptor, PAGE)
        os.fdatasync(descriptor)
        os.posix_fallocate(descriptor, 0, 9 * PAGE)
        os.close(descriptor)

    await on(cut_off_and_sync)
    assert (await on(path.stat)).st_size == 9 * PAGE
    await after_a_cut(power)
    assert await on(path.read_bytes) == b"a" * 10 + bytes(PAGE - 10)


async def test_entries_last_after_an_fsync_of_their_folder_only(
    power: PowerSwitch,
) -> None:
    disk = power.disk

    def work() -> None:
        for name in ("renamed", "removed", "kept", "replaced"):
            write_synced(disk / name, name.encode())
        (disk / "renamed").rename(disk / "other name")
        (disk / "kept").replace(disk / "replaced")
        (disk / "removed").unlink()
        write_synced(disk / "new", b"synced, but nobody can find it", folder=False)
        (disk / "folder").mkdir()
        write_synced(disk / "folder" / "in it", b"")

    await on(work)
    await after_a_cut(power)
    names = await on(lambda: {each.name: each.read_text() for each in disk.iterdir()})
    assert names == {name: name for name in ("renamed", "removed", "kept", "replaced")}

    await on(work)
    await on(lambda: sync_folder(disk))
    await after_a_cut(power)
    assert await on(lambda: sorted(each.name for each in disk.iterdir())) == [
        "folder",
        "new",
        "other name",
        "replaced",
    ]
    assert await on((disk / "replaced").read_text) == "kept"


async def test_a_disk_that_is_not_strict_keeps_entries_at_once() -> None:
    async with switched_on(strict=False) as power:
        await on(lambda: write_synced(power.disk / "a", b"synced", folder=False))
        await on(lambda: (power.disk / "a").rename(power.disk / "b"))
        await on(lambda: (power.disk / "empty").write_bytes(b"not synced"))
        await after_a_cut(power)

        assert await on((power.disk / "b").read_bytes) == b"synced"
        assert await on((power.disk / "empty").read_bytes) == b""


async def test_o_dsync_and_msync_are_as_good_as_an_fsync(power: PowerSwitch) -> None:
    path, mapped = power.disk / "dsync", power.disk / "mapped"

    def work() -> None:
        write_synced(path, b"")
        write_synced(mapped, bytes(2 * PAGE))
        descriptor = os.open(path, os.O_WRONLY | os.O_DSYNC)
        os.write(descriptor, b"on the disk")
        os.close(descriptor)
        with mapped.open("r+b") as file, mmap.mmap(file.fileno(), 2 * PAGE) as memory:
            memory[:6] = b"synced"
            memory.flush()
            memory[PAGE : PAGE + 4] = b"lost"

    await on(work)
    await after_a_cut(power)

    assert await on(path.read_bytes) == b"on the disk"
    assert await on(mapped.read_bytes) == b"synced" + bytes(2 * PAGE - 6)


async def test_an_fsync_that_failed_forsakes_what_it_should_have_written(
    power: PowerSwitch,
) -> None:
    path = power.disk / "file"
    await on(lambda: write_synced(path, b"old" * PAGE))
    await power.fail("fsync", errno.EIO, times=1)

    def work() -> None:
        descriptor = os.open(path, os.O_RDWR)
        os.pwrite(descriptor, b"new", 0)
        os.pwrite(descriptor, b"new", PAGE * 2)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            os.fdatasync(descriptor)
        assert os.pread(descriptor, 3, 0) == b"new"
        # Written again it counts again; the other page is clean for ever.
        os.pwrite(descriptor, b"new", PAGE * 2)
        os.fdatasync(descriptor)
        os.close(descriptor)

    await on(work)
    await after_a_cut(power)

    content = await on(path.read_bytes)
    assert content[:3] == b"old"
    assert content[PAGE * 2 : PAGE * 2 + 3] == b"new"


async def test_a_full_disk_says_so_until_there_is_room_again(
    power: PowerSwitch,
) -> None:
    path = power.disk / "file"
    await on(lambda: write_synced(path, b"a" * PAGE))
    await power.leave_room(PAGE)

    def append() -> None:
        write_synced(path, b"a" * PAGE * 3)

    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        await on(append)
    await power.heal()
    await on(append)
    assert await on(path.read_bytes) == b"a" * PAGE * 3


async def test_some_pages_survive_a_cut_by_chance_and_some_do_not(
    power: PowerSwitch,
) -> None:
    path = power.disk / "file"

    def work() -> None:
        write_synced(path, b"o" * 100 * PAGE)
        path.write_bytes(b"n" * 100 * PAGE)  # truncates first, unsynced as well

    await on(work)
    await power.cut(0.5, seed=7)
    await power.restore()

    content = await on(path.read_bytes)
    pages = {content[start] for start in range(0, len(content), PAGE)}
    assert len(content) == 100 * PAGE
    assert pages == {ord("o"), ord("n")}
