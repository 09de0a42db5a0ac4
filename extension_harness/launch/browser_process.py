"""Chromium as a process group of its own: started, killed whole, its profile respected.

Everything that Chromium starts shares the group, so that one signal ends it all. The
profile's lock is read, never removed: a lock whose owner is dead is Chromium's to
replace.
"""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from extension_harness.errors import (
    BrowserStartError,
    HarnessIncompleteError,
    ProfileInUseError,
)
from extension_harness.launch.chromium import Chromium
from extension_harness.waiting import countdown

try:
    import psutil
except ModuleNotFoundError as cause:
    raise HarnessIncompleteError("psutil") from cause

ALWAYS = (
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-proxy-server",  # a proxy of the environment would get the mapped hosts
    "--disable-gpu",
    "--disable-default-apps",
    "--disable-breakpad",
    "--password-store=basic",
    "--use-mock-keychain",
    "--remote-debugging-port=0",
    "--enable-logging=stderr",
)
PORT_FILE = "DevToolsActivePort"
LOG_NAME = "chromium.log"
LOG_TAIL = 4_000
"""Characters of Chromium's log that an error quotes."""
GONE_SECONDS = 20.0
"""How long what was killed may take to be gone."""


@dataclass(frozen=True)
class LaunchOptions:
    """How to start Chromium.

    Attributes:
        headless: Without a window (``--headless=new``, the full browser).
        host_rules: ``--host-resolver-rules``: maps a real host name to a local server.
        spki: Base64 SHA-256 of a public key whose certificate errors are ignored; for
            the simulated page's own certificate, and no other.
        extra_args: Further switches, last.
    """

    headless: bool = True
    host_rules: str | None = None
    spki: str | None = None
    extra_args: tuple[str, ...] = ()

    def switches(self, profile: Path, extension: Path) -> list[str]:
        """The command line's arguments, without the executable."""
        given = [
            *ALWAYS,
            f"--user-data-dir={profile}",
            f"--load-extension={extension}",
        ]
        if self.headless:
            given.append("--headless=new")
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            given.append("--no-sandbox")  # Chromium's sandbox refuses to run as root
        if self.host_rules:
            given.append(f"--host-resolver-rules={self.host_rules}")
        if self.spki:
            given.append(f"--ignore-certificate-errors-spki-list={self.spki}")
        return [*given, *self.extra_args, "about:blank"]


class BrowserProcess:
    """One run of Chromium on a profile."""

    def __init__(
        self, chromium: Chromium, profile: Path, switches: Sequence[str], home: Path
    ) -> None:
        """Start it. Raises ProfileInUseError (nothing touched), BrowserStartError."""
        self.profile = profile
        self._log = home / LOG_NAME
        owner = lock_owner(profile)
        if owner is not None:
            raise ProfileInUseError(str(profile), owner)
        # A port file of an earlier run would send us to a port that is not ours.
        (profile / PORT_FILE).unlink(missing_ok=True)
        # Killed, Chromium leaves its temporary folders behind: they go with `home`.
        temporary = home / "tmp"
        temporary.mkdir(exist_ok=True)
        with self._log.open("ab") as sink:
            try:
                self._process = subprocess.Popen(
                    [str(chromium.executable), *switches],
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=sink,
                    start_new_session=True,
                    env={**os.environ, "TMPDIR": str(temporary)},
                )
            except OSError as cause:
                raise BrowserStartError(
                    f"{chromium.executable} does not start: {cause}"
                ) from cause

    @property
    def pid(self) -> int:
        """The browser process, and the number of its group."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the browser process is alive."""
        return self._process.poll() is None

    def devtools_url(self, timeout: float) -> str:
        """Where DevTools listens, once Chromium says so.

        Raises BrowserStartError with the end of its log when it ends first or is late.
        """
        left = countdown(timeout)
        while True:
            with contextlib.suppress(OSError, ValueError):
                port, path = (self.profile / PORT_FILE).read_text().split()
                return f"ws://127.0.0.1:{int(port)}{path}"
            status = self._process.poll()
            if status is not None:
                raise BrowserStartError(
                    f"Chromium ended with status {status} before DevTools listened; "
                    f"its log ends: {self.log_tail()}"
                )
            if not left():
                raise BrowserStartError(
                    f"DevTools did not listen within {timeout:g} s; Chromium's log "
                    f"ends: {self.log_tail()}"
                )
            time.sleep(0.01)

    def log_tail(self) -> str:
        """The last that Chromium wrote."""
        with contextlib.suppress(OSError):
            text = self._log.read_text(encoding="utf-8", errors="replace")
            return text[-LOG_TAIL:].strip() or "(empty)"
        return "(no log)"

    def wait_ended(self, timeout: float) -> bool:
        """Wait for the browser process to end; False when it is still there."""
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL to the whole group, and wait until nothing of it runs."""
        members = self._members()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        left = countdown(GONE_SECONDS)
        while any(map(_alive, members)) and left():
            time.sleep(0.005)

    def _members(self) -> list[psutil.Process]:
        """All of its processes; of the group, too, when the browser's own is gone."""
        found: dict[int, psutil.Process] = {}
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(self.pid).children(recursive=True)
            found = {each.pid: each for each in children}
        for each in psutil.process_iter():
            with contextlib.suppress(OSError):
                if each.pid != self.pid and os.getpgid(each.pid) == self.pid:
                    found.setdefault(each.pid, each)
        return list(found.values())


def _alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def lock_owner(profile: Path) -> int | None:
    """The live process on this machine that holds the profile, or None.

    Chromium's lock is a link named ``host-pid``. A lock of another host or of a dead
    process is not live: Chromium itself takes such a profile over.
    """
    try:
        host, _, number = str((profile / "SingletonLock").readlink()).rpartition("-")
    except OSError:
        return None
    if host != socket.gethostname() or not number.isdigit():
        return None
    pid = int(number)
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return pid if _runs_on(process.cmdline(), process.name(), profile) else None
    except psutil.Error:
        return None


def _runs_on(arguments: Sequence[str], name: str, profile: Path) -> bool:
    """Whether it is a browser on this profile: a number may have been re-used."""
    for argument in arguments:
        switch, _, value = argument.partition("=")
        if switch == "--user-data-dir":
            return Path(value).resolve() == profile.resolve()
    return "chrom" in name
