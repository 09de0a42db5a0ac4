"""The echo that a WebSocket conformance suite expects; off unless it is asked for.

It runs on the very stack, with the very limits, that the extension's channel runs on,
and knows nothing else of the server.
"""

from __future__ import annotations

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

PATH = "/v1/conformance-echo"


def route() -> WebSocketRoute:
    """Return `WS /v1/conformance-echo`, which sends every message back."""
    return WebSocketRoute(PATH, echo)


async def echo(websocket: WebSocket) -> None:
    """Send back what comes, as it comes, until the peer leaves."""
    await websocket.accept()
    try:
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            if text is None:
                await websocket.send_bytes(message["bytes"])
            else:
                await websocket.send_text(text)
    except WebSocketDisconnect:
        return
