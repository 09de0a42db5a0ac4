"""The minimal authorization service, made to misbehave by a word in a file.

Run as a process: `python -m tests.bright_server.authorization.faulty_authority`. It
prints its port when it listens. `AUTHORITY_MODE` names the file with the word, read at
every question; `AUTHORITY_JOURNAL` the file that gets a line for every question.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from pathlib import Path

import uvicorn
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from tests.bright_server.authorization.minimal_authority import application

# Each is an answer that a service in trouble, or something before it, may give.
ANSWERS: dict[str, tuple[int, list[tuple[bytes, bytes]], bytes]] = {
    "500": (500, [], b"oops"),
    "503": (503, [(b"retry-after", b"1")], b""),
    "401": (401, [], b'{"result": "refused"}'),
    "403": (403, [], b'{"result": "refused"}'),
    "404": (404, [], b"not found"),
    "204": (204, [], b""),
    "redirect": (307, [(b"location", b"/elsewhere/v1/standings")], b""),
    "html": (200, [(b"content-type", b"text/html")], b"<h1>Sign in</h1>"),
    "empty": (200, [], b""),
    "not-utf-8": (200, [], b'{"questionId": "\xff"}'),
    "array": (200, [], b"[]"),
    "null": (200, [], b"null"),
    "no-fields": (200, [], b"{}"),
    "deep": (200, [], b"[" * 200_000),
    "oversized": (200, [], b'{"x": "' + b"x" * 2_000_000 + b'"}'),
    "gzip": (200, [(b"content-encoding", b"gzip")], b"\x1f\x8b\x08\x00"),
    "yes": (200, [], b'"yes"'),
}


async def faulty(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve, or misbehave as the file says now."""
    if scope["type"] != "http":
        return
    request = Request(scope, receive)
    body = await request.body()
    note(scope["path"], body.decode())
    mode = mode_now()
    if mode == "silent":
        await asyncio.Event().wait()
    if mode == "held":
        while mode_now() != "released":  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)
    if mode == "slow":
        await asyncio.sleep(0.2)
    if mode == "drip":
        await drip(send)
    if mode in ANSWERS:
        await answer(send, *ANSWERS[mode])
        return
    await application(scope, given(body), rewriting(mode, send))


def note(path: str, body: str) -> None:
    with Path(os.environ["AUTHORITY_JOURNAL"]).open("a") as journal:
        journal.write(json.dumps({"path": path, "body": body}) + "\n")


def mode_now() -> str:
    return Path(os.environ["AUTHORITY_MODE"]).read_text()


def given(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def rewriting(mode: str, send: Send) -> Send:
    """Spoil one field of a right answer, where the mode says which."""

    async def rewrite(message: Message) -> None:
        if message["type"] == "http.response.body" and mode.startswith("spoil "):
            _, name, text = mode.split(" ", 2)
            body = json.loads(message["body"])
            places = [body, *body.get("bindings", [])]
            for place in places:
                if name in place:
                    place[name] = json.loads(text)
                    if text == '"absent"':
                        del place[name]
            message["body"] = json.dumps(body).encode()
        elif message["type"] == "http.response.start" and mode.startswith("spoil "):
            message["headers"] = []
        await send(message)

    return rewrite


async def answer(
    send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    start = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})


async def drip(send: Send) -> None:
    """Answer a byte at a time, without an end."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": b" ", "more_body": True})
        await asyncio.sleep(0.02)


def main() -> None:
    bound = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    print(bound.getsockname()[1], flush=True)  # noqa: T201 - it is a program
    certificate = os.environ.get("AUTHORITY_CERTIFICATE")
    config = uvicorn.Config(
        faulty, log_level="critical", lifespan="off", ssl_certfile=certificate
    )
    uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
