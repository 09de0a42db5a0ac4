"""The disk as a mounted file system: a process of its own, told what to do by lines.

Run as `python -m tests.power.mounted MOUNT_POINT [--strict]`. Each line on stdin is a
JSON list, the name of one of `Orders`' methods and its arguments; the answer is a line
on stdout, `{"done": …}` or `{"failed": "…"}`. When stdin ends, the mount goes.

Every life of the machine is a mount of its own: the kernel's cache of the last one
cannot be read in the next, and what still has its files open gets EIO from them.
"""

from __future__ import annotations

import ctypes
import errno
import fnmatch
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Final

import mfusepy  # type: ignore[import-untyped]

from tests.power.disk import Disk, File, Folder, Link

_MNT_DETACH: Final = 2
_FALLOC_KEEP_SIZE: Final = 1
_BLOCK: Final = 4096
_MOUNT_SECONDS: Final = 10.0


class Fault:
    """An error that an operation gives instead of being done."""

    def __init__(
        self, operation: str, number: int, paths: str, times: int | None
    ) -> None:
        self.operation = operation
        self.number = number
        self.paths = paths
        self.times = times

    def hits(self, operation: str, path: str) -> bool:
        """Say whether this call fails; each that does counts."""
        if self.times == 0 or operation != self.operation:
            return False
        if not fnmatch.fnmatch(path, self.paths):
            return False
        if self.times is not None:
            self.times -= 1
        return True


