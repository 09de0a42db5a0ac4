"""Many senders at once, a held write lock, and what must hold of the store after."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed

from tests.bright_server.frames import (
    Frame,
    batch,
    message,
)
from tests.bright_server.processes import (
    Server,
    dumped,
)


@asynccontextmanager
async def write_locked(database: Path) -> AsyncIterator[None]:
    """Another program holds the database's write lock while the block lasts."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("COMMIT")


class Sender:
    """Sends batches as fast as they are ACKed, and remembers which messages were."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.conversation = f"conversation-{number}"
        self.acked: list[str] = []
        self.close_code: int | None = None
        self.first_ack = asyncio.Event()

    def batch(self, nth: int) -> Frame:
        change = {"conversationId": self.conversation}
        numbers = range(nth * 10, nth * 10 + 10)
        return batch(*(message(n, **change) for n in numbers), **change)

    async def run(self, server: Server, token: str, batches: int = 100_000) -> None:
        async with server.extension() as extension:
            await extension.greet(token, deviceId=f"device-{self.number}")
            try:
                for nth in range(batches):
                    self.note(await extension.ask(self.batch(nth)))
            except ConnectionClosed as closed:
                self.close_code = closed.rcvd.code if closed.rcvd else 1006

    def note(self, ack: Frame) -> None:
        for result in ack["results"]:
            if result["status"] == "confirmed":
                self.acked.append(result["messageId"])
        self.first_ack.set()


def scopes(records: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    return Counter((each["conversationId"], each["messageId"]) for each in records)


def assert_gapless(records: list[dict[str, Any]]) -> None:
    assert [each["position"] for each in records] == list(range(1, len(records) + 1))
    for conversation in {each["conversationId"] for each in records}:
        mine = [e["sequence"] for e in records if e["conversationId"] == conversation]
        assert mine == list(range(1, len(mine) + 1))


async def assert_stored_once(database: Path, senders: list[Sender]) -> None:
    """Every ACKed message is in the store, once, without a gap in any numbering."""
    records = await dumped(database, "message")
    stored = scopes(records)
    acked = {(each.conversation, mid) for each in senders for mid in each.acked}

    assert set(stored.values()) == {1}
    assert acked <= stored.keys(), "an ACKed message is lost"
    assert_gapless(records)
    assert scopes(await dumped(database, "outbox")) == stored
