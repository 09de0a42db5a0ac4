"""JavaScript's JSON text, lengths and digests, as the stored bytes depend on them."""

from __future__ import annotations

import hashlib
import json
from json.encoder import encode_basestring

from extension_harness.model.steps import Value
from storage_schema.onetalk.javascript import json_text, text_of


def utf16_length(text: str) -> int:
    """`text.length`."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for each in text if ord(each) > 0xFFFF)


def utf16_slice(text: str, end: int) -> str:
    """`text.slice(0, end)`: half a pair stays half a pair."""
    if text.isascii():
        return text[:end]
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * end]
    return units.decode("utf-16-le", "surrogatepass")


def is_well_formed(text: str) -> bool:
    """`text.isWellFormed()`: no lone surrogate."""
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


def well_formed(text: str) -> str:
    """`text.toWellFormed()`."""
    if is_well_formed(text):
        return text
    return "".join("�" if "\ud800" <= e <= "\udfff" else e for e in text)


def stringify(value: Value) -> str:
    """`JSON.stringify(value)` of a JSON value."""
    if isinstance(value, str):
        return encode_basestring(value) if value.isascii() else json_text([value])[1:-1]
    if isinstance(value, dict):
        inner = (f"{stringify(name)}:{stringify(one)}" for name, one in value.items())
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(stringify, value)) + "]"
    return text_of(value)


def to_text(value: Value) -> str:
    """`String(value)` of a JSON value."""
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, list):
        return ",".join("" if each is None else to_text(each) for each in value)
    return text_of(value)


def canonical_json(value: Value) -> str:
    """JSON with sorted keys: equal values give equal text."""
    if isinstance(value, dict):
        names = sorted(value, key=_units)
        inner = (f"{stringify(name)}:{canonical_json(value[name])}" for name in names)
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    return stringify(value)


def _units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def digest_of(value: Value) -> str:
    """SHA-256 of a value's canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def parsed(text: str) -> Value:
    """`JSON.parse(text)`; raises ValueError where that throws."""
    return json.loads(text)
