"""The page's socket at the message host: JSON "LWP" frames, with or without bodies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from extension_harness.page.answers import number
from extension_harness.page.dialects import conversation_rows, events
from extension_harness.page.dialects.spelling import JsonObject
from extension_harness.page.errors import UnknownConversationError
from extension_harness.page.history import DEFAULT_COUNT
from extension_harness.page.serving import Serving
from extension_harness.page.truth import Message


class LwpSocket:
    """Answers the routes of the page's socket; all connections of one page server."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._open: set[WebSocket] = set()

    async def push(self, row: Message) -> None:
        """Push a new message to every connection, where the socket carries bodies."""
        state = self._serving.state
        if state.switches.current.lwp != "bodies":
            return
        chat = state.conversation(row.conversation_id)
        model = self._serving.spelled(row, chat, events.lwp_model)
        frame = {"lwp": "/s/message", "headers": {}, "body": model}
        for socket in list(self._open):
            with suppress(WebSocketDisconnect, RuntimeError):
                await socket.send_text(json.dumps(frame))
                state.shown("lwp", (row,))

    async def serve(self, socket: WebSocket) -> None:
        """Serve one connection; refused while the surface is off."""
        if self._serving.state.switches.current.lwp == "off":
            await socket.close(1008)
            return
        await socket.accept()
        registered = False
        self._open.add(socket)
        try:
            while True:
                frame = json.loads(await socket.receive_text())
                second = frame.get("lwp") == "/reg" and registered
                registered = registered or frame.get("lwp") == "/reg"
                await socket.send_text(json.dumps(self.answer(frame, second=second)))
        except (WebSocketDisconnect, ValueError):
            return
        finally:
            self._open.discard(socket)

    def answer(self, frame: JsonObject, *, second: bool = False) -> JsonObject:
        """Return the answer to a frame; clients match it by `mid`."""
        headers = frame.get("headers")
        mid = headers.get("mid") if isinstance(headers, dict) else None
        body = frame.get("body")
        arguments = body if isinstance(body, list) else []
        answered: JsonObject = {"code": 401 if second else 200, "headers": {"mid": mid}}
        if not second:
            answered["body"] = self._body(str(frame.get("lwp")), arguments)
        return answered

    def _body(self, route: str, arguments: Sequence[object]) -> JsonObject:
        bodies = self._serving.state.switches.current.lwp == "bodies"
        if route == "/reg":
            return {"unitName": "simulated", "timestamp": self._serving.state.now_ms()}
        if route == "/r/SyncStatus/getState":
            return {
                "pts": 1,
                "highPts": 1,
                "seq": 1,
                "topic": "sync",
                "tooLong2Tag": "",
            }
        if route == "/r/Conversation/listNewestPagination" and bodies:
            return self._conversations()
        if route == "/r/MessageManager/listUserMessages" and bodies:
            return self._messages(arguments)
        return {}

    def _conversations(self) -> JsonObject:
        rows = []
        for chat in self._serving.state.conversations()[:100]:
            latest = self._serving.state.latest(chat)
            place = self._serving.place(chat)
            model = events.lwp_model(latest, place) if latest else None
            at_ms = self._serving.state.latest_at_ms(chat)
            rows.append(conversation_rows.lwp_row(chat, model, at_ms))
        return {"userConvs": rows, "nextCursor": 0, "hasMore": False}

    def _messages(self, arguments: Sequence[object]) -> JsonObject:
        cid, _, cursor, count, *_ = (*arguments, "", None, None, None)
        try:
            chat = self._serving.state.conversation(str(cid))
        except UnknownConversationError:
            return {"userMessageModels": [], "nextCursor": 0, "hasMore": False}
        asked = number(count, DEFAULT_COUNT) or DEFAULT_COUNT
        return self._serving.lwp(chat, number(cursor), asked)
