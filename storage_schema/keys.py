r"""Keys: "convert a value to a key", "compare two keys", and bytes for them.

A key is turned once into bytes whose byte order is the order of keys (number < Date <
string < binary < array), so that stores and indexes compare with memcmp alone. No
encoding is the beginning of another one. The tag FF is never used: ``encoding +
b"\xff"`` is just behind a key and all that begins with it. Tag, then:

* numbers, dates: the double, big-endian; negative ones under a lower tag, inverted;
* strings: UTF-8 of each UTF-16 code unit, 00 written as 00 FF, closed by 00;
* binary: the bytes, 00 written as 00 FF, closed by 00;
* arrays: the members, closed by 00.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, cast

from storage_schema.errors import DataError
from storage_schema.values import Array, Binary, Date, JsValue, code_units

BEHIND: Final = b"\xff"
"""Added to an encoding: the point just behind it."""
DEPTH_LIMIT: Final = 2000
"""How deep arrays in a key may nest, as in Chromium."""

NEGATIVE, NUMBER, EARLY, DATE, STRING, BINARY, ARRAY = (
    0x10,
    0x11,
    0x20,
    0x21,
    48,
    64,
    80,
)
_OPEN: Final = bytes([ARRAY])
_CLOSE: Final = b"\x00"
_INVERT: Final = bytes(255 - byte for byte in range(256))
_number_bytes: Final = Struct(">Bd").pack
_double: Final = Struct(">d").pack


def encode(value: object) -> bytes:
    """The bytes of a key; raises ``DataError`` for what is not a valid key."""
    encoded = encode_valid(value)
    if encoded is None:
        raise DataError(
            f"{_shown(value)} is not a valid key; keys are numbers, dates, strings, "
            "binary data and arrays of them"
        )
    return encoded


def encode_valid(value: object) -> bytes | None:
    """The bytes of a key, or None for what is not a valid key."""
    encoder = ENCODERS.get(type(value))
    if encoder is not None:
        return encoder(value)
    return _encode_subclass(value)


def compare(first: object, second: object) -> int:
    """``indexedDB.cmp``: -1, 0 or 1; raises ``DataError`` for an invalid key."""
    a, b = encode(first), encode(second)
    return (a > b) - (a < b)


def plain_key(value: object) -> JsValue:
    """A valid key as it is given back: arrays without extras, views as ArrayBuffers.

    Zero keeps its sign.
    """
    root: list[JsValue] = []
    pending: list[tuple[list[object], list[JsValue]]] = [([value], root)]
    while pending:
        members, target = pending.pop()
        for member in members:
            if isinstance(member, (list, Array)):
                inner: list[JsValue] = []
                target.append(inner)
                pending.append((list(_members(member) or ()), inner))
            elif isinstance(member, Binary):
                target.append(Binary(member.data))
            elif isinstance(member, Date):
                target.append(Date(member.ms))
            else:
                target.append(cast("JsValue", member))
    return root[0]


def is_broken(value: object) -> bool:
    """Whether an array, or one in it, has a hole, contains itself or is too deep."""
    open_arrays: list[tuple[int, Iterator[object]]] = [(0, iter([value]))]
    known: set[int] = set()
    while open_arrays:
        for member in open_arrays[-1][1]:
            if isinstance(member, (list, Array)):
                inner = _members(member)
                if inner is None or id(member) in known:
                    return True
                if len(open_arrays) > DEPTH_LIMIT:
                    return True
                known.add(id(member))
                open_arrays.append((id(member), inner))
                break
        else:
            known.discard(open_arrays.pop()[0])
    return False


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except RecursionError:
        return f"a deep {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _encode_subclass(value: object) -> bytes | None:
    """Subclasses of the types that are keys (an IntEnum, a StrEnum); a bool is none."""
    if isinstance(value, bool):
        return None
    for base, encoder in ENCODERS.items():
        if isinstance(value, base):
            return encoder(value)
    return None


def _encode_number(value: float) -> bytes | None:
    try:
        if value >= 0:
            return _number_bytes(NUMBER, value + 0.0)  # + 0.0 makes -0 a 0
        if value < 0:
            return b"\x10" + _double(value).translate(_INVERT)
    except OverflowError:
        return _encode_number(math.inf if value > 0 else -math.inf)
    return None


def _encode_date(value: Date) -> bytes | None:
    if value.ms >= 0:
        return _number_bytes(DATE, value.ms + 0.0)
    if value.ms < 0:
        return b"\x20" + _double(value.ms).translate(_INVERT)
    return None


def encode_text(value: str) -> bytes:
    """The bytes of a string key."""
    if value.isascii() or max(value) < "\ud800":
        raw = value.encode()
    else:
        raw = "".join(map(chr, code_units(value))).encode("utf-8", "surrogatepass")
    if "\0" in value:
        raw = raw.replace(b"\0", b"\0\xff")
    return b"0" + raw + b"\0"


def _encode_bytes(value: bytes) -> bytes:
    return b"@" + value.replace(b"\0", b"\0\xff") + b"\0"


def _encode_binary(value: Binary) -> bytes:
    return _encode_bytes(value.data)


def _members(value: list[object] | Array) -> Iterator[object] | None:
    """The members of an array, or None if it has a hole."""
    if isinstance(value, Array):
        if any(index not in value.own for index in range(value.length)):
            return None
        return iter([value.own[index] for index in range(value.length)])
    return iter(value)


def _encode_array(value: list[object] | Array) -> bytes | None:
    parts = [_OPEN]
    open_arrays: list[tuple[int, Iterator[object]]] = []
    members = _members(value)
    if members is None:
        return None
    open_arrays.append((id(value), members))
    known: set[int] = set()  # the arrays that are open, but for the outermost
    while open_arrays:
        for member in open_arrays[-1][1]:
            if isinstance(member, (list, Array)):
                inner = _members(member)
                if inner is None or id(member) in known or member is value:
                    return None
                if len(open_arrays) >= DEPTH_LIMIT:
                    return None
                known.add(id(member))
                parts.append(_OPEN)
                open_arrays.append((id(member), inner))
                break
            encoded = encode_valid(member)
            if encoded is None:
                return None
            parts.append(encoded)
        else:
            parts.append(_CLOSE)
            known.discard(open_arrays.pop()[0])
    return b"".join(parts)


Encoder = Callable[..., bytes | None]
ENCODERS: Final[dict[type, Encoder]] = {
    str: encode_text,
    int: _encode_number,
    float: _encode_number,
    list: _encode_array,
    Array: _encode_array,
    Date: _encode_date,
    Binary: _encode_binary,
    bytes: _encode_bytes,
}
