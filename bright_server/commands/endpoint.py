"""`POST /v1/commands`: an operator asks for a command and waits for its outcome.

Guarded by the operator's credential, sent as a bearer token. What is wrong with an
order is said as a problem (RFC 9457); a command that was taken has an outcome, with
status 200 whatever it is.
"""

from __future__ import annotations

import hashlib
import hmac

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from bright_server.clock import Clock
from bright_server.commands.contract import Commander, CommandRequest
from bright_server.errors import FrameRefused, TooManyCommands
from bright_server.settings import Settings
from bright_server.wire.orders import (
    Order,
    outcome_text,
    problem_text,
    read_order,
)

PATH = "/v1/commands"


def route(
    commander: Commander, credential: str | None, settings: Settings, clock: Clock
) -> Route:
    """Return the route; without a credential it refuses everybody."""
    expected = None if credential is None else _digest(credential)

    async def endpoint(request: Request) -> Response:
        if (refused := _unauthorized(request, expected)) is not None:
            return refused
        try:
            order = await _order(request, settings)
        except FrameRefused as error:
            status = 413 if error.code == "order_too_large" else 400
            return _problem(status, error.code, error.message, error.path)
        asked = CommandRequest(
            order.name, order.arguments, clock.now_ms() + order.timeout_ms
        )
        try:
            told = await commander.ask(asked)
        except TooManyCommands as error:
            return _problem(503, "too_many_commands", str(error))
        text = outcome_text(told.command_id, told.outcome, told.reason)
        return Response(text, media_type="application/json")

    return Route(PATH, endpoint, methods=["POST"])


async def _order(request: Request, settings: Settings) -> Order:
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > settings.max_order_bytes:
                most = settings.max_order_bytes
                raise FrameRefused(
                    "order_too_large", f"an order has at most {most} bytes"
                )
    except ClientDisconnect:
        raise FrameRefused("malformed_json", "the body is not whole") from None
    order = read_order(bytes(body))
    if not 0 < order.timeout_ms <= settings.max_command_seconds * 1000:
        raise FrameRefused(
            "invalid_order",
            f"a command has 1 to {settings.max_command_seconds * 1000} ms",
            path="timeoutMs",
        )
    return order


def _unauthorized(request: Request, expected: bytes | None) -> Response | None:
    if expected is None:
        return _problem(
            403,
            "commands_off",
            "this server takes no commands: set BRIGHT_OPERATOR_CREDENTIAL_FILE",
        )
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    is_bearer = scheme.lower() == "bearer"
    if is_bearer and hmac.compare_digest(_digest(given.strip()), expected):
        return None
    refused = _problem(
        401, "credential_refused", "send the operator's credential as a bearer token"
    )
    refused.headers["www-authenticate"] = "Bearer"
    return refused


def _digest(credential: str) -> bytes:
    # Of equal length whatever was sent, so that comparing tells nothing by its time.
    return hashlib.sha256(credential.encode("utf-8", "surrogatepass")).digest()


def _problem(status: int, code: str, detail: str, path: str | None = None) -> Response:
    return Response(
        problem_text(status, code, detail, path),
        status_code=status,
        media_type="application/problem+json",
    )
