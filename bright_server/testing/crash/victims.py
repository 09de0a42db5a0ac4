"""The parent's side: sends jobs to processes that die, hears what they have seen."""

from __future__ import annotations

import json
import subprocess
import sys
from signal import SIGKILL
from typing import Any


class Victims:
    """Processes that die, one a job; `close` ends whoever forks them."""

    def __init__(self) -> None:
        self._forking = subprocess.Popen(
            [sys.executable, "-m", "bright_server.testing.crash.victim"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def die(self, job: dict[str, object]) -> list[dict[str, Any]]:
        """Have a job done by a process of its own; return what it has seen.

        Raises:
            AssertionError: it did not die by SIGKILL.
        """
        assert self._forking.stdin is not None
        assert self._forking.stdout is not None
        self._forking.stdin.write(json.dumps(job) + "\n")
        self._forking.stdin.flush()
        seen: list[dict[str, Any]] = []
        for line in self._forking.stdout:
            seen.append(json.loads(line))
            if seen[-1]["what"] == "ended":
                break
        ended = seen.pop() if seen else {}
        assert ended.get("signal") == SIGKILL, f"{job}: {seen} {ended}"
        return seen

    def close(self) -> None:
        """End the process that forks."""
        self._forking.communicate(timeout=30)
