"""The disk as a mounted file system: a process of its own, told what to do by lines.

Run as `python -m tests.power.mounted MOUNT_POINT [--strict]`. Each line on stdin is a
JSON list, the name of one of `Orders`' methods and its arguments; the answer is a line
on stdout, `{"done": …}` or `{"failed": "…"}`. When stdin ends, the mount goes.

Every life of the machine is a mount of its own: the kernel's cache of the last one
cannot be read in the next, and what still has its files open gets EIO from them.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Final

import mfusepy  # type: ignore[import-untyped]

from tests.power.disk import Disk
from tests.power.life import Fault, Life

_MNT_DETACH: Final = 2


class Orders:
    """What the parent may ask for."""

    def __init__(self, mount_point: Path, *, strict: bool) -> None:
        self._mount_point = mount_point
        self._disk = Disk(strict=strict)
        self._faults: list[Fault] = []
        self._counts: Counter[str] = Counter()
        self._life: Life | None = None
        self._is_mounted = False

    def power_on(self) -> None:
        """Mount what is on the disk."""
        life = Life(self._disk, self._faults, self._counts)
        said: list[BaseException] = []
        thread = threading.Thread(target=self._run, args=(life, said), daemon=True)
        thread.start()
        while not life.begun.wait(0.02):
            if not thread.is_alive():
                raise RuntimeError(f"cannot mount: {said or 'see stderr'}")
        self._life = life
        self._is_mounted = True

    def power_off(self, chance: float, seed: int) -> dict[str, int]:
        """Cut the power: drop what is not durable, answer nobody any more."""
        if self._life is None:
            raise RuntimeError("the power is off already")
        with self._life.turn:
            self._life.is_over = True
            loss = self._disk.lose_power(chance, seed)
        self._life = None
        self.unmount()
        return {"pages": loss.pages, "entries": loss.entries}

    def fail(self, operation: str, number: int, paths: str, times: int | None) -> None:
        """Let an operation on these paths fail, so many times or until `heal`."""
        self._faults.append(Fault(operation, number, paths, times))

    def heal(self) -> None:
        """Take all faults back, and the bound of the disk."""
        self._faults.clear()
        self._disk.capacity = None

    def leave_room(self, more: int) -> None:
        """Let the disk be full after so many bytes more."""
        self._disk.capacity = self._disk.used() + more

    def sync(self) -> None:
        """Make all that was written durable."""
        if self._life is None:
            raise RuntimeError("the power is off")
        with self._life.turn:
            self._disk.sync()

    def counts(self) -> dict[str, int]:
        """Return how often each operation was called."""
        return dict(self._counts)

    def unmount(self) -> None:
        """Take the mount away from the tree; who has it open keeps a dead one."""
        if not self._is_mounted:
            return
        self._is_mounted = False
        if os.geteuid() == 0:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.umount2(os.fsencode(self._mount_point), _MNT_DETACH) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), str(self._mount_point))
        else:
            subprocess.run(
                ["fusermount3", "-u", "-z", str(self._mount_point)],  # noqa: S607
                check=False,
            )

    def _run(self, life: Life, said: list[BaseException]) -> None:
        # Who is not root may let nobody else in, and needs to let nobody else in.
        others = {"allow_other": True} if os.geteuid() == 0 else {}
        try:
            mfusepy.FUSE(
                life,
                str(self._mount_point),
                foreground=True,
                nothreads=True,
                fsname="power-cut",
                **others,
            )
        except BaseException as error:  # noqa: BLE001 - told to who waits for it
            said.append(error)


def main() -> None:
    """Serve orders until there are no more."""
    orders = Orders(Path(sys.argv[1]), strict="--strict" in sys.argv[2:])
    try:
        for line in sys.stdin:
            name, *arguments = json.loads(line)
            answer: dict[str, Any]
            try:
                answer = {"done": getattr(orders, name)(*arguments)}
            except (RuntimeError, OSError) as error:
                answer = {"failed": str(error)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    finally:
        orders.unmount()
        # The threads that serve mounts end with their last open file, maybe never.
        os._exit(0)


if __name__ == "__main__":
    main()
