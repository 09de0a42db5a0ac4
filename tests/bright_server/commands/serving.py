"""A server that takes commands, an operator, and an extension with a page."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.bright_server.frames import ACCOUNT, CONVERSATION, Frame, register_page
from tests.bright_server.processes import DEADLINE_SECONDS, Extension, Server

CREDENTIAL = "an operator's secret"
POST_SECONDS = 2 * DEADLINE_SECONDS
SEND = {
    "name": "message.send",
    "arguments": {
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "text": "hello",
    },
    "timeoutMs": 50_000,
}


@asynccontextmanager
async def page(
    server: Server, token: str, device: str = "device-1"
) -> AsyncIterator[Extension]:
    """An extension that has told of a page."""
    async with server.extension() as extension:
        await extension.greet(token, deviceId=device)
        await extension.ask(register_page())
        yield extension


def _post(
    server: Server, body: bytes, headers: dict[str, str]
) -> tuple[int, str, dict[str, Any]]:
    request = urllib.request.Request(
        f"http://{server.address}/v1/commands", body, headers, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=POST_SECONDS) as answer:  # noqa: S310
            return answer.status, answer.headers["content-type"], json.load(answer)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.headers["content-type"], json.load(answer)


async def post(
    server: Server, order: dict[str, Any] | bytes, credential: str | None = CREDENTIAL
) -> tuple[int, dict[str, Any]]:
    body = order if isinstance(order, bytes) else json.dumps(order).encode()
    headers = {} if credential is None else {"Authorization": f"Bearer {credential}"}
    status, kind, told = await asyncio.to_thread(_post, server, body, headers)
    assert kind.split(";")[0] == (
        "application/json" if status == 200 else "application/problem+json"
    )
    return status, told


async def commanded(extension: Extension) -> Frame:
    frame = await extension.receive()
    assert frame["type"] == "command"
    return frame


def operator(server: Server, credential: Path) -> tuple[list[str], dict[str, str]]:
    options = [
        f"--account={ACCOUNT}",
        f"--conversation={CONVERSATION}",
        f"--server=http://{server.address}",
        "--json",
    ]
    return options, {"BRIGHT_OPERATOR_CREDENTIAL_FILE": str(credential)}
