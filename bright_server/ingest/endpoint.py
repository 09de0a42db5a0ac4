"""`WS /v1/extension`: who may shake hands, and the route itself.

A handshake that cannot be right is refused in HTTP, with the reason in words: an
unknown subprotocol, the other role's subprotocol (OT-64), a web page's origin, a full
server.
"""

from __future__ import annotations

from contextlib import suppress

from starlette.responses import PlainTextResponse
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from bright_server.ingest.hub import Hub
from bright_server.ingest.session import SUBPROTOCOL
from bright_server.settings import Settings

PATH = "/v1/extension"
_EXTENSION_ORIGIN = "chrome-extension://"


def route(hub: Hub, settings: Settings) -> WebSocketRoute:
    """Return the extension's route."""

    async def endpoint(websocket: WebSocket) -> None:
        refusal = handshake_refusal(
            websocket.scope["subprotocols"],
            websocket.headers.get("origin"),
            settings.allowed_extension_ids,
        )
        if refusal is None and hub.is_full:
            refusal = (
                503,
                "this server takes no more connections now: come back later",
            )
        with suppress(WebSocketDisconnect):  # gone before the handshake was over
            if refusal is None:
                await websocket.accept(SUBPROTOCOL)
                await hub.serve(websocket)
            else:
                status, reason = refusal
                await websocket.send_denial_response(
                    PlainTextResponse(f"{reason}\n", status_code=status)
                )

    return WebSocketRoute(PATH, endpoint)


def handshake_refusal(
    subprotocols: list[str], origin: str | None, allowed_extension_ids: tuple[str, ...]
) -> tuple[int, str] | None:
    """Return the HTTP status and the reason of a refusal, or None for a welcome."""
    if SUBPROTOCOL not in subprotocols:
        return 400, f"{PATH} speaks the subprotocol {SUBPROTOCOL} and no other"
    if origin is None:
        return None  # not a browser
    if not origin.startswith(_EXTENSION_ORIGIN):
        return 403, "a web page may not connect, only an extension"
    extension_id = origin.removeprefix(_EXTENSION_ORIGIN)
    if allowed_extension_ids and extension_id not in allowed_extension_ids:
        return 403, "this extension is not among BRIGHT_ALLOWED_EXTENSION_IDS"
    return None
