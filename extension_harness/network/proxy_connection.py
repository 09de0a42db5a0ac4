"""One connection through the fault proxy: two sockets and a thread for each direction.

It only carries: what becomes of a message is decided by the proxy, which is called with
each whole message and calls `forward`. What is no WebSocket passes as it is.
"""

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Callable
from typing import Literal

from extension_harness.network.websocket_frames import MessageCutter, WireMessage

Direction = Literal["to_server", "to_client"]
OnMessage = Callable[["Link", Direction, WireMessage], None]
CHUNK_BYTES = 65_536
CONNECT_SECONDS = 5.0
HEAD_END = b"\r\n\r\n"
# Compressed messages could not be read; a server that is offered nothing compresses
# nothing.
UPGRADE = re.compile(rb"\r\nupgrade: *websocket", re.IGNORECASE)
EXTENSIONS = re.compile(rb"\r\nsec-websocket-extensions:[^\r\n]*", re.IGNORECASE)


class Link:
    """A client's connection and the one made to the server for it."""

    def __init__(
        self,
        number: int,
        client: socket.socket,
        upstream: tuple[str, int],
        on_message: OnMessage,
    ) -> None:
        """Hold the client's socket; `start` connects to the server."""
        self.number = number
        self.open = True
        self._client = client
        self._server: socket.socket | None = None
        self._upstream = upstream
        self._on_message = on_message
        self._send_locks = {
            "to_server": threading.Lock(),
            "to_client": threading.Lock(),
        }
        self._state = threading.Condition()
        self._stalled: frozenset[Direction] = frozenset()
        self._silent = False
        self._upgraded = threading.Event()
        self._websocket = False

    def start(self) -> None:
        """Connect and carry, on own threads. Without a server: RST to the client."""
        threading.Thread(
            target=self._begin, name=f"proxy-link-{self.number}", daemon=True
        ).start()

    def forward(self, direction: Direction, data: bytes) -> None:
        """Send bytes on; waits while the direction is stalled; lost when it is gone."""
        with self._state:
            self._state.wait_for(
                lambda: direction not in self._stalled or not self.open
            )
            if self._silent or not self.open:
                return
        target = self._server if direction == "to_server" else self._client
        if target is None:
            return
        # Whoever releases a held message sends from another thread than the carrier.
        with self._send_locks[direction], contextlib.suppress(OSError):
            target.sendall(data)

    def stall(self, directions: frozenset[Direction]) -> None:
        """Say which directions stand still."""
        with self._state:
            self._stalled = directions
            self._state.notify_all()

    def half_open(self) -> None:
        """Drop the server's side by RST; keep the client's open and say nothing."""
        with self._state:
            self._silent = True
            self._state.notify_all()
        _reset(self._server)

    def cut(self) -> None:
        """RST to both ends."""
        self._finish()
        _reset(self._client)
        _reset(self._server)

    def hang_up(self) -> None:
        """FIN to both ends, without a close frame."""
        self._finish()
        _end(self._client)
        _end(self._server)

    def _finish(self) -> None:
        with self._state:
            self.open = False
            self._state.notify_all()
        self._upgraded.set()

    def _begin(self) -> None:
        try:
            self._server = socket.create_connection(self._upstream, CONNECT_SECONDS)
            self._server.settimeout(None)
        except OSError:
            self.cut()
            return
        if not self.open:  # cut while it was being made: nobody else knows of it
            _reset(self._server)
            return
        for each in (self._client, self._server):
            with contextlib.suppress(OSError):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(
            target=self._carry_answers, name=f"proxy-answers-{self.number}", daemon=True
        ).start()
        self._carry_requests()

    def _carry_requests(self) -> None:
        head, rest = self._read_head(self._client)
        self.forward("to_server", EXTENSIONS.sub(b"", head))
        if UPGRADE.search(head):
            self._upgraded.wait()  # is what follows frames? The server's answer tells
        self._carry(self._client, "to_server", rest)

    def _carry_answers(self) -> None:
        server = self._server
        if server is None:
            return
        head, rest = self._read_head(server)
        self._websocket = head.startswith(b"HTTP/1.1 101")
        self._upgraded.set()
        self.forward("to_client", head)
        self._carry(server, "to_client", rest)

    def _read_head(self, source: socket.socket) -> tuple[bytes, bytes]:
        data = b""
        while HEAD_END not in data:
            more = self._receive(source)
            if not more:
                return data, b""
            data += more
        head, _, rest = data.partition(HEAD_END)
        return head + HEAD_END, rest

    def _carry(self, source: socket.socket, direction: Direction, first: bytes) -> None:
        cutter = MessageCutter()
        data = first
        while True:
            if not self._websocket:
                self.forward(direction, data)
            else:
                for message in cutter.feed(data):
                    self._on_message(self, direction, message)
            data = self._receive(source)
            if not data:
                break
        self._ended(direction)

    def _receive(self, source: socket.socket) -> bytes:
        try:
            return source.recv(CHUNK_BYTES)
        except OSError:
            return b""

    def _ended(self, direction: Direction) -> None:
        """One side is gone: so must be the other, unless it is to hear nothing."""
        with self._state:
            silent, was_open = self._silent, self.open
        if silent and direction == "to_client":
            return
        if was_open:
            self.hang_up()


def _reset(target: socket.socket | None) -> None:
    """Close by RST: with a linger of zero nothing more is sent."""
    if target is None:
        return
    with contextlib.suppress(OSError):
        linger = struct.pack("ii", 1, 0)
        target.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        # Wakes the thread that reads it; close() alone would not, nor send the RST.
        target.shutdown(socket.SHUT_RD)
    with contextlib.suppress(OSError):
        target.close()


def _end(target: socket.socket | None) -> None:
    if target is None:
        return
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        target.close()