class Life(mfusepy.Operations):  # type: ignore[misc]
    """One life of the machine, from mount to power cut."""

    use_ns = True

    def __init__(self, disk: Disk, faults: list[Fault], counts: Counter[str]) -> None:
        self.disk = disk
        self.faults = faults
        self.counts = counts
        self.is_over = False
        self.turn = threading.RLock()
        self.begun = threading.Event()
        self.open_files: dict[int, tuple[File, bool]] = {}
        self.handles = 0

    def init(self, path: str) -> None:
        """Say that the kernel and this process have met."""
        self.begun.set()

    def _enter(self, operation: str, path: str) -> None:
        self.counts[operation] += 1
        if self.is_over:
            raise OSError(errno.EIO, "the power is off")
        for fault in self.faults:
            if fault.hits(operation, path):
                self.counts[f"{operation} failed"] += 1
                raise OSError(fault.number, path)

    # What there is.

    def getattr(self, path: str, fh: int | None = None) -> dict[str, int]:
        """See stat(2)."""
        with self.turn:
            self._enter("getattr", path)
            node = self.open_files[fh][0] if fh else self.disk.find(path)
            meta = node.meta
            size = 0
            if isinstance(node, File):
                size = len(node.data)
            elif isinstance(node, Link):
                size = len(node.target)
            return {
                "st_mode": meta.mode,
                "st_uid": meta.uid,
                "st_gid": meta.gid,
                "st_nlink": 2 if isinstance(node, Folder) else 1,
                "st_size": size,
                "st_blocks": -(-size // 512),
                "st_mtime": meta.modified_ns,
                "st_ctime": meta.modified_ns,
                "st_atime": meta.modified_ns,
            }

    def readdir(self, path: str, fh: int) -> list[str]:
        """See readdir(3)."""
        with self.turn:
            self._enter("readdir", path)
            node = self.disk.find(path)
            return [".", "..", *(node.entries if isinstance(node, Folder) else ())]

    def readlink(self, path: str) -> str:
        """See readlink(2)."""
        with self.turn:
            node = self.disk.find(path)
            if not isinstance(node, Link):
                raise OSError(errno.EINVAL, path)
            return node.target

    def statfs(self, path: str) -> dict[str, int]:
        """See statvfs(3)."""
        with self.turn:
            total = self.disk.capacity or 1 << 36
            free = max(0, total - self.disk.used()) // _BLOCK
            return {
                "f_bsize": _BLOCK,
                "f_frsize": _BLOCK,
                "f_blocks": total // _BLOCK,
                "f_bfree": free,
                "f_bavail": free,
                "f_files": 1 << 20,
                "f_ffree": 1 << 19,
                "f_namemax": 255,
            }

    # Entries.

    def create(self, path: str, mode: int, flags: int) -> int:
        """See open(2) with O_CREAT."""
        with self.turn:
            self._enter("create", path)
            uid, gid, _ = mfusepy.fuse_get_context()
            file = File(self.disk.make_meta(mode, uid, gid))
            self.disk.put(path, file)
            return self._handle(file, flags)

    def mkdir(self, path: str, mode: int) -> None:
        """See mkdir(2)."""
        with self.turn:
            self._enter("mkdir", path)
            uid, gid, _ = mfusepy.fuse_get_context()
            meta = self.disk.make_meta(mode | 0o040000, uid, gid)
            self.disk.put(path, Folder(meta))

    def symlink(self, target: str, source: str) -> None:
        """Make `target` a link to `source`."""
        with self.turn:
            uid, gid, _ = mfusepy.fuse_get_context()
            meta = self.disk.make_meta(0o120777, uid, gid)
            self.disk.put(target, Link(meta, source))

    def link(self, target: str, source: str) -> None:
        """Give the file `source` another name, `target`."""
        with self.turn:
            self._enter("link", target)
            self.disk.put(target, self.disk.find(source))

    def unlink(self, path: str) -> None:
        """See unlink(2)."""
        with self.turn:
            self._enter("unlink", path)
            self.disk.remove(path)

    def rmdir(self, path: str) -> None:
        """See rmdir(2)."""
        self.unlink(path)

    def rename(self, old: str, new: str) -> None:
        """See rename(2)."""
        with self.turn:
            self._enter("rename", new)
            self.disk.rename(old, new)

    def chmod(self, path: str, mode: int) -> None:
        """See chmod(2)."""
        with self.turn:
            self.disk.find(path).meta.mode = mode

    def chown(self, path: str, uid: int, gid: int) -> None:
        """See chown(2)."""
        with self.turn:
            meta = self.disk.find(path).meta
            meta.uid = meta.uid if uid == -1 else uid
            meta.gid = meta.gid if gid == -1 else gid

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> None:
        """See utimensat(2)."""
        with self.turn:
            if times is not None:
                self.disk.find(path).meta.modified_ns = times[1]

    # Contents.

    def open(self, path: str, flags: int) -> int:
        """See open(2)."""
        with self.turn:
            self._enter("open", path)
            node = self.disk.find(path)
            if not isinstance(node, File):
                raise OSError(errno.EISDIR, path)
            if flags & os.O_TRUNC:
                node.resize(0)
            return self._handle(node, flags)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        """See pread(2)."""
        with self.turn:
            self._enter("read", path)
            return bytes(self.open_files[fh][0].data[offset : offset + size])

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        """See pwrite(2); with O_DSYNC it is on the disk when it returns."""
        with self.turn:
            self._enter("write", path)
            file, syncs = self.open_files[fh]
            self.disk.make_room(offset + len(data) - len(file.data))
            file.write(offset, data)
            if syncs:
                self._sync(path, file)
            return len(data)

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:
        """See ftruncate(2)."""
        with self.turn:
            self._enter("truncate", path)
            node = self.open_files[fh][0] if fh else self.disk.find(path)
            if not isinstance(node, File):
                raise OSError(errno.EISDIR, path)
            node.resize(length)

    def fallocate(self, path: str, mode: int, offset: int, size: int, fh: int) -> None:
        """See fallocate(2); holes are not made."""
        with self.turn:
            self._enter("fallocate", path)
            if mode & ~_FALLOC_KEEP_SIZE:
                raise OSError(errno.EOPNOTSUPP, path)
            file = self.open_files[fh][0]
            more = offset + size - len(file.data)
            self.disk.make_room(more)
            if more > 0 and not mode:
                file.resize(offset + size)

    def fsync(self, path: str, datasync: int, fh: int) -> None:
        """See fsync(2)."""
        with self.turn:
            self._sync(path, self.open_files[fh][0])

    def fsyncdir(self, path: str, datasync: int, fh: int) -> None:
        """Make a directory's entries durable."""
        with self.turn:
            self._enter("fsyncdir", path)
            node = self.disk.find(path)
            if isinstance(node, Folder):
                node.sync()

    def flush(self, path: str, fh: int) -> None:
        """Do nothing: close(2) makes nothing durable."""

    def release(self, path: str, fh: int) -> None:
        """Forget a handle."""
        with self.turn:
            self.open_files.pop(fh, None)

    def _handle(self, file: File, flags: int) -> int:
        self.handles += 1
        self.open_files[self.handles] = (file, bool(flags & os.O_DSYNC))
        return self.handles

    def _sync(self, path: str, file: File) -> None:
        try:
            self._enter("fsync", path)
        except OSError:
            if not self.is_over:
                file.sync_failed()
            raise
        file.sync()


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
