"""`POST /v1/commands`: an operator asks for a command and waits for its outcome.

Guarded by the operator's credential, sent as a bearer token. What is wrong with an
order is said as a problem (RFC 9457); a command that was taken has an outcome, with
status 200 whatever it is.
"""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from bright_server.clock import Clock
from bright_server.commands.contract import Commander, CommandRequest
from bright_server.errors import FrameRefused, TooManyCommands
from bright_server.operator_guard import OperatorGuard, problem
from bright_server.settings import Settings
from bright_server.wire.orders import (
    Order,
    outcome_text,
    read_order,
)

PATH = "/v1/commands"


def route(
    commander: Commander, guard: OperatorGuard, settings: Settings, clock: Clock
) -> Route:
    """Return the route."""

    async def endpoint(request: Request) -> Response:
        if (refused := guard.refusal(request)) is not None:
            return refused
        try:
            order = await _order(request, settings)
        except FrameRefused as error:
            status = 413 if error.code == "order_too_large" else 400
            return problem(status, error.code, error.message, error.path)
        asked = CommandRequest(
            order.name, order.arguments, clock.now_ms() + order.timeout_ms
        )
        try:
            told = await commander.ask(asked)
        except TooManyCommands as error:
            return problem(503, "too_many_commands", str(error))
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
