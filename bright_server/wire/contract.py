"""The machine-readable contract, generated from the frames' models. No I/O.

JSON Schema 2020-12 of every frame, and AsyncAPI 3 of the channel. The generated files
are checked in under `docs/contract/`; a test fails when they drift from the models.
"""

from __future__ import annotations

import json
from typing import Final, Literal, get_args

from pydantic import TypeAdapter

from bright_server.messages import RefusalCode
from bright_server.wire.answers import ErrorCode, ExtensionAnswer, RevokedReason
from bright_server.wire.commands import CommandReason, RouteReason
from bright_server.wire.requests import ExtensionRequest

Format = Literal["json-schema", "asyncapi"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_CHANNEL: Final = "extension"


def _frames(side: object) -> dict[str, str]:
    """Return the model's name for each `type` of one side."""
    union = get_args(side)[0]
    return {
        get_args(model.model_fields["type"].annotation)[0]: model.__name__
        for model in get_args(union)
    }


REQUESTS: Final = _frames(ExtensionRequest)
"""The model of each frame that an extension sends, by `type`."""

ANSWERS: Final = _frames(ExtensionAnswer)
"""The model of each frame that the server sends, by `type`."""


def contract_text(form: Format) -> str:
    """Return the contract as JSON text, stable from run to run."""
    document = json_schema() if form == "json-schema" else asyncapi()
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def json_schema() -> dict[str, object]:
    """Return JSON Schema: a frame of the channel is one of the two sides' frames."""
    sides = {
        "ExtensionRequest": TypeAdapter(ExtensionRequest).json_schema(
            by_alias=True, ref_template="#/$defs/{model}"
        ),
        "ExtensionAnswer": TypeAdapter(ExtensionAnswer).json_schema(
            by_alias=True, ref_template="#/$defs/{model}"
        ),
    }
    definitions: dict[str, object] = {}
    for name, side in sides.items():
        definitions |= side.pop("$defs")
        definitions[name] = side
    return {
        "$schema": _DIALECT,
        "title": "Frames of WS /v1/extension, protocol version 1",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in sides],
        "$defs": definitions,
        "x-error-codes": list(get_args(ErrorCode)),
        "x-rejected-codes": list(get_args(RefusalCode)),
        "x-revoked-reasons": list(get_args(RevokedReason)),
        "x-command-reasons": list(get_args(CommandReason)),
        "x-route-reasons": list(get_args(RouteReason)),
    }


def asyncapi() -> dict[str, object]:
    """Return AsyncAPI 3: the channel, its messages, and who sends which."""
    schema = json_schema()
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Bright, the extension's channel", "version": "1"},
        "defaultContentType": "application/json",
        "channels": {
            _CHANNEL: {
                "address": "/v1/extension",
                "description": "WebSocket subprotocol bright.extension.v1",
                "messages": {
                    kind: {"$ref": f"#/components/messages/{kind}"}
                    for kind in sorted({**REQUESTS, **ANSWERS})
                },
                "bindings": {"ws": {"method": "GET"}},
            }
        },
        "operations": {
            "receiveFromExtension": _operation("receive", sorted(REQUESTS)),
            "sendToExtension": _operation("send", sorted(ANSWERS)),
        },
        "components": {
            "messages": {
                kind: {
                    "name": kind,
                    "payload": {"$ref": f"#/components/schemas/{model}"},
                }
                for kind, model in sorted({**REQUESTS, **ANSWERS}.items())
            },
            "schemas": _rehomed(schema["$defs"]),
        },
    }


def _operation(action: str, kinds: list[str]) -> dict[str, object]:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{_CHANNEL}"},
        "messages": [
            {"$ref": f"#/channels/{_CHANNEL}/messages/{kind}"} for kind in kinds
        ],
    }


def _rehomed(value: object) -> object:
    """Return schemas whose references point to where AsyncAPI keeps them."""
    text = json.dumps(value).replace("#/$defs/", "#/components/schemas/")
    return json.loads(text)
