"""One life of the machine: what the kernel asks of the disk, from mount to power cut.

Once it is over, everybody who still has files open gets EIO.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import threading
from collections import Counter
from typing import Final

import mfusepy  # type: ignore[import-untyped]

from tests.power.disk import Disk, File, Folder, Link

_FALLOC_KEEP_SIZE: Final = 1
_BLOCK: Final = 4096


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
