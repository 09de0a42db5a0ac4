"""uvicorn as Bright runs it: how a connection ends that the server closes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.types import Receive, Scope, Send

from bright_server import http_server
from bright_server.http_server import HttpServer
from bright_server.settings import Settings

DEADLINE_SECONDS = 20
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
TEXT, CLOSE = 1, 8


def masked(opcode: int, data: bytes) -> bytes:
    """A whole frame as a client sends it, under the mask 0."""
    return bytes([0x80 | opcode, 0x80 | len(data)]) + bytes(4) + data


class ClosesLate:
    """An application that reads one frame and closes when it is told to."""

    def __init__(self) -> None:
        self.has_read = asyncio.Event()
        self.may_close = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await receive()
        self.has_read.set()
        await self.may_close.wait()
        # What the peer has sent meanwhile is never read.
        await send({"type": "websocket.close", "code": 4000})


@asynccontextmanager
async def served(
    application: ClosesLate, close_deadline_seconds: float
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A shaken-hands connection to a server with this application."""
    listening = asyncio.Event()

    async def nothing() -> None:
        pass

    server = HttpServer(
        application,
        Settings(port=0, close_deadline_seconds=close_deadline_seconds),
        drain=nothing,
        listening=listening.set,
    )
    server.config.host, server.config.port = "127.0.0.1", 0
    serving = asyncio.create_task(server.serve())
    await listening.wait()
    address = server.servers[0].sockets[0].getsockname()
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(HANDSHAKE)
        await reader.readuntil(b"\r\n\r\n")
        yield reader, writer
    finally:
        writer.close()
        server.should_exit = True
        await serving


async def test_frames_that_nobody_reads_any_more_do_not_hide_the_peers_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The peer answers our close frame, and the socket is let go of at once."""
    application = ClosesLate()
    taken = {text: asyncio.Event() for text in (b"3", b"late")}
    take = http_server._Protocol.data_received

    def noted(protocol: http_server._Protocol, data: bytes) -> None:
        take(protocol, data)
        for text, is_taken in taken.items():
            if data.endswith(text):
                is_taken.set()

    monkeypatch.setattr(http_server._Protocol, "data_received", noted)
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        served(application, close_deadline_seconds=600) as (reader, writer),
    ):
        writer.write(masked(TEXT, b"one"))
        await application.has_read.wait()
        # More than are read ahead, and one that comes after the close.
        for number in range(4):
            writer.write(masked(TEXT, b"%d" % number))
        await taken[b"3"].wait()
        application.may_close.set()
        head = await reader.readexactly(2)
        reason = await reader.readexactly(head[1])
        assert (head[0] & 15, reason) == (CLOSE, (4000).to_bytes(2, "big"))

        writer.write(masked(TEXT, b"late"))
        await taken[b"late"].wait()
        writer.write(masked(CLOSE, reason))
        assert await reader.read() == b""


async def test_a_peer_that_answers_no_close_is_let_go_of_after_the_setting() -> None:
    application = ClosesLate()
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        served(application, close_deadline_seconds=0.2) as (reader, writer),
    ):
        began = asyncio.get_running_loop().time()
        writer.write(masked(TEXT, b"one"))
        application.may_close.set()
        await reader.read()  # to the end
        # Not uvicorn's own ten seconds.
        assert asyncio.get_running_loop().time() - began < 9
