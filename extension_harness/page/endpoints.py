"""The page's own HTTP addresses: history, lists, state, contact details, tokens."""

from __future__ import annotations

import json
import uuid

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from extension_harness.page.answers import (
    find_conversation,
    json_response,
    number,
    parameters,
    trouble,
)
from extension_harness.page.dialects.conversation_rows import (
    contact_detail,
    customer_card,
)
from extension_harness.page.dialects.spelling import JsonObject, opaque_id
from extension_harness.page.history import DEFAULT_COUNT
from extension_harness.page.serving import Serving
from extension_harness.page.truth import Conversation


class Endpoints:
    """The page's HTTP addresses over one `Serving`."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._state = serving.state

    def routes(self) -> list[Route]:
        """Return the routes of every address that the page's scripts call."""
        both = ["GET", "POST"]
        return [
            Route("/message/getChatMessageList.htm", self.legacy, methods=both),
            Route("/message/listRecentMessage.htm", self.recent, methods=both),
            Route("/message/manager/unread.htm", self.unread, methods=both),
            Route("/csrf/getToken.htm", self.csrf, methods=both),
            Route("/message/ajax/csrftoken.htm", self.csrf_data, methods=both),
            Route("/message/getChatMessageListExtra.htm", self.extra, methods=both),
            Route(
                "/message/listRecentConversationContactDetail.htm",
                self.contacts,
                methods=both,
            ),
            Route("/message/manager/getSubAccountList.htm", self.subs, methods=both),
            Route(
                "/jsonp/customerPluginQueryServiceI/queryCustomerInfo.json",
                self.customer,
            ),
        ]

    async def legacy(self, request: Request) -> Response:
        """`getChatMessageList.htm`: `timeSlide` {forward, timeStamp, pageSize}."""
        if not self._state.switches.current.http_legacy:
            return Response("Not Found", 404)
        if refused := await trouble(self._state):
            return refused
        params = await parameters(request)
        slide = params.get("timeSlide")
        slide = slide if isinstance(slide, dict) else {}
        chat = find_conversation(self._state, params)
        cursor = number(slide.get("timeStamp"))
        count = number(slide.get("pageSize"), DEFAULT_COUNT)
        if chat is None or self._state.switches.current.zombie:
            return json_response({"code": 200, "data": {"list": [], "hasMore": False}})
        return json_response(self._serving.legacy(chat, cursor, count or DEFAULT_COUNT))

    async def recent(self, request: Request) -> Response:
        """`listRecentMessage.htm`: pointTimeStamp, forward, count, conversationId."""
        if not self._state.switches.current.http_recent:
            return Response("Not Found", 404)
        if refused := await trouble(self._state):
            return refused
        params = await parameters(request)
        chat = find_conversation(self._state, params)
        cursor = number(params.get("pointTimeStamp"))
        count = number(params.get("count"), DEFAULT_COUNT)
        if chat is None or self._state.switches.current.zombie:
            empty: JsonObject = {"messageList": [], "hasMore": False}
            return json_response({"code": "200", "data": empty, "message": None})
        return json_response(self._serving.recent(chat, cursor, count or DEFAULT_COUNT))

    async def unread(self, _: Request) -> Response:
        """`unread.htm`: the login's state, conversations with unread messages."""
        if not self._state.switches.current.unread:
            return Response("Not Found", 404)
        if refused := await trouble(self._state):
            return refused
        data = self._serving.unread()
        return json_response({"code": "200", "data": data, "message": None})

    async def csrf(self, _: Request) -> Response:
        """The token of the form field `_csrf`."""
        return json_response(_csrf("X-XSRF-TOKEN", "_csrf"))

    async def csrf_data(self, _: Request) -> Response:
        """The token of the message host's forms."""
        return json_response(
            {"code": 200, "data": _csrf("X-XSRF-TOKEN", "_csrf_token_")}
        )

    async def extra(self, _: Request) -> Response:
        """`getChatMessageListExtra.htm`: flags, never a message."""
        return json_response({"existEnableFAQ": False, "contactDisabled": False})

    async def subs(self, _: Request) -> Response:
        """`getSubAccountList.htm`: the sub-accounts that own conversations [M31]."""
        owners = {chat.seller_id for chat in self._state.conversations()}
        others = sorted(owners - {self._state.corpus.account})
        rows = [{"aliId": owner, "name": "Sales"} for owner in others]
        return json_response({"code": "200", "data": rows, "message": None})

    async def contacts(self, request: Request) -> Response:
        """Contact details by encrypted ids, in another order than asked [M33]."""
        if refused := await trouble(self._state):
            return refused
        params = await parameters(request)
        wanted: set[str] = set()
        for key in ("contactEncryptAliIdList", "contactEncryptAccountIdList"):
            value = params.get(key)
            value = json.loads(value) if isinstance(value, str) else value
            wanted.update(map(str, value if isinstance(value, list) else []))
        found = [chat for chat in self._state.conversations() if self._is(chat, wanted)]
        rows = [contact_detail(chat, self._serving.place(chat)) for chat in found]
        return json_response({"code": "200", "data": {"contactDetailList": rows}})

    def _is(self, chat: Conversation, wanted: set[str]) -> bool:
        generation = self._state.switches.current.encrypted_generation
        known = {opaque_id(chat.buyer_id, generation)}
        known.add(opaque_id(chat.account_id, generation))
        return bool(known & wanted)

    async def customer(self, request: Request) -> Response:
        """`queryCustomerInfo`: JSONP; both objects are empty without `secReqToken`."""
        callback = "".join(
            each
            for each in request.query_params.get("callback", "cb")
            if each.isalnum() or each in "_$."
        )
        wanted = {request.query_params.get("buyerAccountId", "")}
        chat = next(
            (c for c in self._state.conversations() if self._is(c, wanted)), None
        )
        data: JsonObject = {"buyerInfo": {}, "alicrmCustomerInfo": {}}
        if chat is not None and request.query_params.get("secReqToken"):
            data = customer_card(chat, self._serving.place(chat))
            self._state.ledger.told_facts(chat)
        answer = json.dumps(
            {"success": chat is not None, "code": 200, "data": {"data": data}}
        )
        if chat is None or chat.number % 2:
            script = f"/**/ typeof {callback} === 'function' && {callback}({answer});"
        else:
            script = f"{callback}({answer})"
        return Response(script, media_type="application/javascript")


def _csrf(header: str, parameter: str) -> JsonObject:
    token = str(uuid.uuid4())
    return {"headerName": header, "parameterName": parameter, "token": token}
