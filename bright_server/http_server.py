"""uvicorn, as Bright runs it: our limits, our signals, and an end in good order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from bright_server.settings import Settings


class _Protocol(WebSocketsSansIOProtocol):
    """Lets go of a peer that does not read even the close frame; reads a frame ahead.

    Closing a transport waits for its buffer to be read; a peer that never does would
    hold the socket for good.

    The event of a text frame has its bytes too, as `utf8`: to encode its text again
    takes nearly as long as to parse it.
    """

    close_deadline = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.close_timeout = self.close_deadline  # the base class has one of its own

    def send_receive_event_to_app(self) -> None:
        # The base class stops reading at every frame and starts again when it is taken,
        # at two system calls each. Reading on to a second frame is as bounded.
        is_paused, self.read_paused = self.read_paused, True
        if not self._send_text_to_app():
            super().send_receive_event_to_app()
        self.read_paused = is_paused
        # After our close frame the peer's is still to be read, before anything else.
        if not is_paused and not self.close_sent and self.queue.qsize() > 1:
            self.read_paused = True
            self.transport.pause_reading()

    def _send_text_to_app(self) -> bool:
        """Give the application a text frame; what is none is the base class's to do."""
        if self.curr_msg_data_type != "text" or self.close_sent:
            return False
        frames = self.frames
        data = frames[0] if len(frames) == 1 else b"".join(frames)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return False
        event = {"type": "websocket.receive", "text": text, "utf8": data}
        self.queue.put_nowait(cast("Any", event))
        self.frames = []
        return True

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self.loop.call_later(self.close_timeout, self.transport.abort)


class _Requests(H11Protocol):
    """Lets go of a peer that connects and does not ask for anything in time.

    It counts in no limit of ours before its request is whole, and would hold a file
    descriptor for good.
    """

    request_deadline = 0.0
    _overdue: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_request()

    def _await_request(self) -> None:
        self._forget_deadline()
        self._overdue = self.loop.call_later(self.request_deadline, self._let_go)

    def _forget_deadline(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None

    def _let_go(self) -> None:
        is_http = self in self.connections  # a WebSocket has left them
        # There is none before the first request, whatever the base class declares.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if is_http and (cycle is None or cycle.response_complete):
            self.transport.abort()


def quiet(record: logging.LogRecord) -> bool:
    """Filter uvicorn's log: a peer's broken text is no fault of this program."""
    if record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError):
        record.exc_info = None
    return True


class HttpServer(uvicorn.Server):
    """Serves the application; on SIGTERM or SIGINT it drains before it closes."""

    def __init__(
        self,
        application: ASGIApp,
        settings: Settings,
        *,
        drain: Callable[[], Awaitable[None]],
        listening: Callable[[], None],
    ) -> None:
        protocol = type(
            "Protocol",
            (_Protocol,),
            {"close_deadline": settings.close_deadline_seconds},
        )
        requests = type(
            "Requests",
            (_Requests,),
            {"request_deadline": settings.request_deadline_seconds},
        )
        super().__init__(
            uvicorn.Config(
                application,
                ws=protocol,
                ws_max_size=settings.max_frame_bytes,
                ws_per_message_deflate=False,
                ws_ping_interval=settings.ping_interval_seconds,
                ws_ping_timeout=settings.ping_timeout_seconds,
                http=requests,
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        logging.getLogger("uvicorn.error").addFilter(quiet)
        self._drain = drain
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept, then say so."""
        await super().startup(sockets)
        self._listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, answer what was taken, then close what is left."""
        for server in self.servers:
            server.close()
        await self._drain()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Turn signals into an ordinary end, with exit status 0."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def _end(self) -> None:
        self.should_exit = True
