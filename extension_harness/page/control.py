"""The control address for other processes: plain HTTP, JSON both ways."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from extension_harness.page.answers import json_response, number
from extension_harness.page.channel import Channel
from extension_harness.page.dialects.spelling import JsonObject
from extension_harness.page.errors import PageError
from extension_harness.page.live import Live
from extension_harness.page.state import PageState

ROOT = "/__control__"


class Control:
    """The verbs of the Python object, over HTTP. Errors are 400 with a `message`."""

    def __init__(self, state: PageState, live: Live, channel: Channel) -> None:
        self._state = state
        self._live = live
        self._channel = channel

    def routes(self) -> list[Route]:
        """Return the routes; only the plain listener has them."""
        return [
            Route(f"{ROOT}/ledger", self.ledger),
            Route(f"{ROOT}/status", self.status),
            Route(f"{ROOT}/switches", self.switches, methods=["GET", "POST"]),
            Route(f"{ROOT}/compare", self.compare, methods=["POST"]),
            Route(f"{ROOT}/live", self.live, methods=["POST"]),
            Route(f"{ROOT}/command", self.command, methods=["POST"]),
        ]

    async def ledger(self, _: Request) -> Response:
        """The whole ledger."""
        return json_response(self._state.ledger.as_dict())

    async def status(self, _: Request) -> Response:
        """Counts, and how many pages are open and ready."""
        return json_response(
            {
                "account": self._state.corpus.account,
                "conversations": len(self._state.corpus.conversations),
                "expected": len(self._state.ledger.expected()),
                "anomalies": len(self._state.ledger.anomalies()),
                "unserved": len(self._state.ledger.unserved()),
                "readyPages": self._channel.ready_pages(),
            }
        )

    async def switches(self, request: Request) -> Response:
        """Read the switches, or change some."""
        board = self._state.switches
        if request.method == "GET":
            return json_response(board.current.public())
        try:
            return json_response(board.set(**await _body(request)).public())
        except PageError as error:
            return _refused(error)

    async def compare(self, request: Request) -> Response:
        """Hold `{messages: […]}` against the ledger."""
        rows = (await _body(request)).get("messages")
        rows = rows if isinstance(rows, list) else []
        result = self._state.ledger.compare(rows)
        return json_response(
            {
                "equal": result.equal,
                "matched": result.matched,
                "missing": [message.as_dict() for message in result.missing],
                "unexpected": list(result.unexpected),
                "different": [dataclasses.asdict(each) for each in result.different],
                "duplicates": [list(scope) for scope in result.duplicates],
            }
        )

    async def live(self, request: Request) -> Response:
        """Post a message: `{conversationId?, text?, direction?, messy?, sentAtMs?}`."""
        body = await _body(request)
        try:
            message = self._live.post(
                _text(body, "conversationId"),
                _text(body, "text"),
                _text(body, "direction") or "inbound",
                _text(body, "messy"),
                sent_at_ms=number(body.get("sentAtMs")),
            )
        except PageError as error:
            return _refused(error)
        return json_response(message.as_dict())

    async def command(self, request: Request) -> Response:
        """Do `{name, messageId?, text?}`: recall, vanish, edit, repeat, reload, etc."""
        body = await _body(request)
        name, message_id = _text(body, "name") or "", _text(body, "messageId") or ""
        verbs: dict[str, Callable[[], object]] = {
            "recall": lambda: self._live.recall(message_id),
            "vanish": lambda: self._live.vanish(message_id),
            "edit": lambda: self._live.edit(message_id, _text(body, "text") or ""),
            "rename": lambda: self._live.rename(
                _text(body, "conversationId") or "", _text(body, "text") or ""
            ),
            "repeat": lambda: self._live.repeat(message_id),
        }
        for plain in ("reload", "drop-socket", "list"):
            verbs[plain] = partial(self._channel.broadcast, {"type": plain})
        if name not in verbs:
            known = ", ".join(verbs)
            return _refused(PageError(f"no command {name!r}; there are {known}"))
        try:
            verbs[name]()
        except PageError as error:
            return _refused(error)
        return json_response({"done": name})


async def _body(request: Request) -> JsonObject:
    try:
        value = json.loads(await request.body() or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(body: JsonObject, key: str) -> str | None:
    value = body.get(key)
    return value if isinstance(value, str) else None


def _refused(error: PageError) -> Response:
    return json_response({"message": str(error)}, 400)
