"""Copies a store and is killed at a step: processes that a test has started.

`FROM TO STEP`: SIGKILL comes at the STEP-th moment before or after a durable step of
the copy, if there are so many; the exit status is 0 when the copy was finished.

`FROM TO`: one process after the other does this, killed before and then after its first
page, until there is none left; how many died is told. So there is one death at every
moment. They are forks of this process, which has done nothing but import: that takes
the most of such a process's time.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from bright_server import backends
from bright_server.clock import SystemClock
from bright_server.commit.store_copy import copy_store
from bright_server.commit.transfer import (
    CopiedPage,
    CopiedRecord,
    CopyMark,
    StoreFacts,
    StoreImport,
)
from bright_server.settings import Settings

PAGE_SIZE = 5
BEFORE_A_PAGE = 3
CLOCK = SystemClock()


class Mortal:
    """A `StoreImport` around another one, with moments to die at."""

    def __init__(self, real: StoreImport, last_step: int) -> None:
        self._real = real
        self._left = last_step

    @property
    def facts(self) -> StoreFacts:
        return self._real.facts

    async def begin(self, source: StoreFacts, store_id: str) -> CopyMark:
        self._step()
        mark = await self._real.begin(source, store_id)
        self._step()
        return mark

    async def load(self, records: Sequence[CopiedRecord], mark: CopyMark) -> None:
        self._step()
        await self._real.load(records, mark)
        self._step()

    def kept(self, record: CopiedRecord) -> CopiedRecord:
        return self._real.kept(record)

    async def page(self, kind: str, cursor: str | None, limit: int) -> CopiedPage:
        return await self._real.page(kind, cursor, limit)

    async def finish(self, mark: CopyMark) -> None:
        self._step()
        await self._real.finish(mark)

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def copied(source: str, target: str, last_step: int) -> None:
    async with (
        backends.exporting(Settings.model_validate({"database": source}), CLOCK) as one,
        backends.importing(Settings.model_validate({"database": target}), CLOCK) as two,
    ):
        into = Mortal(two, last_step)
        await copy_store(one, into, one.facts.store_id, PAGE_SIZE, lambda *_: None)


def killed_again_and_again(source: str, target: str) -> int:
    """Return how many died; what else one ends with ends this process, too."""
    deaths = 0
    # So that the drivers are loaded once.
    for database in (source, target):
        backends.exporting(Settings.model_validate({"database": database}), CLOCK)
    while True:
        process = os.fork()
        if process == 0:
            asyncio.run(copied(source, target, BEFORE_A_PAGE + deaths % 2))
            os._exit(0)
        _, status = os.waitpid(process, 0)
        ended = os.waitstatus_to_exitcode(status)
        if ended != -signal.SIGKILL:
            return deaths if ended == 0 else sys.exit(ended)
        deaths += 1


if __name__ == "__main__":
    match sys.argv[1:]:
        case [one, two]:
            sys.stdout.write(str(killed_again_and_again(one, two)))
        case [one, two, step]:
            asyncio.run(copied(one, two, int(step)))
