"""The power switch of a disk, in the hand of a test."""

from __future__ import annotations

import asyncio
import ctypes.util
import errno
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

_ANSWER_SECONDS: Final = 30.0
_LINE_BYTES: Final = 1 << 20

ROOT: Final = Path(__file__).resolve().parents[2]


class NoPowerCutError(AssertionError):
    """This machine cannot mount a file system of a process; and what to do."""


class PowerSwitch:
    """A mounted disk; see `switched_on`."""

    def __init__(self, process: asyncio.subprocess.Process, disk: Path) -> None:
        self._process = process
        self.disk = disk
        """Where it is mounted: a folder like any other."""

    async def cut(self, chance: float = 0, seed: int = 0) -> dict[str, int]:
        """Drop what no fsync made durable; whoever runs on the disk gets EIO from it.

        Each unsynced page and entry survives with the chance. Kill what runs at once:
        then `restore`.
        """
        lost: dict[str, int] = await self._order("power_off", chance, seed)
        return lost

    async def restore(self) -> None:
        """Mount again what is left."""
        await self._order("power_on")

    async def fail(
        self,
        operation: str,
        number: int = errno.EIO,
        *,
        paths: str = "*",
        times: int | None = None,
    ) -> None:
        """Let an operation (`fsync`, `write`, `create` …) fail, or until `heal`."""
        await self._order("fail", operation, number, paths, times)

    async def heal(self) -> None:
        """Let everything work again."""
        await self._order("heal")

    async def leave_room(self, more: int) -> None:
        """Let the disk be full after so many bytes more."""
        await self._order("leave_room", more)

    async def sync(self) -> None:
        """Make all that was written durable."""
        await self._order("sync")

    async def counts(self) -> dict[str, int]:
        """Return how often each operation was called."""
        counted: dict[str, int] = await self._order("counts")
        return counted

    async def _order(self, name: str, *arguments: object) -> Any:  # noqa: ANN401
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, *arguments]).encode() + b"\n")
        line = await asyncio.wait_for(self._process.stdout.readline(), _ANSWER_SECONDS)
        answer = json.loads(line) if line else {"failed": "the disk's process ended"}
        if "failed" in answer:
            raise NoPowerCutError(f"{name}: {answer['failed']}")
        return answer["done"]


def require_fuse() -> None:
    """Say in words what is missing for a file system of our own.

    Raises:
        NoPowerCutError: nothing of it can be tested here.
    """
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise NoPowerCutError(
            "/dev/fuse cannot be opened: load the kernel's module (modprobe fuse);"
            " in a container allow the device (--device /dev/fuse --cap-add SYS_ADMIN)"
        )
    if ctypes.util.find_library("fuse3") is None:
        raise NoPowerCutError(
            "libfuse3 is missing: `make setup` brings it, or apt-get install fuse3"
        )


@asynccontextmanager
async def switched_on(*, strict: bool = True) -> AsyncIterator[PowerSwitch]:
    """Mount an empty disk, in a process of its own, where every user can reach it.

    Of a `strict` disk, a file's entry in its directory lasts only after an fsync of the
    directory. At the end the mount is gone, whatever happened.
    """
    require_fuse()
    disk = _made_folder()
    arguments = ["--strict"] if strict else []
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.power.mounted",
        str(disk),
        *arguments,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES,
    )
    switch = PowerSwitch(process, disk)
    try:
        await switch.restore()
        yield switch
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), _ANSWER_SECONDS)
        os.rmdir(disk)  # noqa: PTH106 - what is not unmounted is not to be walked


def _made_folder() -> Path:
    # Short and not below a folder of this user's alone: a database's server may run as
    # another one, and the name of a Unix socket has few characters.
    folder = Path(tempfile.mkdtemp(prefix="bright-disk-", dir="/tmp"))
    folder.chmod(0o755)
    return folder
