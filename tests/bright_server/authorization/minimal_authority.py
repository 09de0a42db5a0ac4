"""The smallest authorization service that keeps the contract of docs/authority.md.

It reads its bindings from a JSON file at every question:

    [{"tokenSha256": "…", "bindingId": "desk", "accounts": ["2500000000001"],
      "authorizationVersion": 1, "standing": "valid"}]

    AUTHORITY_BINDINGS=bindings.json AUTHORITY_CREDENTIAL=… \
        uvicorn tests.bright_server.authorization.minimal_authority:application
"""

from __future__ import annotations

import hmac
import json
import os
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Binding = dict[str, Any]


def bindings() -> list[Binding]:
    known: list[Binding] = json.loads(
        Path(os.environ["AUTHORITY_BINDINGS"]).read_text()
    )
    return known


def is_bright(request: Request) -> bool:
    wanted = f"Bearer {os.environ['AUTHORITY_CREDENTIAL']}"
    given = request.headers.get("authorization", "")
    return hmac.compare_digest(given.encode(), wanted.encode())


async def authenticate(request: Request) -> Response:
    if not is_bright(request):
        return Response(status_code=401)
    asked = await request.json()
    answer: dict[str, Any] = {"questionId": asked["questionId"], "result": "refused"}
    for each in bindings():
        if each["tokenSha256"] == asked["tokenSha256"] and each["standing"] == "valid":
            answer |= {
                "result": "granted",
                "bindingId": each["bindingId"],
                "accounts": each["accounts"],
                "authorizationVersion": each["authorizationVersion"],
            }
    return JSONResponse(answer)


async def standings(request: Request) -> Response:
    if not is_bright(request):
        return Response(status_code=401)
    asked = await request.json()
    known = {each["bindingId"]: each for each in bindings()}
    unknown = {"standing": "revoked", "authorizationVersion": 0}
    found = [
        {
            "bindingId": binding_id,
            "standing": known.get(binding_id, unknown)["standing"],
            "authorizationVersion": known.get(binding_id, unknown)[
                "authorizationVersion"
            ],
        }
        for binding_id in asked["bindingIds"]
    ]
    return JSONResponse({"questionId": asked["questionId"], "bindings": found})


application = Starlette(
    routes=[
        Route("/v1/authenticate", authenticate, methods=["POST"]),
        Route("/v1/standings", standings, methods=["POST"]),
    ]
)
