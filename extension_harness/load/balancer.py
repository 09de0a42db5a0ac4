"""Gives each connection to one of several servers, as what stands before them would."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from random import Random
from types import TracebackType
from typing import Self

_CHUNK = 65_536
_START_SECONDS = 10.0


class Balancer:
    """Listens on one port; a server that takes no connections is passed over.

    It runs in a thread of its own; use it as a context manager.
    """

    def __init__(self, host: str, ports: Sequence[int], random: Random) -> None:
        self._host = host
        self._ports = list(ports)
        self._random = random
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ending = asyncio.Event()
        self.port = 0
        self.given = dict.fromkeys(self._ports, 0)
        """How many connections each server was given."""

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._listening.wait(_START_SECONDS):
            raise TimeoutError("the balancer does not listen")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(_START_SECONDS)
        self._loop.close()

    def _run(self) -> None:
        # The coroutine is made here: of one that is never run Python complains.
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._join, self._host, 0)
        self.port = server.sockets[0].getsockname()[1]
        self._listening.set()
        await self._ending.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _join(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        for port in self._random.sample(self._ports, len(self._ports)):
            with contextlib.suppress(OSError):
                theirs = await asyncio.open_connection(self._host, port)
                self.given[port] += 1
                break
        else:
            writer.close()
            return
        their_reader, their_writer = theirs
        await asyncio.gather(_pump(reader, their_writer), _pump(their_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                writer.write(chunk)
                await writer.drain()
    finally:
        writer.close()
