"""A process that commits one by one: `python -m … DATABASE TENANT COUNT`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from bright_server.clock import SystemClock
from bright_server.commit.records import CommitKey
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import opened
from bright_server.testing.sends import committed, sending


async def commit_many(database: Path, tenant: str, count: int) -> None:
    async with opened(Settings(database=database), SystemClock()) as store:
        print("ready", flush=True)  # noqa: T201 - what the test waits for
        await asyncio.to_thread(sys.stdin.readline)

        async def one(number: int) -> None:
            name = f"{tenant}-{number}"
            key = CommitKey("sent", tenant, "seller-1", name)
            await committed(store, sending(name, key=key), message_id=name)

        for start in range(0, count, 10):
            await asyncio.gather(*map(one, range(start, min(count, start + 10))))


if __name__ == "__main__":
    asyncio.run(commit_many(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
