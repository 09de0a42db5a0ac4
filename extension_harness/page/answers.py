"""Reading the page's requests and writing its answers; also its answers in trouble."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from extension_harness.page.errors import UnknownConversationError
from extension_harness.page.state import PageState
from extension_harness.page.switches import Switches
from extension_harness.page.truth import Conversation

LOGIN_URL = "https://login.alibaba.com/newlogin/icbuLogin.htm"
LOGIN_HTML = (
    "<!doctype html><html lang=en><head><title>Sign in</title></head>"
    "<body><form action=/newlogin/icbuLogin.htm><h1>Sign in</h1></form></body></html>"
)
CAPTCHA_HTML = (
    "<!doctype html><html lang=en><head><title>Captcha Interception</title></head>"
    '<body><div id="baxia-punish">Slide to verify</div></body></html>'
)
MAX_BODY_BYTES = 64 * 1024


def json_response(value: object, status: int = 200) -> Response:
    """Return ASCII JSON: lone surrogates travel as escapes, as the page has them."""
    return Response(json.dumps(value), status, media_type="application/json")


def error_response(code: int, message: str) -> Response:
    """Return the page's own form of a refusal: HTTP 200 with a code in the body."""
    return json_response({"code": str(code), "data": None, "message": message})


async def parameters(request: Request) -> dict[str, object]:
    """Return the `params` JSON of a form or a query, or the flat form itself."""
    raw = request.url.query
    if request.method == "POST":
        body = (await request.body())[:MAX_BODY_BYTES]
        if body[:1] == b"{":
            return _object(body.decode("utf-8", "replace"))
        raw = f"{raw}&{body.decode('ascii', 'replace')}"
    form = {key: values[-1] for key, values in parse_qs(raw).items()}
    nested = _object(form.pop("params", "{}"))
    return {**form, **nested}


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def number(value: object, default: int | None = None) -> int | None:
    """Return a number or digit string as an int; anything else is the default."""
    if isinstance(value, bool):
        return default
    if isinstance(value, int | float):
        return int(value)
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    return default


def find_conversation(
    state: PageState, params: Mapping[str, object]
) -> Conversation | None:
    """Return the conversation that a request names by any id, or None."""
    for key in ("conversationId", "cid", "conversationCode"):
        if isinstance(spelled := params.get(key), str) and spelled:
            try:
                return state.conversation(spelled)
            except UnknownConversationError:
                return None
    wanted = {str(params.get("aliId")), str(params.get("contactAliId"))}
    return next((c for c in state.conversations() if c.buyer_id in wanted), None)


async def trouble(state: PageState) -> Response | None:
    """Return the answer of a page in trouble, after the delay that is switched on."""
    switches = state.switches.current
    if switches.delay_ms:
        await asyncio.sleep(switches.delay_ms / 1000)
    return login_trouble(switches) or _refusal(switches)


def login_trouble(switches: Switches) -> Response | None:
    """Return what an expired login is answered, None while it is valid."""
    match switches.login:
        case "redirect":
            return RedirectResponse(LOGIN_URL, 302)
        case "html":
            return HTMLResponse(LOGIN_HTML)
        case "code":
            return error_response(401, "not login")
        case _:
            return None


def _refusal(switches: Switches) -> Response | None:
    if switches.captcha:
        return HTMLResponse(CAPTCHA_HTML)
    if switches.http_status != 200:
        headers = {"Retry-After": "2"} if switches.http_status == 429 else {}
        return Response("try later", switches.http_status, headers)
    return None
