"""The simulator's own addresses: the SDK's data, the list, sending, static files."""

from __future__ import annotations

import asyncio
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from extension_harness.page import answers
from extension_harness.page.channel import Channel
from extension_harness.page.document import Timeline, customer_html, page_html
from extension_harness.page.errors import UnknownConversationError
from extension_harness.page.history import DEFAULT_COUNT
from extension_harness.page.live import Live
from extension_harness.page.lwp_socket import LwpSocket
from extension_harness.page.serving import LIST_PAGE, Serving

STATIC = Path(__file__).with_name("static")
PAGE_PATH = "/message/weblitePWA.htm"
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">'
    '<rect width="64" height="64" rx="8" fill="#c9ced6"/></svg>'
)


class SimulatorRoutes:
    """Documents, the SDK's data and the channel of one page."""

    def __init__(
        self,
        serving: Serving,
        live: Live,
        channel: Channel,
        lwp: LwpSocket,
        timeline: Timeline,
    ) -> None:
        self._serving = serving
        self._lwp = lwp
        self._state = serving.state
        self._live = live
        self._channel = channel
        self._timeline = timeline

    def routes(self) -> list[BaseRoute]:
        """Return the routes of the documents and of the simulator's own paths."""

        async def lwp_endpoint(socket: WebSocket) -> None:
            await self._lwp.serve(socket)

        async def channel_endpoint(socket: WebSocket) -> None:
            await self._channel.serve(socket)

        own = "/__simulator__"
        return [
            Route(PAGE_PATH, self.page),
            Route("/message/messenger.htm", self.page),
            Route("/message/alicrm.htm", self.customer),
            Route("/newlogin/icbuLogin.htm", self.login),
            Route("/kf/{name:path}", self.picture),
            Route("/smily/{name:path}", self.picture),
            Route(f"{own}/sdk/history", self.history, methods=["POST"]),
            Route(f"{own}/sdk/conversations", self.conversations, methods=["POST"]),
            Route(f"{own}/list", self.list, methods=["POST"]),
            Route(f"{own}/send", self.send, methods=["POST"]),
            Route(f"{own}/card", self.card, methods=["POST"]),
            Mount(f"{own}/static", StaticFiles(directory=STATIC)),
            WebSocketRoute(f"{own}/channel", channel_endpoint),
            WebSocketRoute("/", lwp_endpoint),
            Route("/", self.home),
        ]

    async def page(self, _: Request) -> Response:
        """The page itself, or what an expired login shows instead."""
        refused = answers.login_trouble(self._state.switches.current)
        if refused is not None:
            return refused
        response = HTMLResponse(page_html(self._serving, self._timeline))
        response.set_cookie("xman_us_t", "ctoken%3Dsimulated0ctoken%26x_user%3D1")
        response.set_cookie("_tb_token_", "simulated0tb")
        return response

    async def home(self, _: Request) -> Response:
        """Lead a human to the page."""
        return RedirectResponse(PAGE_PATH)

    async def customer(self, request: Request) -> Response:
        """The customer card's frame."""
        return HTMLResponse(customer_html(request.query_params.get("name", "")))

    async def login(self, _: Request) -> Response:
        """The login host's page."""
        return HTMLResponse(answers.LOGIN_HTML)

    async def picture(self, _: Request) -> Response:
        """Any picture of the content host."""
        return Response(_SVG, media_type="image/svg+xml")

    async def history(self, request: Request) -> Response:
        """The SDK's history, in the SDK's dialect."""
        if refused := await answers.trouble(self._state):
            return refused
        params = await answers.parameters(request)
        chat = answers.find_conversation(self._state, params)
        if chat is None or not self._state.switches.current.sdk:
            return answers.json_response({"data": [], "hasMore": False})
        count = answers.number(params.get("count"), DEFAULT_COUNT) or DEFAULT_COUNT
        cursor = answers.number(params.get("cursor"))
        return answers.json_response(self._serving.sdk(chat, cursor, count))

    async def conversations(self, request: Request) -> Response:
        """A page of the SDK's conversation list."""
        if refused := await answers.trouble(self._state):
            return refused
        params = await answers.parameters(request)
        count = answers.number(params.get("count"), LIST_PAGE) or LIST_PAGE
        cursor = answers.number(params.get("cursor"))
        return answers.json_response(self._serving.list_page(cursor, count))

    async def list(self, _: Request) -> Response:
        """The whole list, for the page's own display and its late global."""
        if refused := answers.login_trouble(self._state.switches.current):
            return refused
        return answers.json_response(self._serving.full_list())

    async def card(self, request: Request) -> Response:
        """The texts of a message's card, which the page gets after the message."""
        params = await answers.parameters(request)
        row = self._state.find(answers.number(params.get("messageId")) or 0)
        card = None if row is None else self._state.ledger.drew(row)
        if card is None:
            return answers.json_response({})
        drawn = {"title": card.title, "lines": list(card.lines)}
        return answers.json_response(drawn)

    async def send(self, request: Request) -> Response:
        """Send a message of the seller: an answer without an id [M42]."""
        params = await answers.parameters(request)
        text = str(params.get("content", ""))
        try:
            chat = self._state.conversation(str(params.get("cid", "")))
        except UnknownConversationError as error:
            return answers.error_response(404, str(error))
        echo = self._state.switches.current.send_echo
        before = echo == "before_promise"
        message = self._live.post(
            chat.conversation_id, text, "outbound", None, announce=before
        )
        if before:
            await asyncio.sleep(0.05)  # the echo is on its way first
        elif echo == "after_promise":
            loop = asyncio.get_running_loop()
            loop.call_later(0.3, self._live.repeat, message.message_id)
        return answers.json_response({"code": 200})
