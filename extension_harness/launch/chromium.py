"""Which Chromium runs: found, checked and, when asked, installed.

Looked at in order: the option, the environment variable ``BRIGHT_CHROMIUM``,
Playwright's own download, the system's. One that was named is used or refused, never
silently replaced by another. Branded Chrome and Edge ignore ``--load-extension`` and
the headless shell has no extensions at all: both are refused here, at once, with the
reason, instead of showing as a worker that never comes.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from extension_harness.errors import (
    ChromiumNotFoundError,
    ChromiumUnusableError,
    HarnessError,
)

DRIVER_LIBRARY = "libatomic1"
"""What Playwright's own Node needs and a bare Debian does not have."""
ENVIRONMENT_VARIABLE = "BRIGHT_CHROMIUM"
SYSTEM_NAMES = ("chromium", "chromium-browser")
PLAYWRIGHT_PATTERNS = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)
MINIMUM_MAJOR = 120
"""From 120 an alarm may be due in 30 s; from 116 a WebSocket keeps a worker alive."""

VERSION_SECONDS = 8.0
"""How long ``--version`` may take; a browser that needs longer is broken."""


@dataclass(frozen=True)
class Chromium:
    """A browser that was asked for its version and can load an unpacked extension."""

    executable: Path
    version: str

    @property
    def major(self) -> int:
        """The first number of the version."""
        return int(self.version.split(".", 1)[0])


def find(
    option: str | Path | None = None, environment: Mapping[str, str] | None = None
) -> Chromium:
    """The Chromium to use.

    Args:
        option: A path or a command's name, from whoever calls.
        environment: Instead of the process's own.

    Raises ChromiumUnusableError for one that was named but will not do, with the
    reason, and ChromiumNotFoundError, naming every place, when none was named and none
    is there.
    """
    env = os.environ if environment is None else environment
    named = str(option) if option else env.get(ENVIRONMENT_VARIABLE)
    if named:
        path = shutil.which(named)
        if path is None:
            raise ChromiumUnusableError(named, "there is no such program")
        return inspect(Path(path))
    looked_at = [f"{ENVIRONMENT_VARIABLE} (not set)"]
    for candidate in _candidates(env):
        try:
            return inspect(candidate)
        except ChromiumUnusableError as refusal:
            looked_at.append(f"{candidate} ({refusal.reason})")
    looked_at += ["Playwright's downloads", f"commands {', '.join(SYSTEM_NAMES)}"]
    raise ChromiumNotFoundError(looked_at)


def inspect(executable: Path) -> Chromium:
    """Ask a browser what it is, within ten seconds. Raises ChromiumUnusableError."""
    resolved = executable.resolve().name.replace("_", "-")
    if "headless-shell" in resolved or "headless-shell" in executable.name:
        raise ChromiumUnusableError(
            str(executable), "it is the headless shell, which has no extensions"
        )
    try:
        answer = subprocess.run(
            [str(executable), "--version"],
            capture_output=True,
            text=True,
            timeout=VERSION_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        raise ChromiumUnusableError(
            str(executable), f"--version gave no answer in {VERSION_SECONDS:g} s"
        ) from cause
    except OSError as cause:
        raise ChromiumUnusableError(
            str(executable), f"it does not start: {cause}"
        ) from cause
    return _judge(executable, answer.stdout.strip(), answer.stderr.strip())


def _judge(executable: Path, said: str, complained: str) -> Chromium:
    name = str(executable)
    found = re.search(r"(\d+)\.\d+\.\d+\.\d+", said)
    if found is None:
        what = (said or complained or "nothing").splitlines()[-1][:200]
        raise ChromiumUnusableError(
            name, f"--version should tell a version, it said: {what}"
        )
    if "Microsoft Edge" in said or (
        "Google Chrome" in said and "for Testing" not in said
    ):
        brand = said[: found.start()].strip()
        raise ChromiumUnusableError(
            name, f"it is {brand}, which ignores --load-extension"
        )
    if "Headless" in said:
        raise ChromiumUnusableError(
            name, "it is the headless shell, which has no extensions"
        )
    if int(found.group(1)) < MINIMUM_MAJOR:
        raise ChromiumUnusableError(
            name, f"version {found.group(0)} is below {MINIMUM_MAJOR}"
        )
    return Chromium(executable, found.group(0))


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    downloads = environment.get("PLAYWRIGHT_BROWSERS_PATH")
    folder = Path(downloads) if downloads else Path.home() / ".cache/ms-playwright"
    for pattern in PLAYWRIGHT_PATTERNS:
        # The newest download first: the folder's name ends in its build number.
        yield from sorted(folder.glob(pattern), reverse=True)
    for name in SYSTEM_NAMES:
        path = shutil.which(name, path=environment.get("PATH"))
        if path is not None:
            yield Path(path)


def install() -> None:
    """Install Chromium by the means of this system. Raises HarnessError if it fails."""
    for step in installation(_os_release(), as_root=os.geteuid() == 0):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        try:
            status = subprocess.run(step, env=environment, check=False).returncode
        except OSError as cause:
            raise HarnessError(
                f"cannot run `{step[0]}` to install Chromium: install it by this "
                f"system's own means and name it in {ENVIRONMENT_VARIABLE}"
            ) from cause
        if status != 0:
            raise HarnessError(
                f"`{' '.join(step)}` failed with status {status}: run it by hand and "
                f"look at what it says, or name a Chromium in {ENVIRONMENT_VARIABLE}"
            )


def installation(os_release: str, *, as_root: bool) -> tuple[tuple[str, ...], ...]:
    """Return the commands that install Chromium on a system, in order.

    Debian has a package. Ubuntu's package of that name is a snap, which cannot load an
    extension from just any folder: there Playwright brings its own build.
    """
    sudo = () if as_root else ("sudo",)
    update = (*sudo, "apt-get", "update", "-qq")
    install = (*sudo, "apt-get", "install", "-y", "-qq", DRIVER_LIBRARY)
    if re.search(r"^ID=\"?ubuntu\"?$", os_release, re.MULTILINE):
        playwright = (sys.executable, "-m", "playwright", "install", "--with-deps")
        return (update, install, (*playwright, "chromium"))
    return (update, (*install, "chromium"))


def driver_starts() -> bool:
    """Whether Playwright's driver runs here; a bare Debian lacks a library of its."""
    tried = subprocess.run(
        [sys.executable, "-m", "playwright", "--version"],
        capture_output=True,
        check=False,
    )
    return tried.returncode == 0


def _os_release() -> str:
    try:
        return Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m … launch.chromium [--install]``; 0 when one can be used.

    With ``--install`` and a Chromium present it prints nothing.
    """
    parser = argparse.ArgumentParser(
        prog="python -m extension_harness.launch.chromium",
        description="Show which Chromium the harness uses.",
    )
    parser.add_argument("--install", action="store_true", help="install when missing")
    options = parser.parse_args(arguments)
    try:
        if options.install and not driver_starts():
            install()
        try:
            found = find()
        except ChromiumNotFoundError:
            if not options.install:
                raise
            install()
            found = find()
    except HarnessError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if not options.install:
        sys.stdout.write(f"{found.executable} {found.version}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
