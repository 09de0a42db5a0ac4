"""The load generator: a process that sends one round and reports how it was answered.

It prepares every frame before it says that it is ready, sends them when it is told to
go, and reads the answers' contents only after the last one came, so that it takes as
little as possible from the contender on the same machine.
"""

import asyncio
import json
import re
import sys
import time
from collections import Counter
from typing import Any

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from benchmarks.ingest.figures import percentile
from benchmarks.ingest.workload import Workload

SUBPROTOCOL = "bright.extension.v1"
_ACK = b'"observation.ack"'
_REQUEST_ID = re.compile(rb'"requestId"\s*:\s*"(\d+)"')
_HANDSHAKE_SECONDS = 10.0


class Refused(Exception):  # noqa: N818 — it reads as what the server did
    """The server answered with something else than an acknowledgement."""


class Connection(asyncio.Protocol):
    """One client: hello, then its batches with at most `in_flight` unanswered."""

    def __init__(
        self, uri: str, hello: bytes, frames: list[bytes], in_flight: int
    ) -> None:
        self._websocket = ClientProtocol(parse_uri(uri), subprotocols=[SUBPROTOCOL])  # type: ignore[list-item]
        self._hello = hello
        # Framed and masked beforehand: the contender shares this machine.
        self._frames = [(_request_id(frame), _framed(frame)) for frame in frames]
        self._in_flight = in_flight
        self._transport: asyncio.Transport
        self._text = b""
        self._sent_at: dict[bytes, float] = {}
        self._next = 0
        self.latencies: list[float] = []
        self.answers: list[bytes] = []
        loop = asyncio.get_running_loop()
        self.welcomed: asyncio.Future[None] = loop.create_future()
        self.finished: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Open the WebSocket."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        self._websocket.send_request(self._websocket.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Take what the server sent; pings are answered by the protocol itself."""
        self._websocket.receive_data(data)
        self._flush()
        for event in self._websocket.events_received():
            if isinstance(event, Response):
                if event.status_code != 101:
                    self._fail(f"the handshake was answered by {event.status_code}")
                    return
                self._websocket.send_text(self._hello)
                self._flush()
            elif isinstance(event, Frame):
                self._frame(event)

    def connection_lost(self, exc: Exception | None) -> None:
        """A connection that ends before its last answer has failed."""
        self._fail(f"the connection ended early: {self._websocket.close_exc}")

    def go(self) -> None:
        """Send the first batches."""
        for _ in range(min(self._in_flight, len(self._frames))):
            self._send_next()

    def close(self) -> None:
        """Leave."""
        self._websocket.send_close(1000)
        self._flush()
        self._transport.close()

    def _frame(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.CONT):
            return
        self._text += frame.data
        if frame.fin:
            text, self._text = self._text, b""
            self._message(text)

    def _message(self, text: bytes) -> None:
        if not self.welcomed.done():
            self.welcomed.set_result(None)
            return
        if _ACK not in text:
            if b'"keepalive"' not in text:
                self._fail(f"the server answered {text[:300].decode()}")
            return
        request_id = _REQUEST_ID.search(text)
        if request_id is None:
            self._fail(f"an acknowledgement without request id: {text[:300].decode()}")
            return
        sent_at = self._sent_at.pop(request_id[1], None)
        if sent_at is None:
            self._fail(f"an answer to nothing that is in flight: {request_id[1]!r}")
            return
        self.latencies.append(time.perf_counter() - sent_at)
        self.answers.append(text)
        if self._next < len(self._frames):
            self._send_next()
        elif not self._sent_at and not self.finished.done():
            self.finished.set_result(None)

    def _send_next(self) -> None:
        request_id, framed = self._frames[self._next]
        self._next += 1
        self._sent_at[request_id] = time.perf_counter()
        self._transport.write(framed)

    def _flush(self) -> None:
        self._transport.writelines(self._websocket.data_to_send())

    def _fail(self, why: str) -> None:
        for future in (self.welcomed, self.finished):
            if not future.done():
                future.set_exception(Refused(why))
                future.exception()  # the run reports the first one; the rest are echoes
        self._transport.abort()


def _request_id(frame: bytes) -> bytes:
    found = _REQUEST_ID.search(frame, 0, 100)
    assert found is not None, "the planned frames carry one"  # noqa: S101
    return found[1]


def _framed(frame: bytes) -> bytes:
    return Frame(Opcode.TEXT, frame).serialize(mask=True)


def hello(token: str, connection: int) -> bytes:
    """The first frame of a connection; each connection is a device of its own."""
    frame = {
        "type": "hello",
        "requestId": f"hello-{connection}",
        "protocolVersion": 1,
        "deviceId": f"bench-{connection}",
        "bootId": f"bench-boot-{connection}",
        "bindingToken": token,
        "extensionVersion": "0.0.0",
        "storeVersion": 10,
    }
    return json.dumps(frame).encode()


async def run(config: dict[str, Any]) -> None:
    """Prepare, say ready, wait for the word, send everything, report."""
    workload = Workload(**config["workload"])
    connections = await _connect(config, workload)
    _say({"ready": True})
    await asyncio.to_thread(sys.stdin.readline)
    began = time.perf_counter()
    for connection in connections:
        connection.go()
    # The first failure ends the run; without one this waits for the last answer.
    async with asyncio.timeout(config["deadlineSeconds"]):
        await asyncio.gather(*(connection.finished for connection in connections))
    seconds = time.perf_counter() - began
    for connection in connections:
        connection.close()
    latencies = [one for connection in connections for one in connection.latencies]
    _say(
        {
            "seconds": seconds,
            "p50Ms": percentile(latencies, 0.5) * 1000,
            "p99Ms": percentile(latencies, 0.99) * 1000,
            **_counts(connections),
        }
    )


async def _connect(config: dict[str, Any], workload: Workload) -> list[Connection]:
    loop = asyncio.get_running_loop()
    connections: list[Connection] = []
    for number in range(workload.connections):
        frames = [batch.to_frame() for batch in workload.of_connection(number)]
        _, connection = await loop.create_connection(
            lambda frames=frames, number=number: Connection(  # type: ignore[misc]
                config["uri"],
                hello(config["token"], number),
                frames,
                config["inFlight"],
            ),
            config["host"],
            config["port"],
        )
        async with asyncio.timeout(_HANDSHAKE_SECONDS):
            await connection.welcomed
        connections.append(connection)
    return connections


def _counts(connections: list[Connection]) -> dict[str, int]:
    statuses: Counter[str] = Counter()
    duplicates = 0
    for connection in connections:
        for answer in connection.answers:
            for result in json.loads(answer)["results"]:
                statuses[result["status"]] += 1
                duplicates += bool(result["duplicate"])
    return {
        "confirmed": statuses.pop("confirmed", 0),
        "duplicates": duplicates,
        "otherwise": statuses.total(),
    }


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    """Run as a child: the configuration comes as the first line of standard input."""
    try:
        asyncio.run(run(json.loads(sys.stdin.readline())))
    except (Refused, OSError, TimeoutError) as failure:
        _say({"error": f"{type(failure).__name__}: {failure}"})


if __name__ == "__main__":
    main()
