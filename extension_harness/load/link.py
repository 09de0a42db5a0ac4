"""One real WebSocket of a model extension."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from extension_harness.model.events import (
    Event,
    FrameReceived,
    SocketClosed,
    SocketOpened,
)
from extension_harness.model.frames import SUBPROTOCOL

ABNORMAL = 1006
OPEN_SECONDS = 20.0


class Link:
    """Frames in order, both ways; what happens to it is told as events.

    It has to be dropped by its owner: after `drop` nothing is told any more.
    """

    def __init__(self, socket: int, url: str, told: Callable[[Event], None]) -> None:
        self._socket = socket
        self._url = url
        self._told: Callable[[Event], None] | None = told
        self._outgoing: asyncio.Queue[str | int] = asyncio.Queue()
        self._connection: ClientConnection | None = None
        self._task = asyncio.get_running_loop().create_task(self._run())

    def send(self, frame: Mapping[str, Any]) -> None:
        """Hands a frame to the socket."""
        self._outgoing.put_nowait(json.dumps(frame, ensure_ascii=False))

    def close(self, code: int) -> None:
        """Says goodbye after what was sent; nothing of it is heard any more."""
        self._told = None
        if self._connection is None:
            self._task.cancel()
        else:
            self._outgoing.put_nowait(code)

    def drop(self) -> None:
        """What becomes of it when its process is killed."""
        self._told = None
        if self._connection is not None:
            self._connection.transport.abort()
        self._task.cancel()

    def _tell(self, event: Event) -> None:
        if self._told is not None:
            self._told(event)

    async def _run(self) -> None:
        try:
            connection = await connect(
                self._url,
                subprotocols=[Subprotocol(SUBPROTOCOL)],
                compression=None,
                max_size=None,
                ping_interval=None,
                open_timeout=OPEN_SECONDS,
                close_timeout=1,
                proxy=None,
            )
        except Exception as error:  # noqa: BLE001 - refused, reset, late: all one here
            self._tell(SocketClosed(self._socket, ABNORMAL, type(error).__name__))
            return
        self._connection = connection
        self._tell(SocketOpened(self._socket))
        writer = asyncio.get_running_loop().create_task(self._write(connection))
        try:
            async for text in connection:
                self._tell(FrameReceived(self._socket, text))
        except ConnectionClosed:
            pass
        finally:
            writer.cancel()
        code = connection.close_code or ABNORMAL
        self._tell(SocketClosed(self._socket, code, connection.close_reason or ""))

    async def _write(self, connection: ClientConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                following = await self._outgoing.get()
                if isinstance(following, int):
                    await connection.close(following)
                    return
                await connection.send(following)
