"""Bright as a real process, and an extension's side of a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from bright_server.clock import SystemClock
from bright_server.messages import BindingId
from bright_server.stores.sqlite.store import bindings_opened
from tests.bright_server.frames import ACCOUNT, Frame, hello

DEADLINE_SECONDS = 60.0
BRIGHT = (sys.executable, "-m", "bright_server")
PATIENCE = {
    "authority_deadline_seconds": DEADLINE_SECONDS,
    "hello_deadline_seconds": DEADLINE_SECONDS,
    "request_deadline_seconds": DEADLINE_SECONDS,
}
"""What a server gives up after is said by the test that is about it. On a busy machine
the ordinary seconds may be over while this process waits for its turn, and a connection
ends with 4408 or 4503 in the middle of a test about something else."""


async def bright(*arguments: object, env: dict[str, str] | None = None) -> str:
    """What a command prints; it must succeed."""
    status, out, err = await bright_status(*arguments, env=env)
    assert status == 0, err
    return out


async def bright_status(
    *arguments: object, env: dict[str, str] | None = None
) -> tuple[int, str, str]:
    """A command's exit status, standard output and standard error."""
    process = await asyncio.create_subprocess_exec(
        *BRIGHT,
        *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | (env or {}),
    )
    out, err = await asyncio.wait_for(process.communicate(), DEADLINE_SECONDS)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def create_binding(database: Path | str, *accounts: str) -> dict[str, Any]:
    options = [f"--account={account}" for account in accounts or (ACCOUNT,)]
    made: dict[str, Any] = json.loads(
        await bright("binding", "create", "--json", f"--database={database}", *options)
    )
    return made


async def revoke_binding(database: Path, binding_id: str) -> None:
    """Revokes in this process, which takes a moment; a command takes long enough for a
    keep-alive to find it before the test's own frame does."""
    async with bindings_opened(database, SystemClock()) as bindings:
        await bindings.revoke(BindingId(binding_id), 1)


async def dumped(database: Path | str, kind: str) -> list[dict[str, Any]]:
    """The store's records of one kind, by `bright store dump`."""
    lines = (await bright("store", "dump", f"--database={database}")).splitlines()
    return [each for line in lines if (each := json.loads(line))["type"] == kind]


class Extension:
    """The other end of `/v1/extension`."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, frame: Frame | str | bytes) -> None:
        await self.socket.send(json.dumps(frame) if isinstance(frame, dict) else frame)

    async def receive(self) -> Frame:
        """The next frame that is no keepalive."""
        while True:
            text = await asyncio.wait_for(self.socket.recv(), DEADLINE_SECONDS)
            frame: Frame = json.loads(text)
            if frame["type"] != "keepalive":
                return frame

    async def ask(self, frame: Frame | str) -> Frame:
        await self.send(frame)
        return await self.receive()

    async def ask_ending(self, frame: Frame) -> Frame:
        """What comes after a frame for which the server may have closed already."""
        with suppress(ConnectionClosed):
            await self.send(frame)
        return await self.receive()

    async def greet(self, token: str, **changes: object) -> Frame:
        return await self.ask(hello(token, **changes))

    async def close_code(self) -> int:
        """Why the server closed the connection; whatever else it sends is read."""
        try:
            while True:
                await asyncio.wait_for(self.socket.recv(), DEADLINE_SECONDS)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006


class Server:
    """A running `bright serve`."""

    def __init__(self, process: asyncio.subprocess.Process, database: Path) -> None:
        self.process = process
        self.database = database
        self.port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @asynccontextmanager
    async def extension(
        self,
        *,
        subprotocols: Sequence[str] = ("bright.extension.v1",),
        origin: str | None = None,
        max_queue: int = 16,
    ) -> AsyncIterator[Extension]:
        async with connect(
            f"ws://{self.address}/v1/extension",
            subprotocols=[Subprotocol(each) for each in subprotocols] or None,
            origin=None if origin is None else Origin(origin),
            compression=None,
            max_queue=max_queue,
            open_timeout=DEADLINE_SECONDS,
        ) as socket:
            yield Extension(socket)

    async def get(self, path: str) -> tuple[int, str]:
        return await asyncio.to_thread(self._get, path)

    def _get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(
                f"http://{self.address}{path}", timeout=DEADLINE_SECONDS
            ) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, answer.read().decode()

    async def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit status and what the server said on stderr."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        _, err = await asyncio.wait_for(self.process.communicate(), DEADLINE_SECONDS)
        assert self.process.returncode is not None
        return self.process.returncode, err.decode()


@asynccontextmanager
async def serving(
    database: Path | str,
    *,
    port: int = 0,
    command: Sequence[str] = BRIGHT,
    **settings: object,
) -> AsyncIterator[Server]:
    """Bright on this database, listening and patient; killed at the end if it runs on.

    `command` is what is started in place of Bright's own.
    """
    given = PATIENCE | settings
    env = {f"BRIGHT_{name.upper()}": str(value) for name, value in given.items()}
    process = await asyncio.create_subprocess_exec(
        *command,
        "serve",
        "--json",
        f"--database={database}",
        f"--port={port}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | env,
    )
    server = Server(process, Path(database))
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), DEADLINE_SECONDS)
        assert line, (await server.end())[1]
        server.port = json.loads(line)["port"]
        yield server
    finally:
        if process.returncode is None:
            await server.end(signal.SIGKILL)
