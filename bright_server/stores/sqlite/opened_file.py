"""Whether what stands at a database's path is still the file that was opened.

A file that is removed, or that another one is moved over, stays open under its
connections, and they notice nothing: what they write is gone when they are closed.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TypeAlias

from bright_server.errors import StoreUnavailable

Identity: TypeAlias = tuple[int, int]
"""Device and inode."""


class OpenedFile:
    """The file that a connection has opened, and its write-ahead log.

    Made as soon as the connection has read: SQLite has opened both then, and keeps
    both as long as it is open. Content that is written over in place is not found.
    """

    def __init__(self, database: Path) -> None:
        self._path = os.fspath(database)
        # SQLite follows links once, as it opens the file, and puts the log beside it.
        self._log_path = os.path.realpath(database) + "-wal"
        self.identity = identity_of(self._path)
        self._log_identity = identity_of(self._log_path)
        self._fault: str | None = None

    def check(self) -> None:
        """Refuse when another file, or none, stands at one of the paths.

        It is refused from then on, whatever stands there later: nobody knows what has
        been written into it meanwhile. Costs one `stat` for each path.

        Raises:
            StoreUnavailable: it is so, and what to do.
        """
        if self._fault is None:
            try:
                if (
                    identity_of(self._path) == self.identity
                    and identity_of(self._log_path) == self._log_identity
                ):
                    return
            except OSError:
                pass  # told below
            self._fault = self._found()
        # As an error of the system it is not taken for one of the data.
        raise StoreUnavailable("use its file", self._fault) from OSError(
            errno.ESTALE, os.strerror(errno.ESTALE)
        )

    def _found(self) -> str:
        for path, identity in (
            (self._path, self.identity),
            (self._log_path, self._log_identity),
        ):
            try:
                there = identity_of(path)
            except OSError as error:
                what = error.strerror
            else:
                what = "another file stands there"
                if there == identity:
                    continue
            break
        else:
            path, what = self._path, "it was away for a moment"
        return (
            f"the file at {path} is not the one that was opened: {what}. Nothing is"
            " stored until Bright is started again; save what it still holds open"
            " before you stop it: docs/operate.md, 'The file was taken away'"
        )


def identity_of(path: str | Path) -> Identity:
    """Return what the system knows the file by that stands there, links followed.

    Raises:
        OSError: none does, or it cannot be looked at.
    """
    found = os.stat(path)  # noqa: PTH116 - a Path would cost as much again
    return found.st_dev, found.st_ino
