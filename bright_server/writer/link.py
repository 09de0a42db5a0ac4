"""The server's end: takes work like the group committer, and has a process commit it.

The process is started, watched and, should it die, started again. What it had not
answered is then sent again, which is safe, because a message that is on disk already is
answered as a duplicate. Work that it dies of again and again is given back as not
stored.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Final, cast

from bright_server.commit.group_committer import CommitWatch, GroupReport, Pending
from bright_server.commit.groups import NotStored, Outcome, Work
from bright_server.errors import CommitterStopped, Overloaded, StoreUnavailable
from bright_server.settings import Settings
from bright_server.writer.parcels import READY, Parcels, pack, pack_work, unpack_group

logger = logging.getLogger(__name__)

_MODULE: Final = "bright_server.writer.process"
_BUFFER_BYTES: Final = 1 << 20


class WriterLink:
    """See `Committer`; made by `linked`.

    Args:
        settings: bounds and patience, here and of the process.
        watch: is told of every group.
        lock: the descriptor of the database's lock, which the process holds too; None:
            the database has no such lock.
        store_id: whose store the process has to find; None: it may make one.
    """

    def __init__(
        self,
        settings: Settings,
        watch: CommitWatch,
        lock: int | None,
        store_id: str | None = None,
    ) -> None:
        self._settings = settings
        self._watch = watch
        self._lock = lock
        self._store_id = store_id
        self._pending: dict[int, Pending] = {}
        self._last_ticket = 0
        self._transport: asyncio.WriteTransport | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopped = False
        self._deaths_in_a_row = 0
        self.pending_bytes = 0
        self.ready = asyncio.Event()

    @property
    def pending_items(self) -> int:
        """See `Committer.pending_items`."""
        return len(self._pending)

    def submit(self, work: Work, size_bytes: int) -> asyncio.Future[Outcome]:
        """See `Committer.submit`."""
        if self._stopped:
            raise CommitterStopped
        limit = self._settings.max_pending_bytes
        if self._pending and self.pending_bytes + size_bytes > limit:
            raise Overloaded(self.pending_bytes, limit)
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._last_ticket += 1
        self._pending[self._last_ticket] = Pending(work, size_bytes, outcome)
        self.pending_bytes += size_bytes
        self._idle.clear()
        if self._transport is not None:
            self._transport.write(pack_work(self._last_ticket, work))
        return outcome

    async def drain(self) -> None:
        """See `Committer.drain`."""
        self._stopped = True
        await self._idle.wait()

    def abandon(self) -> None:
        """See `Committer.abandon`."""
        self._give_back("the server is stopping")

    async def run(self) -> None:
        """Keep a writer process running, until cancelled; then end it."""
        while True:
            try:
                await self._run_once()
            except OSError as error:
                # Too many files or processes now: what waits must not wait for ever.
                logger.error("the writer process could not be started: %s", error)  # noqa: TRY400 - the words are enough
            else:
                logger.error("the writer process ended by itself; another is started")
            self._deaths_in_a_row += 1
            if self._deaths_in_a_row >= self._settings.max_writer_deaths:
                self._give_back("the writer process ended again and again")
            delay = self._settings.writer_restart_seconds * self._deaths_in_a_row
            await asyncio.sleep(min(delay, self._settings.writer_restart_max_seconds))

    # What the process says.

    def connected(self, transport: asyncio.WriteTransport) -> None:
        """Learn that the process is ready; send it what waits, in order."""
        self._transport = transport
        for ticket, pending in self._pending.items():
            transport.write(pack_work(ticket, pending.work))
        self.ready.set()

    def received(self, content: object) -> None:
        """Learn that a group is on disk, or was not stored."""
        done = unpack_group(content)
        self._deaths_in_a_row = 0
        settled = [
            (pending, outcome)
            for ticket, outcome in done.outcomes
            if (pending := self._pending.pop(ticket, None)) is not None
        ]
        for pending, outcome in settled:
            self._settle(pending, outcome)
        self._watch.group_committed(
            GroupReport(
                len(settled),
                sum(pending.messages for pending, _ in settled),
                done.seconds,
                tuple(outcome for _, outcome in settled),
            )
        )
        if not self._pending:
            self._idle.set()

    def _give_back(self, reason: str) -> None:
        pending, self._pending = self._pending, {}
        for each in pending.values():
            self._settle(each, NotStored(reason))
        self._idle.set()

    def _settle(self, pending: Pending, outcome: Outcome) -> None:
        self.pending_bytes -= pending.size_bytes
        if not pending.outcome.done():
            pending.outcome.set_result(outcome)

    # One life of the process.

    async def _run_once(self) -> None:
        ours, theirs = socket.socketpair()
        locks = () if self._lock is None else (self._lock,)
        with ours:
            with theirs:
                for end in (ours, theirs):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
                    end.setblocking(False)
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    _MODULE,
                    str(theirs.fileno()),
                    pass_fds=(theirs.fileno(), *locks),
                    stdin=DEVNULL,
                    stdout=DEVNULL,
                )
            try:
                await self._talk(ours)
            finally:
                self._transport = None
                self.ready.clear()
                # The end of the stream is what tells the process to end.
                ours.close()
                await _unbroken(_ended(process, self._settings.close_deadline_seconds))

    async def _talk(self, ours: socket.socket) -> None:
        wire = _Wire(self)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: wire, sock=ours)
        try:
            given = self._settings.model_dump()
            # Left out of every dump; this one goes to nobody but our own process.
            given["database_password"] = self._settings.database_password
            transport.write(pack([given, self._store_id]))
            await wire.closed.wait()
        finally:
            transport.abort()
            await wire.closed.wait()


class _Wire(asyncio.Protocol):
    """Carries parcels between the link and one life of the process."""

    def __init__(self, link: WriterLink) -> None:
        self._link = link
        self._parcels = Parcels()
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        self.closed.set()

    def data_received(self, data: bytes) -> None:
        for content in self._parcels.feed(data):
            if content == READY:
                self._link.connected(self._transport)
            else:
                self._link.received(content)


async def _unbroken(work: Coroutine[object, object, None]) -> None:
    """Carry work to its end; being cancelled meanwhile is told only then.

    A server that stops just as its writer has fallen silent must still reap it, or the
    process goes on without anybody.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


async def _ended(process: Process, deadline_seconds: float) -> None:
    waiting = asyncio.create_task(process.wait())
    await asyncio.wait({waiting}, timeout=deadline_seconds)
    if not waiting.done():
        logger.error("the writer process does not end; it is killed")
        process.kill()
    await waiting


@asynccontextmanager
async def linked(
    settings: Settings,
    watch: CommitWatch,
    lock: int | None,
    store_id: str | None = None,
) -> AsyncIterator[WriterLink]:
    """Hold a link with a running writer process, which ends with the block.

    The process may start again while the server runs: with a `store_id` it commits to
    no other store than that one, whatever is under the address by then.

    Raises:
        StoreUnavailable: the process did not come up in time.
    """
    link = WriterLink(settings, watch, lock, store_id)
    running = asyncio.create_task(link.run(), name="writer process")
    patience = settings.writer_start_seconds
    try:
        try:
            async with asyncio.timeout(patience):
                await link.ready.wait()
        except TimeoutError:
            raise StoreUnavailable(
                "start its writer process",
                f"it was not ready in {patience:g} s; its own words are in the log",
            ) from None
        yield link
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
