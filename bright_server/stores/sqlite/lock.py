"""One server a database: a lock file beside it, held while the server lives.

The kernel lets go of the lock when the process ends, however it ends, so a SIGKILL
leaves nothing to clean up. Tools such as `bright binding` do not take this lock.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bright_server.errors import StoreInUse


@contextmanager
def held(database: Path) -> Iterator[None]:
    """Hold the database for one server.

    Raises:
        StoreInUse: another process holds it.
    """
    # The real file, so that a link to a database is the same database.
    real = database.resolve()
    path = real.with_name(real.name + ".lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            raise StoreInUse(
                database, f" (process {holder})" if holder else ""
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
