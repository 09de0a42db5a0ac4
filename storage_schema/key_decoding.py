"""From the bytes of ``storage_schema.keys`` back to keys."""

from __future__ import annotations

from struct import Struct
from typing import Final

from storage_schema.keys import ARRAY, BINARY, EARLY, NEGATIVE, NUMBER, STRING
from storage_schema.values import Binary, Date, JsKey

_EXACT: Final = 2**53
_INVERT: Final = bytes(255 - byte for byte in range(256))
_double: Final = Struct(">d").unpack


def decode(encoded: bytes) -> JsKey:
    """The key that these bytes stand for: a new object wherever it could be changed.

    Binary comes back as an ArrayBuffer, -0 as 0, an integral number as an int.
    """
    tag = encoded[0]
    if tag == STRING and b"\0" not in encoded[1:-1]:
        return _text(encoded[1:-1])
    return _decode_any(encoded)


def _decode_any(encoded: bytes) -> JsKey:
    at, arrays = 0, list[list[JsKey]]()
    while True:
        tag = encoded[at]
        at += 1
        key: JsKey
        if tag == ARRAY:
            arrays.append([])
            continue
        if tag == 0:
            key = arrays.pop()
        elif tag in (STRING, BINARY):
            raw, at = _until_close(encoded, at)
            key = _text(raw) if tag == STRING else Binary(raw)
        else:
            number = _number(encoded[at : at + 8], inverted=tag in (NEGATIVE, EARLY))
            key = number if tag in (NEGATIVE, NUMBER) else Date(number)
            at += 8
        if not arrays:
            return key
        arrays[-1].append(key)


def _until_close(encoded: bytes, start: int) -> tuple[bytes, int]:
    end = encoded.index(0, start)
    while encoded[end + 1 : end + 2] == b"\xff":
        end = encoded.index(0, end + 2)
    return encoded[start:end].replace(b"\0\xff", b"\0"), end + 1


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        halves = raw.decode("utf-8", "surrogatepass")
        return halves.encode("utf-16-le", "surrogatepass").decode(
            "utf-16-le", "surrogatepass"
        )


def _number(raw: bytes, *, inverted: bool) -> int | float:
    value: float = _double(raw.translate(_INVERT) if inverted else raw)[0]
    if value.is_integer() and -_EXACT <= value <= _EXACT:
        return int(value)
    return value
