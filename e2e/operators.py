"""An operator at the command line: `bright command`, as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from extension_harness.rig import Rig

CREDENTIAL = "an operator of these tests"
ENVIRONMENT = {
    "BRIGHT_OPERATOR_CREDENTIAL": CREDENTIAL,
    "BRIGHT_COMMAND_GRACE_SECONDS": "8",
}
"""What Bright is started with, so that it takes commands, and has patience with what
an extension on a busy machine says of them."""
BRIGHT = (sys.executable, "-m", "bright_server")
_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Told:
    """A command's outcome, and the exit status that went with it."""

    outcome: str
    reason: str | None
    status: int


def command(rig: Rig, action: str, *options: str, deadline: float = 40.0) -> Told:
    """Ask for a command, and wait for its outcome."""
    done = subprocess.run(
        [
            *BRIGHT,
            "command",
            action,
            "--json",
            f"--account={rig.page.corpus.account}",
            f"--server={rig.server.http_url}",
            f"--deadline={deadline}",
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=_PATIENCE_SECONDS,
        env={**os.environ, **ENVIRONMENT},
        check=False,
    )
    assert done.stdout, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return Told(told["outcome"], told["reason"], done.returncode)


def asking(
    pool: ThreadPoolExecutor, rig: Rig, action: str, *options: str
) -> Future[Told]:
    """Ask for a command, and go on meanwhile."""
    return pool.submit(command, rig, action, *options)
