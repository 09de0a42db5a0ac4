"""`GET /v1/pages`: which pages are open, and what is wrong with them.

Guarded by the operator's credential: it names accounts and devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bright_server.operator_guard import OperatorGuard
from bright_server.wire.pages import PageFacts, pages_text

PATH = "/v1/pages"


def route(read: Callable[[], Sequence[PageFacts]], guard: OperatorGuard) -> Route:
    """Return the route; `read` tells of the pages of this moment."""

    async def endpoint(request: Request) -> Response:
        if (refused := guard.refusal(request)) is not None:
            return refused
        return Response(pages_text(read()), media_type="application/json")

    return Route(PATH, endpoint)
