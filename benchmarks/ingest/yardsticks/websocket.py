"""Yardstick: the same frames over the bare WebSocket stack, answered without storage.

A child process with Bright's own stack (uvicorn, starlette) and a route that takes a
batch and answers an acknowledgement of the usual size. It neither decodes nor stores:
what is faster than this is not to be had on this stack.
"""

import json
import re
import socket
from functools import cache

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from benchmarks.ingest.load import SUBPROTOCOL

MAX_FRAME_BYTES = 1 << 20
_REQUEST_ID = re.compile(r'"requestId":"(\d+)"')
_CANDIDATE_KEY = json.dumps(
    [
        "2500000000001",
        "2500000000001-3500000000199#11011@icbu",
        "001750000054199",
        "1750000054199",
    ]
)


@cache
def _results(messages: int) -> str:
    one = {
        "candidateKey": _CANDIDATE_KEY,
        "messageId": "1750000054199",
        "status": "confirmed",
        "duplicate": False,
        "sequence": 1,
    }
    return json.dumps([one] * messages, separators=(",", ":"))


def _ack(text: str) -> str:
    found = _REQUEST_ID.search(text, 0, 100)
    request_id = found[1] if found else ""
    results = _results(text.count('"candidateKey"'))
    head = f'{{"type":"observation.ack","requestId":"{request_id}"'
    return f'{head},"results":{results}}}'


async def answer_without_storing(websocket: WebSocket) -> None:
    """Answer every batch with an acknowledgement as long as a real one."""
    await websocket.accept(subprotocol=SUBPROTOCOL)
    try:
        await websocket.receive_text()
        await websocket.send_text('{"type":"welcome"}')
        while True:
            text = await websocket.receive_text()
            await websocket.send_text(_ack(text))
    except WebSocketDisconnect:
        return


def main() -> None:
    """Run as a child: listen on a free port, say which, serve until ended."""
    listener = socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=[WebSocketRoute("/v1/extension", answer_without_storing)])
    config = uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_max_size=MAX_FRAME_BYTES,
        ws_per_message_deflate=False,
        log_level="warning",
    )
    host, port = listener.getsockname()
    print(json.dumps({"event": "listening", "host": host, "port": port}), flush=True)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
