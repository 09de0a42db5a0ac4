"""A WebSocket server that does what a test's script says, where Bright never would.

It greets as Bright does and hears every frame; all else is the script's, which is
called once for each connection, on that connection's own thread. It stores nothing:
a test that goes on to the real Bright tells the extension another store's name, and so
gets everything sent again and judged by the usual oracle.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from extension_harness.errors import WaitTimeoutError
from extension_harness.waiting import countdown

Frame = dict[str, Any]
Script = Callable[["Talk"], None]
SUBPROTOCOL = Subprotocol("bright.extension.v1")


@dataclass(frozen=True)
class Heard:
    """One frame of the client: when (monotonic seconds), on which connection."""

    at: float
    connection: int
    frame: Frame = field(repr=False)

    @property
    def kind(self) -> str:
        """The frame's type."""
        return str(self.frame["type"])


class Talk:
    """One connection: what a script speaks through."""

    def __init__(
        self, server: ScriptedBright, number: int, link: ServerConnection
    ) -> None:
        """Made by the server for one connection."""
        self.number = number
        self._server = server
        self._link = link

    def receive(self, timeout: float | None = None) -> Frame | None:
        """The next frame; None when none came in time. Heard by the server, too."""
        try:
            frame: Frame = json.loads(self._link.recv(timeout))
        except TimeoutError:
            return None
        self._server.hear(self.number, frame)
        return frame

    def send(self, frame: Mapping[str, object] | str) -> None:
        """Send a frame, or a text that is none."""
        self._link.send(frame if isinstance(frame, str) else json.dumps(frame))

    def greet(self, *, heartbeat_ms: int = 15_000, in_flight: int = 8) -> None:
        """Take ``hello`` and answer it as Bright does."""
        hello = self.receive(60)
        assert hello is not None
        assert hello["type"] == "hello"
        self.send(
            {
                "type": "welcome",
                "requestId": hello["requestId"],
                "connectionId": f"scripted-{self.number}",
                "storeId": self._server.store_id,
                "serverTimeMs": int(time.time() * 1000),
                "heartbeatIntervalMs": heartbeat_ms,
                "authorizationVersion": 1,
                "accounts": list(self._server.accounts),
                "limits": {
                    "maxFrameBytes": 1_048_576,
                    "maxBatchMessages": 200,
                    "maxInFlightBatches": in_flight,
                },
            }
        )

    def acknowledge(self, batch: Frame, *numbers: int) -> None:
        """Confirm the messages of a batch with these numbers, or all."""
        chosen = numbers or range(len(batch["messages"]))
        self.send(
            {
                "type": "observation.ack",
                "requestId": batch["requestId"],
                "channelAccountId": batch["channelAccountId"],
                "conversationId": batch["conversationId"],
                "results": [
                    {
                        "candidateKey": batch["messages"][each]["candidateKey"],
                        "messageId": batch["messages"][each]["messageId"],
                        "status": "confirmed",
                        "duplicate": False,
                    }
                    for each in chosen
                ],
            }
        )

    def serve(self) -> None:
        """Confirm everything, and anchor every claim, until the client goes."""
        while (frame := self.receive()) is not None:
            self.answer(frame)

    def answer(self, frame: Frame) -> None:
        """Answer one frame as a server that knows nothing and takes everything."""
        if frame["type"] == "observation.batch":
            self.acknowledge(frame)
        elif frame["type"] == "heartbeat":
            answer = {"type": "heartbeat.ack", "requestId": frame["requestId"]}
            self.send({**answer, "authorizationVersion": 1, "serverTimeMs": 0})
        elif frame["type"] == "sync.complete":
            names = ("channelAccountId", "conversationId", "latestMessageId")
            anchor = {name: frame[name] for name in names}
            self.send({"type": "anchor.snapshot", "anchors": [anchor]})

    def ping(self) -> None:
        """A protocol ping, which no script of a page ever sees."""
        self._link.ping()

    def close(self, code: int) -> None:
        """Close with this code."""
        self._link.close(code)

    def reset(self) -> None:
        """End it by RST, without a close frame: 1006 to the client."""
        linger = struct.pack("ii", 1, 0)
        with contextlib.suppress(OSError):
            self._link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._link.socket.shutdown(socket.SHUT_RD)
            self._link.socket.close()


class ScriptedBright:
    """The server; use it as a context manager."""

    def __init__(
        self, script: Script, accounts: Sequence[str], store_id: str = "scripted"
    ) -> None:
        """Listen on a free port and run ``script`` for each connection."""
        self.script = script
        self.accounts = tuple(accounts)
        self.store_id = store_id
        self._changed = threading.Condition()
        self._heard: list[Heard] = []
        self._links: list[ServerConnection] = []
        self._server = serve(
            self._talk,
            "127.0.0.1",
            0,
            subprotocols=[SUBPROTOCOL],
            compression=None,
            ping_interval=None,
            close_timeout=1,
            max_size=2**21,
        )
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> ScriptedBright:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        with self._changed:
            links = list(self._links)
        for link in links:
            with contextlib.suppress(OSError):
                link.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    @property
    def url(self) -> str:
        """Where an extension connects."""
        port = self._server.socket.getsockname()[1]
        return f"ws://127.0.0.1:{port}/v1/extension"

    @property
    def connections(self) -> int:
        """How many there have been."""
        with self._changed:
            return len(self._links)

    def hear(self, connection: int, frame: Frame) -> None:
        """Note a frame of the client."""
        with self._changed:
            self._heard.append(Heard(time.monotonic(), connection, frame))
            self._changed.notify_all()

    def heard(self, kind: str | None = None) -> tuple[Heard, ...]:
        """What came, oldest first."""
        with self._changed:
            return tuple(each for each in self._heard if kind in (None, each.kind))

    def wait_for(
        self, kind: str, where: Callable[[Frame], bool], timeout: float
    ) -> Heard:
        """Wait for such a frame. Raises WaitTimeoutError."""
        left = countdown(timeout)
        with self._changed:
            while True:
                for each in self._heard:
                    if each.kind == kind and where(each.frame):
                        return each
                if not left():
                    what = f"such a {kind} at the scripted server"
                    raise WaitTimeoutError(what, timeout, f"{len(self._heard)} frames")
                self._changed.wait(left())

    def _talk(self, link: ServerConnection) -> None:
        with self._changed:
            self._links.append(link)
            number = len(self._links)
            self._changed.notify_all()
        with contextlib.suppress(ConnectionClosed, OSError):
            self.script(Talk(self, number, link))


def message_ids(batch: Frame) -> list[str]:
    """The ids of a batch's messages, in its order."""
    return [each["messageId"] for each in batch["messages"]]
