"""One server a database: a lock file beside it, held while the server lives.

The kernel lets go of the lock when the process ends, however it ends, so a SIGKILL
leaves nothing to clean up. A process that inherits the descriptor holds the lock too:
the writer's process does, so a killed server is followed by the next one only once its
last group is on disk. Tools such as `bright binding` do not take this lock.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bright_server.errors import StoreInUse, StoreUnavailable
from bright_server.stores.sqlite.connection import translated
from bright_server.stores.sqlite.opened_file import Identity, identity_of

_STEP_SECONDS: Final = 0.05


@contextmanager
def held(database: Path, patience_seconds: float = 0) -> Iterator[int]:
    """Hold the database for one server; yields the lock's descriptor.

    A lock that another holds is waited for; this stops the thread, so patience is for
    the time before anything is served.

    Raises:
        StoreInUse: another process holds it, and did not let go in time.
        StoreUnavailable: the lock file cannot be made.
    """
    with translated(f"lock {database}"):
        descriptor = _opened(_path_of(database))
    try:
        _take(descriptor, database, patience_seconds)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def held_for_reading(database: Path) -> Iterator[bool]:
    """Hold the database against servers while it is read, where that can be done.

    Yields whether it is: in a folder that cannot be written no lock can be made.

    Raises:
        StoreInUse: another process holds it.
        StoreUnavailable: the lock file cannot be opened.
    """
    path = _path_of(database)
    try:
        with translated(f"lock {database}"):
            descriptor = _opened_to_read(path)
    except StoreUnavailable as error:
        if is_writable(path.parent) or not _is_forbidden(error.__cause__):
            raise
        yield False
        return
    try:
        _take(descriptor, database)
        yield True
    finally:
        os.close(descriptor)


def can_be_held(database: Path) -> bool:
    """Say whether there is a lock, or one can be made."""
    path = _path_of(database)
    return is_writable(path.parent) or os.access(path, os.R_OK)


def is_writable(folder: Path) -> bool:
    """Say whether this user can make a file there."""
    return os.access(folder, os.W_OK | os.X_OK)


def note_opened(database: Path, identity: Identity) -> None:
    """Write into the lock which file was opened, if this process holds the lock.

    Raises:
        StoreUnavailable: it cannot be written.
    """
    path = _path_of(database)
    if _noted(path)[:1] != [str(os.getpid())]:
        return
    with translated(f"lock {database}"), path.open("w", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n{_said(identity)}\n")


def refuse_exchanged(database: Path) -> None:
    """Refuse to open another file than the server has that started this process.

    Raises:
        StoreUnavailable: another one stands there, or none.
    """
    holder, *opened = _noted(_path_of(database)) or [""]
    if holder != str(os.getppid()):
        raise StoreUnavailable(
            "use its file", f"the server does not hold the lock beside {database}"
        )
    with translated(f"open {database}"):
        if opened and [_said(identity_of(database))] != opened:
            raise StoreUnavailable(
                "use its file",
                f"the file at {database} is not the one that the server opened: start"
                " Bright again",
            )


def _said(identity: Identity) -> str:
    device, inode = identity
    return f"file {device} {inode}"


def _noted(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def _path_of(database: Path) -> Path:
    # The real file, so that a link to a database is the same database.
    real = database.resolve()
    return real.with_name(real.name + ".lock")


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _opened_to_read(path: Path) -> int:
    try:
        return _opened(path)
    except OSError as error:
        if not _is_forbidden(error):
            raise
        # One that is there can be held all the same.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _is_forbidden(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in {
        errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT,
    }  # fmt: skip


def _take(descriptor: int, database: Path, patience_seconds: float = 0) -> None:
    if not _taken(descriptor, time.monotonic() + patience_seconds):
        noted = os.pread(descriptor, 32, 0).decode("ascii", "replace").splitlines()
        raise StoreInUse(database, f" (process {noted[0]})" if noted else "")


def _taken(descriptor: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_STEP_SECONDS)
        else:
            return True
