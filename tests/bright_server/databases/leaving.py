"""Begins commits and dies: a process whose work another one has to finish.

Its argument is the database. It leaves one commit in each open state.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from bright_server import backends
from bright_server.clock import SystemClock
from bright_server.commit.records import CommitState
from bright_server.settings import Settings
from bright_server.testing.sends import brought_to, sending

LEFT = {
    "reserved": CommitState.RESERVED,
    "recorded": CommitState.RECORDED,
    "outboxed": CommitState.OUTBOXED,
}


async def leave(database: str) -> None:
    settings = Settings.model_validate({"database": database})
    async with backends.opened(settings, SystemClock()) as backend:
        for name, state in LEFT.items():
            await brought_to(state, backend, sending(name))
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(leave(sys.argv[1]))
