"""One server a database: a lock file beside it, held while the server lives.

The kernel lets go of the lock when the process ends, however it ends, so a SIGKILL
leaves nothing to clean up. A process that inherits the descriptor holds the lock too:
the writer's process does, so a killed server is followed by the next one only once its
last group is on disk. Tools such as `bright binding` do not take this lock.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bright_server.errors import StoreInUse
from bright_server.stores.sqlite.connection import translated

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
    # The real file, so that a link to a database is the same database.
    real = database.resolve()
    path = real.with_name(real.name + ".lock")
    with translated(f"lock {database}"):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _taken(descriptor, time.monotonic() + patience_seconds):
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            raise StoreInUse(database, f" (process {holder})" if holder else "")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


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
