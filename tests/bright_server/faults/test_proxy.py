"""The network of the fault tests: it carries, loses, breaks, stalls and refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.bright_server.faults.proxy import Proxy, between

SECONDS = 20


class Shouting:
    """A server that answers each line in capitals, and remembers what it heard."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.port = 0

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(ConnectionError):
            while line := await reader.readline():
                self.heard.append(line)
                writer.write(line.upper())
        await closed(writer)


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


@asynccontextmanager
async def shouting() -> AsyncIterator[tuple[Shouting, Proxy]]:
    server = Shouting()
    serving: set[asyncio.Task[None]] = set()

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.ensure_future(server.serve(reader, writer)))

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    async with between(lambda: server.port) as proxy:
        yield server, proxy
    listening.close()
    await asyncio.wait_for(asyncio.gather(*serving), SECONDS)


class Client:
    """One connection, one line after the other."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, line: bytes) -> bytes:
        self.writer.write(line)
        return await self.answer()

    async def answer(self, seconds: float = SECONDS) -> bytes:
        return await asyncio.wait_for(self.reader.readline(), seconds)


@asynccontextmanager
async def client_of(proxy: Proxy) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield Client(reader, writer)
    finally:
        await closed(writer)


async def test_a_lost_answer_is_of_a_request_that_was_heard() -> None:
    async with shouting() as (server, proxy):
        async with client_of(proxy) as client:
            assert await client.ask(b"one\n") == b"ONE\n"
            proxy.break_once(b"COMMIT", arrives=True)
            with pytest.raises(ConnectionResetError):
                await client.ask(b"COMMIT\n")

        assert proxy.struck.is_set()
        assert server.heard == [b"one\n", b"COMMIT\n"]
        async with client_of(proxy) as client:
            assert await client.ask(b"COMMIT\n") == b"COMMIT\n"


async def test_a_connection_that_breaks_before_a_request_leaves_it_unheard() -> None:
    async with shouting() as (server, proxy), client_of(proxy) as client:
        proxy.break_once(b"COMMIT", arrives=False)
        assert await client.ask(b"one\n") == b"ONE\n"
        with pytest.raises(ConnectionResetError):
            await client.ask(b"COMMIT\n")

        assert proxy.struck.is_set()
        assert server.heard == [b"one\n"]


async def test_a_connection_breaks_so_many_requests_after_the_mark() -> None:
    async with shouting() as (server, proxy), client_of(proxy) as client:
        proxy.break_once(b"BEGIN", after=2, arrives=True)
        for line in (b"begin\n", b"BEGIN\n", b"one\n"):
            assert await client.ask(line) == line.upper()
        with pytest.raises(ConnectionResetError):
            await client.ask(b"two\n")

        assert server.heard[-1] == b"two\n"


async def test_a_stalled_network_carries_later_what_it_was_given() -> None:
    async with shouting() as (server, proxy), client_of(proxy) as client:
        assert await client.ask(b"one\n") == b"ONE\n"
        proxy.stall()
        client.writer.write(b"two\n")
        with pytest.raises(TimeoutError):
            await client.answer(0.1)
        assert server.heard == [b"one\n"]

        await proxy.heal()
        assert await client.answer() == b"TWO\n"


async def test_a_shut_network_breaks_who_is_there_and_refuses_who_comes() -> None:
    async with shouting() as (_, proxy):
        async with client_of(proxy) as client:
            assert await client.ask(b"one\n") == b"ONE\n"
            proxy.shut()
            with pytest.raises(ConnectionResetError):
                await client.ask(b"two\n")
        async with client_of(proxy) as client:
            with pytest.raises(ConnectionResetError):
                await client.ask(b"three\n")

        await proxy.heal()
        async with client_of(proxy) as client:
            assert await client.ask(b"four\n") == b"FOUR\n"
