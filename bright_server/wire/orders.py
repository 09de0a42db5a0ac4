"""`POST /v1/commands` as text: the order, the outcome, the problem. No I/O."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from pydantic import ValidationError

from bright_server.errors import FrameRefused
from bright_server.wire.commands import (
    ARGUMENTS,
    Arguments,
    CommandName,
    CommandOrder,
)
from bright_server.wire.scalars import Frame
from bright_server.wire.text import compact_json, unstorable_path


@dataclass(frozen=True, slots=True)
class Order:
    """A right order: what is asked, and for how long it may be tried."""

    name: CommandName
    arguments: Arguments
    timeout_ms: int


def read_order(data: bytes) -> Order:
    """Return the order of a request's body.

    Raises:
        FrameRefused: it is none; with the code and the path of what is wrong.
    """
    try:
        body = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise FrameRefused("malformed_json", "the body must be one JSON object") from (
            error
        )
    order = cast("CommandOrder", _valid(CommandOrder, body))
    arguments = _valid(ARGUMENTS[order.name], order.arguments, "arguments")
    found = unstorable_path(arguments.model_dump(by_alias=True))
    if found is not None:
        message = "a lone surrogate or NUL can be sent nowhere"
        raise FrameRefused("invalid_order", message, path=f"arguments.{found}")
    return Order(order.name, cast("Arguments", arguments), order.timeout_ms)


def order_text(name: str, arguments: dict[str, object], timeout_ms: int) -> str:
    """Return the body of an order."""
    return compact_json({"name": name, "arguments": arguments, "timeoutMs": timeout_ms})


def outcome_text(command_id: str, outcome: str, reason: str | None) -> str:
    """Return the body that tells an outcome."""
    told = {"commandId": command_id, "outcome": outcome}
    return compact_json(told if reason is None else {**told, "reason": reason})


def problem_text(status: int, code: str, detail: str, path: str | None = None) -> str:
    """Return a problem (RFC 9457, section 3); `code` is stable."""
    problem: dict[str, object] = {
        "type": f"urn:bright:problem:{code}",
        "title": code.replace("_", " "),
        "status": status,
        "detail": detail,
        "code": code,
    }
    return compact_json(problem if path is None else {**problem, "path": path})


def _valid(model: type[Frame], value: object, *at: str) -> Frame:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join((*at, *map(str, first["loc"])))
        raise FrameRefused("invalid_order", first["msg"], path=path) from None
