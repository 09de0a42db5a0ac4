"""The pool of connections to the authorization service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from bright_server.authorization.service import AuthorityService
from bright_server.errors import AuthorityUnavailable
from bright_server.settings import Settings
from tests.bright_server.processes import DEADLINE_SECONDS

# From before connecting until after the answer; in this one process that takes few.
TURNS = 100


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def answering(handler: Handler) -> AsyncIterator[str]:
    """A service in this process; at the end every client has to have left it."""
    handled: list[asyncio.Task[None]] = []

    async def handle(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                await handler(reader, writer)
        finally:
            writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handled.append(asyncio.create_task(handle(reader, writer)))

    async with await asyncio.start_server(begin, "127.0.0.1") as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with asyncio.timeout(DEADLINE_SECONDS):
            await asyncio.gather(*handled)


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request, on the same connection, with a body that nobody reads."""
    while await reader.readuntil(b"\r\n\r\n"):
        await reader.readexactly(len(b"{}"))
        writer.write(b"HTTP/1.1 500 no\r\ncontent-length: 4\r\n\r\noops")


async def test_ot_60_a_question_given_up_at_any_moment_costs_no_place_in_the_pool() -> (
    None
):
    """OT-60: else each costs one, and with the last one no binding is ever valid."""
    settings = Settings(max_authority_newcomers=1, max_authority_questions=1)
    async with answering(refuse) as address:
        service = AuthorityService(address, settings)
        given_up = 0
        for turns in range(TURNS):
            asked = asyncio.create_task(service.ask("/v1/standings", b"{}"))
            for _ in range(turns):
                await asyncio.sleep(0)
            given_up += not asked.done()
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)

        async with asyncio.timeout(DEADLINE_SECONDS):
            with pytest.raises(AuthorityUnavailable, match="HTTP 500"):
                await service.ask("/v1/standings", b"{}")
        await service.close()

    assert 0 < given_up < TURNS, "some went before their answer, some after it"


async def test_ot_60_whoever_still_asks_when_the_service_is_closed_is_told_no() -> None:
    """OT-60: and no connection is left behind."""
    came = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        came.set()
        await reader.read()

    async with answering(silent) as address:
        service = AuthorityService(address, Settings())
        asked = asyncio.create_task(service.ask("/v1/standings", b"{}"))
        async with asyncio.timeout(DEADLINE_SECONDS):
            await came.wait()
            await service.close()
            with pytest.raises(AuthorityUnavailable, match="stopping"):
                await asked
