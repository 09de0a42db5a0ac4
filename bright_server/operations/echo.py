"""`WS /v1/conformance-echo`: sends back what it gets, for a conformance suite.

Only with `bright serve --conformance-echo`. It stands on the very stack, with the very
limits, that the extension's connection stands on, so what the suite finds here holds
there.
"""

from __future__ import annotations

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

PATH = "/v1/conformance-echo"


def route() -> WebSocketRoute:
    """Return the echo's route."""

    async def endpoint(websocket: WebSocket) -> None:
        try:
            await websocket.accept()
            while (message := await websocket.receive())["type"] == "websocket.receive":
                if message.get("text") is not None:
                    await websocket.send_text(message["text"])
                else:
                    await websocket.send_bytes(message["bytes"])
        except WebSocketDisconnect:
            pass  # the peer went away while it was answered

    return WebSocketRoute(PATH, endpoint)
