"""A network between Bright and its database, in the hand of a test.

It listens on a port of its own and passes on what comes, until it is told otherwise: to
break a connection at one request, which arrives or does not, to carry nothing while
connections stay open, or to refuse everybody.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

_CHUNK_BYTES: Final = 65_536
_TAIL_BYTES: Final = 256
"""A mark may lie across two chunks; it is shorter than this."""


@dataclass(slots=True)
class Break:
    """Where a connection breaks: so many requests after one with these bytes.

    `arrives`: that request is passed on, and its answer is lost; else it is unheard.
    """

    mark: bytes
    after: int
    arrives: bool


class Link:
    """One connection to the proxy and its counterpart to the database."""

    def __init__(
        self, client: asyncio.StreamWriter, server: asyncio.StreamWriter
    ) -> None:
        self.client = client
        self.server = server
        self.loses_answers = False
        self.tail = b""
        self.breaks: Break | None = None
        """What is to come on this connection, for it had the mark."""

    def reset(self) -> None:
        """Break both ends as a network does: nothing of what waits is sent."""
        for writer in (self.client, self.server):
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
            writer.transport.abort()

    async def gone(self) -> None:
        """Wait until both ends are closed."""
        for writer in (self.client, self.server):
            with suppress(OSError):
                await writer.wait_closed()


class Proxy:
    """See the module; made by `between`."""

    def __init__(self, port: Callable[[], int]) -> None:
        self._upstream = port
        self._links: set[Link] = set()
        self._carrying: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._is_open = True
        self._break: Break | None = None
        self.struck = asyncio.Event()
        """Set when an armed fault has come about."""
        self.port = 0

    def break_once(self, mark: bytes, *, after: int = 0, arrives: bool) -> None:
        """Break the first connection on which these bytes are asked; see `Break`."""
        self.struck.clear()
        self._break = Break(mark, after, arrives)
        # What was asked before it was armed is no mark.
        for link in self._links:
            link.tail = b""

    def stall(self) -> None:
        """Carry nothing; connections stay open, and new ones are made to wait."""
        self._flows.clear()

    def shut(self) -> None:
        """Break every connection, and refuse new ones."""
        self._is_open = False
        for link in tuple(self._links):
            link.reset()

    async def heal(self) -> None:
        """Carry everything again; what waited meanwhile arrives now."""
        self._is_open = True
        self._flows.set()
        self._break = None
        for link in self._links:
            link.breaks = None

    def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry a connection that was made."""
        task = asyncio.ensure_future(self._carry(reader, writer))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)

    async def close(self) -> None:
        """Break every connection, and wait until none is left."""
        await self.heal()
        self.shut()
        await asyncio.gather(*self._carrying)

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            if not self._is_open:
                raise ConnectionRefusedError
            from_server, to_server = await asyncio.open_connection(
                "127.0.0.1", self._upstream()
            )
        except OSError:
            link = Link(writer, writer)
            link.reset()
            await link.gone()
            return
        link = Link(writer, to_server)
        self._links.add(link)
        try:
            pumps = (self._ask(reader, link), self._answer(from_server, link))
            await asyncio.gather(*map(asyncio.ensure_future, pumps))
        finally:
            self._links.discard(link)
            link.reset()
            await link.gone()

    async def _ask(self, reader: asyncio.StreamReader, link: Link) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK_BYTES):
                seen = link.tail + chunk
                link.tail = seen[-_TAIL_BYTES:]
                if self._is_reached(link, seen) and not link.loses_answers:
                    self.struck.set()
                    break
                await self._flows.wait()
                link.server.write(chunk)
                await link.server.drain()
        link.reset()

    def _is_reached(self, link: Link, seen: bytes) -> bool:
        """Say whether this request is the one at which the connection breaks."""
        if self._break is not None and self._break.mark in seen:
            link.breaks, self._break = self._break, None
        if link.breaks is None:
            return False
        link.breaks.after -= 1
        link.loses_answers = link.breaks.arrives and link.breaks.after < 0
        return link.breaks.after < 0

    async def _answer(self, reader: asyncio.StreamReader, link: Link) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK_BYTES):
                if link.loses_answers:
                    # It was answered, so it was done; and nobody hears of it.
                    self.struck.set()
                    break
                await self._flows.wait()
                link.client.write(chunk)
                await link.client.drain()
        link.reset()


@asynccontextmanager
async def between(port: Callable[[], int]) -> AsyncIterator[Proxy]:
    """Stand before the database that listens on the port which is asked for each time.

    Where a database goes to another port, connections that are made from then on do.
    """
    proxy = Proxy(port)
    listening = await asyncio.start_server(proxy.carry, "127.0.0.1", 0)
    proxy.port = listening.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listening.close()
        await proxy.close()
        await listening.wait_closed()
