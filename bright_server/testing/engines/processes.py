"""Processes that a test starts, and that never outlive it."""

from __future__ import annotations

import atexit
import contextlib
import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from bright_server.testing.engines.errors import EngineError

_STEP_SECONDS: Final = 0.01
# It reads until whoever started it is gone, however that ended.
_WATCH: Final = """
read _
kill -CONT "$1"; kill -s "$2" "$1"
while kill -0 "$1"; do sleep 0.1; done
rm -rf -- "$3"
"""
_SWEEP: Final = 'read _; rm -rf -- "$1"'


def free_port() -> int:
    """Return a port of this machine that was free just now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def unprivileged() -> dict[str, Any]:
    """Return what `subprocess` takes so that a server does not run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise EngineError("this is root, and there is no user `nobody` to run a server as")


def until(is_so: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Wait for a condition.

    Raises:
        EngineError: it was not so in time.
    """
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise EngineError(f"{what}: not within {seconds} s")
        time.sleep(_STEP_SECONDS)


class Watched:
    """A server process that is ended when this process is, also by SIGKILL.

    It is then sent the signal `ending`, and `folder` is removed.
    """

    def __init__(
        self,
        command: list[str],
        log: Path,
        ending: signal.Signals,
        folder: Path,
        **how: Any,  # noqa: ANN401 - goes to subprocess as it is
    ) -> None:
        with log.open("ab") as written:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                start_new_session=True,
                **how,
            )
        self._watcher = _watcher(_WATCH, str(self.pid), ending.name[3:], str(folder))

    @property
    def pid(self) -> int:
        """Return the process's id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Say whether it runs."""
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it runs."""
        if self.is_running:
            self._process.send_signal(number)

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, and end whoever watches it.

        Raises:
            EngineError: it did not end in time.
        """
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise EngineError(f"process {self.pid} did not end") from error
        self._watcher.kill()
        self._watcher.communicate()

    def kill_whole(self) -> None:
        """End it and all its children by SIGKILL, as a power cut would."""
        # Stopped first, so that it makes no child meanwhile.
        self.send(signal.SIGSTOP)
        family = [self.pid, *_descendants(self.pid)] if self.is_running else []
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.wait(30)
        until(lambda: not any(map(_is_alive, family)), "the killed processes end")


def swept(folder: Path) -> Path:
    """Have a folder removed when this process is gone, also by SIGKILL."""
    watcher = _watcher(_SWEEP, str(folder))

    def sweep() -> None:
        watcher.communicate()

    atexit.register(sweep)
    return folder


def _watcher(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", script, "sh", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _descendants(pid: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _stat(int(entry.name))[1] == str(pid):
            yield int(entry.name)
            yield from _descendants(int(entry.name))


def _is_alive(pid: int) -> bool:
    return _stat(pid)[0] not in {"", "Z", "X"}


def _stat(pid: int) -> tuple[str, str]:
    """Return a process's state and its parent; empty: there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return "", ""
    state, parent, *_ = text.rpartition(")")[2].split()
    return state, parent
