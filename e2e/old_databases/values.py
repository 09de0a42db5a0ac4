"""The harness's words for values (`storage/dump.py`) and the model's, to and fro."""

from __future__ import annotations

import math
from typing import Any

from storage_schema import UNDEFINED, Array, BigInt, Binary, Date, Map, RegExp, Set


def to_model(told: Any) -> Any:  # noqa: ANN401, C901, PLR0911 - one form a kind
    """The model's value for what the harness tells."""
    if isinstance(told, list):
        return [to_model(each) for each in told]
    if not isinstance(told, dict):
        return told
    match told:
        case {"$undefined": _}:
            return UNDEFINED
        case {"$number": text}:
            return float(text)
        case {"$bigint": text}:
            return BigInt(int(text))
        case {"$date": ms}:
            return Date(to_model(ms))
        case {"$bytes": digits, **more}:
            return Binary(bytes.fromhex(digits), more.get("$view"))
        case {"$map": entries}:
            return Map([(to_model(key), to_model(value)) for key, value in entries])
        case {"$set": items}:
            return Set([to_model(each) for each in items])
        case {"$regexp": source, "$flags": flags}:
            return RegExp(source, flags)
        case {"$array": length, "$own": own}:
            named = {int(k) if k.isdigit() else k: to_model(v) for k, v in own}
            return Array(length, named)
        case {"$object": pairs}:
            return {name: to_model(value) for name, value in pairs}
    return {name: to_model(value) for name, value in told.items()}


def from_model(value: Any) -> Any:  # noqa: ANN401, PLR0911 - one form a kind
    """What the harness tells of the model's value."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return _number(value)
        case BigInt():
            return {"$bigint": str(value.value)}
        case Date():
            return {"$date": _number(value.ms)}
        case Binary():
            view = {} if value.view is None else {"$view": value.view}
            return {"$bytes": value.data.hex(), **view}
        case list():
            return [from_model(each) for each in value]
        case Array():
            own = [[str(name), from_model(each)] for name, each in value.own.items()]
            return {"$array": value.length, "$own": own}
        case Map():
            return {"$map": [[from_model(k), from_model(v)] for k, v in value.entries]}
        case Set():
            return {"$set": [from_model(each) for each in value.items]}
        case RegExp():
            return {"$regexp": value.source, "$flags": value.flags}
        case dict():
            return _object(value)
    assert value is UNDEFINED, f"no word for {value!r}"
    return {"$undefined": True}


def key_from_model(key: Any) -> Any:  # noqa: ANN401 - any key
    """As `from_model`; the sign of a zero is no part of a key."""
    if isinstance(key, list):
        return [key_from_model(each) for each in key]
    return from_model(0 if key == 0 and isinstance(key, int | float) else key)


def _number(value: float) -> Any:  # noqa: ANN401 - JSON
    if math.isnan(value):
        return {"$number": "NaN"}
    if math.isinf(value):
        return {"$number": "Infinity" if value > 0 else "-Infinity"}
    if value == 0 and math.copysign(1, value) < 0:
        return {"$number": "-0"}
    return value


def _object(value: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    pairs = [[name, from_model(each)] for name, each in value.items()]
    if any(name.startswith("$") for name in value):
        return {"$object": pairs}
    return dict(pairs)
