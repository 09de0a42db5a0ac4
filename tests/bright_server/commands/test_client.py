"""What `bright command` makes of answers that are not Bright's own."""

from __future__ import annotations

import asyncio
import json

import pytest

from bright_server.commands.client import Told, order
from bright_server.errors import CommandFailed
from tests.bright_server.processes import DEADLINE_SECONDS

NOT_BRIGHTS = {
    "a proxy's time-out": (504, b"Gateway Timeout"),
    "a proxy's page": (502, b"<html>Bad Gateway</html>"),
    "a fault": (500, b"Internal Server Error"),
    "cut short": (200, b'{"commandId":"x","outco'),
    "no outcome": (200, b"{}"),
    "not UTF-8": (200, b"\xff"),
}


async def told(name: str, status: int, body: bytes) -> Told:
    """What `order` returns when this answers it."""

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = (
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        await reader.readexactly(length)
        length = len(body)
        writer.write(
            f"HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n\r\n".encode()
        )
        writer.write(body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        asking = asyncio.to_thread(order, address, "x", name, {}, 1000)
        return await asyncio.wait_for(asking, DEADLINE_SECONDS)


@pytest.mark.parametrize(("status", "body"), NOT_BRIGHTS.values(), ids=NOT_BRIGHTS)
async def test_ot_62_an_answer_that_is_not_brights_leaves_the_delivery_unknown(
    status: int, body: bytes
) -> None:
    """OT-62: whoever takes it for a refusal sends the message a second time."""
    unknown = Told(None, "delivery_unknown", "connection_lost")
    assert await told("message.send", status, body) == unknown
    failed = Told(None, "failed", "connection_lost")
    assert await told("profile.snapshot", status, body) == failed


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (503, {"code": "too_many_commands", "detail": "later"}, "later"),
        (400, {"code": "invalid_order", "detail": "x", "path": "name"}, "(at name)"),
        (404, {}, "404, and not as Bright does"),
    ],
)
async def test_what_was_surely_not_taken_is_a_refusal(
    status: int, body: dict[str, str], words: str
) -> None:
    with pytest.raises(CommandFailed) as failed:
        await told("message.send", status, json.dumps(body).encode())
    assert words in str(failed.value)
