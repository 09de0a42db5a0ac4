"""Asks a running server for a command, over HTTP.

No proxy of the environment is used and no redirect followed, so the credential goes to
the one address that was given.
"""

from __future__ import annotations

import http.client
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bright_server.errors import CommandFailed
from bright_server.wire.orders import order_text
from bright_server.wire.text import parse_json

_PATH = "/v1/commands"
_PAGES = "/v1/pages"
_PATIENCE_SECONDS = 15.0
"""Beyond the command's own time: the server's grace and the way there and back."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a server said of a command; `command_id` is None where it said nothing."""

    command_id: str | None
    outcome: str
    reason: str | None


def order(
    address: str,
    credential: str,
    name: str,
    arguments: dict[str, object],
    timeout_ms: int,
) -> Told:
    """Have a command carried out; wait for its outcome.

    A connection that breaks after the order was sent, or an answer that is not the
    server's own, as from a proxy before it, leaves it open what became of it:
    `delivery_unknown` for a message, else `failed`, with reason `connection_lost`.

    Raises:
        CommandFailed: the server cannot be reached, or has refused the order.
    """
    body = order_text(name, arguments, timeout_ms).encode()
    headers = {
        "Authorization": f"Bearer {credential}",
        "Content-Type": "application/json",
    }
    connection = _connection(address, timeout_ms / 1000 + _PATIENCE_SECONDS)
    try:
        _connect(connection, address)
        try:
            path = urlsplit(address).path + _PATH
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            told = _told(answer.status, answer.read())
        except (OSError, http.client.HTTPException):
            told = None
    finally:
        connection.close()
    if told is None:
        is_message = name == "message.send"
        outcome = "delivery_unknown" if is_message else "failed"
        return Told(None, outcome, "connection_lost")
    return told


def read_pages(address: str, credential: str) -> dict[str, Any]:
    """Return what `GET /v1/pages` tells.

    Raises:
        CommandFailed: the server cannot be reached, or has refused to tell.
    """
    headers = {"Authorization": f"Bearer {credential}"}
    connection = _connection(address, _PATIENCE_SECONDS)
    try:
        _connect(connection, address)
        try:
            connection.request("GET", urlsplit(address).path + _PAGES, headers=headers)
            answer = connection.getresponse()
            status, said = answer.status, _object(answer.read())
        except (OSError, http.client.HTTPException) as error:
            raise CommandFailed(f"{address} does not answer: {error}") from error
    finally:
        connection.close()
    if status != 200 or "pages" not in said:
        raise _refused(status, said)
    return said


def _connect(connection: http.client.HTTPConnection, address: str) -> None:
    try:
        connection.connect()
    except OSError as error:
        raise CommandFailed(
            f"{address} cannot be reached ({error.strerror or error}): nothing was"
            " sent; is `bright serve` running there?"
        ) from error


def _connection(address: str, seconds: float) -> http.client.HTTPConnection:
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port, timeout=seconds)
    return http.client.HTTPConnection(host, parts.port, timeout=seconds)


def _told(status: int, text: bytes) -> Told | None:
    """Return what was said of an order; None: nobody knows whether it was taken."""
    said = _object(text)
    if status == 200:
        outcome = said.get("outcome")
        if not isinstance(outcome, str):
            return None
        return Told(said.get("commandId"), outcome, said.get("reason"))
    if status >= 500 and "code" not in said:
        return None
    raise _refused(status, said)


def _object(text: bytes) -> dict[str, Any]:
    try:
        said = parse_json(text.decode())
    except (ValueError, RecursionError):
        said = None
    return said if isinstance(said, dict) else {}


def _refused(status: int, said: dict[str, Any]) -> CommandFailed:
    if "code" not in said:
        return CommandFailed(f"the server answered {status}, and not as Bright does")
    where = f" (at {said['path']})" if "path" in said else ""
    return CommandFailed(
        f"the server refused the order: {said['code']}: {said.get('detail')}{where}"
    )
