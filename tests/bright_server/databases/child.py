"""Copies a store and is killed at a step: a process that a test starts again and again.

`FROM TO STEP`: SIGKILL comes at the STEP-th moment before or after a durable step of
the copy, if there are so many; the exit status is 0 when the copy was finished.
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

PAGE_SIZE = 3


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
    clock = SystemClock()
    async with (
        backends.exporting(Settings.model_validate({"database": source}), clock) as one,
        backends.importing(Settings.model_validate({"database": target}), clock) as two,
    ):
        into = Mortal(two, last_step)
        await copy_store(one, into, one.facts.store_id, PAGE_SIZE, lambda *_: None)


if __name__ == "__main__":
    asyncio.run(copied(sys.argv[1], sys.argv[2], int(sys.argv[3])))
