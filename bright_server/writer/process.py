"""The other end: the process that has the store's writer, and commits group by group.

Started by the server only. It ends when the server's end of the socket does, after the
group that is under way; signals are the server's business. While it lives it holds the
lock of a database that has one together with the server, so that no other server starts
before the last group of this one is on disk.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from functools import partial
from typing import Any, TypeAlias, cast

from bright_server import backends
from bright_server.clock import SystemClock
from bright_server.collector import ease_garbage_collection
from bright_server.commit.group_committer import GroupCommitter, GroupReport
from bright_server.commit.groups import Outcome
from bright_server.errors import BrightError
from bright_server.settings import Settings
from bright_server.writer.parcels import (
    READY,
    GroupDone,
    Parcels,
    pack,
    pack_group,
    unpack_work,
)

Given: TypeAlias = tuple[Settings, str | None]
"""The settings, and whose store it has to be."""


class Desk(asyncio.Protocol):
    """Takes work from the server, and gives it the outcomes of each group at once."""

    def __init__(self) -> None:
        self._parcels = Parcels()
        self._outcomes: list[tuple[int, Outcome]] = []
        self._committer: GroupCommitter | None = None
        loop = asyncio.get_running_loop()
        self.given: asyncio.Future[Given | None] = loop.create_future()
        self.left = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - it is a socket
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Learn that the server is gone, whatever the reason."""
        self.left.set()
        # A server that was killed before its first word must not leave this process
        # behind, for it holds the database's lock.
        if not self.given.done():
            self.given.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Take first what is given, then work."""
        for content in self._parcels.feed(data):
            if self._committer is None:
                settings, store_id = cast("tuple[dict[str, Any], str | None]", content)
                self.given.set_result((Settings(**settings), store_id))
            else:
                self._take(self._committer, content)

    def open(self, committer: GroupCommitter) -> None:
        """Say that work may come."""
        self._committer = committer
        self._transport.write(pack(READY))

    def group_committed(self, report: GroupReport) -> None:
        """See `CommitWatch`: the callbacks of this group's outcomes are due first."""
        asyncio.get_running_loop().call_soon(self._answer, report.seconds)

    def _take(self, committer: GroupCommitter, content: object) -> None:
        ticket, work = unpack_work(content)
        # The server bounds what waits; here it counts for nothing.
        outcome = committer.submit(work, 0)
        outcome.add_done_callback(partial(self._note, ticket))

    def _note(self, ticket: int, outcome: asyncio.Future[Outcome]) -> None:
        self._outcomes.append((ticket, outcome.result()))

    def _answer(self, seconds: float) -> None:
        outcomes, self._outcomes = self._outcomes, []
        self._transport.write(pack_group(GroupDone(outcomes, seconds)))


async def write_for(server: socket.socket) -> None:
    """Commit what the server sends, until it leaves."""
    loop = asyncio.get_running_loop()
    _, desk = await loop.create_connection(Desk, sock=server)
    given = await desk.given
    if given is None:
        return
    settings, store_id = given
    clock = SystemClock()
    async with backends.observations_opened(settings, clock, store_id) as store:
        committer = GroupCommitter(store, settings, clock, desk)
        ease_garbage_collection()
        desk.open(committer)
        running = asyncio.create_task(committer.run(), name="group committer")
        left = asyncio.create_task(desk.left.wait())
        await asyncio.wait({running, left}, return_when=asyncio.FIRST_COMPLETED)
        # Nobody waits for what has not begun; what has begun is finished, unless a
        # locked database would make that long.
        committer.abandon()
        ending = asyncio.create_task(committer.drain())
        await asyncio.wait({ending}, timeout=settings.close_deadline_seconds)
        for task in (running, left, ending):
            task.cancel()
        await asyncio.gather(running, left, ending, return_exceptions=True)


def main() -> None:
    """Run as the server's child; the argument is the socket's descriptor."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s (writer): %(message)s",
    )
    try:
        asyncio.run(write_for(socket.socket(fileno=int(sys.argv[1]))))
    except BrightError as error:
        # The words are enough; the server starts another process.
        sys.exit(f"the writer process ends: {error}")


if __name__ == "__main__":
    main()
