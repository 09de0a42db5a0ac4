"""Who may ask as an operator: the credential, as a bearer token.

Refusals and every other fault are problems (RFC 9457).
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from bright_server.wire.orders import problem_text


class OperatorGuard:
    """Knows the operator's credential; without one it refuses everybody."""

    def __init__(self, credential: str | None) -> None:
        self._expected: Final = None if credential is None else _digest(credential)

    def refusal(self, request: Request) -> Response | None:
        """Return why a request is not an operator's, or None where it is."""
        if self._expected is None:
            return problem(
                403,
                "commands_off",
                "this server takes no commands: set BRIGHT_OPERATOR_CREDENTIAL_FILE",
            )
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer"
        if is_bearer and hmac.compare_digest(_digest(given.strip()), self._expected):
            return None
        refused = problem(
            401,
            "credential_refused",
            "send the operator's credential as a bearer token",
        )
        refused.headers["www-authenticate"] = "Bearer"
        return refused


def problem(status: int, code: str, detail: str, path: str | None = None) -> Response:
    """Return a problem as an answer."""
    return Response(
        problem_text(status, code, detail, path),
        status_code=status,
        media_type="application/problem+json",
    )


def _digest(credential: str) -> bytes:
    # Of equal length whatever was sent, so that comparing tells nothing by its time.
    return hashlib.sha256(credential.encode("utf-8", "surrogatepass")).digest()
