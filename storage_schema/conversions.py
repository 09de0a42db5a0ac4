"""JavaScript's ToString and ToNumber, and what WebIDL makes of numbers."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from typing import Final

from storage_schema.errors import JsTypeError
from storage_schema.values import (
    UNDEFINED,
    Array,
    BigInt,
    Binary,
    Boxed,
    Date,
    Function,
    Map,
    RegExp,
    Set,
    Symbol,
)

_SPACE: Final = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_ELEMENTS: Final = {
    "Int8Array": "<b",
    "Uint8Array": "<B",
    "Uint8ClampedArray": "<B",
    "Int16Array": "<h",
    "Uint16Array": "<H",
    "Int32Array": "<i",
    "Uint32Array": "<I",
    "Float32Array": "<f",
    "Float64Array": "<d",
    "BigInt64Array": "<q",
    "BigUint64Array": "<Q",
}
_DECIMAL: Final = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?)")
_RADIX: Final = re.compile(r"0([xX])([0-9a-fA-F]+)|0([oO])([0-7]+)|0([bB])([01]+)")
MAX_SAFE: Final = 2**53 - 1


def to_text(value: object) -> str:
    """ToString; raises ``JsTypeError`` for a symbol."""
    match value:
        case str():
            return value
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case int() | float():
            return number_text(value)
        case Boxed():
            return to_text(value.value)
        case list():
            return ",".join(_member_text(item) for item in value)
        case Array():
            items = (value.own.get(index) for index in range(value.length))
            return ",".join(map(_member_text, items))
        case Symbol():
            raise JsTypeError("a symbol has no text")
    return "undefined" if value is UNDEFINED else _object_text(value)


def sequence_of(value: object) -> list[object] | None:
    """The members of what WebIDL takes for a sequence, None for anything else."""
    match value:
        case list() | tuple() | set() | frozenset():
            return list(value)
        case Array():
            return [value.own.get(index, UNDEFINED) for index in range(value.length)]
        case Set():
            return list(value.items)
        case Map():
            return [list(entry) for entry in value.entries]
        case Boxed(value=str(text)):
            return list(text)
        case Binary(view=str(view)) if view in _ELEMENTS:
            return [item for (item,) in struct.iter_unpack(_ELEMENTS[view], value.data)]
    return None


def _member_text(value: object) -> str:
    return "" if value is None or value is UNDEFINED else to_text(value)


def _object_text(value: object) -> str:
    match value:
        case BigInt():
            return str(value.value)
        case Date():
            return "Invalid Date" if not value.is_valid else f"Date {value.ms}"
        case Binary(view=str(view)) if view in _ELEMENTS:
            return ",".join(map(to_text, sequence_of(value) or []))
        case Binary():
            return f"[object {value.view or 'ArrayBuffer'}]"
        case Map() | Set():
            return f"[object {type(value).__name__}]"
        case RegExp():
            return f"/{value.source}/{value.flags}"
        case Function():
            return "function () {}"
    return "[object Object]"


def number_text(value: float) -> str:
    """Number::toString in base ten."""
    number = float(value)
    if not math.isfinite(number):
        return (
            "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
        )
    if number == 0:
        return "0"
    sign, digits_, exponent = Decimal(repr(number)).as_tuple()
    digits = "".join(map(str, digits_)).rstrip("0")
    point = len(digits_) + int(exponent)
    minus = "-" if sign else ""
    if len(digits) <= point <= 21:
        return minus + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{minus}{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def to_number(value: object) -> float:
    """ToNumber; raises ``JsTypeError`` for a symbol and a BigInt."""
    match value:
        case bool() | int() | float():
            return _double(value)
        case None:
            return 0.0
        case BigInt() | Symbol() | Boxed(value=BigInt()):
            raise JsTypeError(f"{value!r} cannot be converted to a number")
        case Date():
            return float(value.ms)
        case Boxed():
            return to_number(value.value)
    if value is UNDEFINED:
        return math.nan
    return _text_number(to_text(value))


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _text_number(text: str) -> float:
    text = text.strip(_SPACE)
    if not text:
        return 0.0
    if _DECIMAL.fullmatch(text):
        return float(text)
    if text.lstrip("+-") == "Infinity" and len(text) <= 9:
        return -math.inf if text[0] == "-" else math.inf
    if found := _RADIX.fullmatch(text):
        bases = {"x": 16, "o": 8, "b": 2}
        return _double(int(text[2:], bases[found[0][1].lower()]))
    return math.nan


def enforce_range(value: object, limit: int, what: str) -> int:
    """WebIDL's ``[EnforceRange]`` of an unsigned integer; raises ``JsTypeError``."""
    if type(value) is int and 0 <= value <= limit:
        return value
    number = to_number(value)
    if math.isfinite(number) and 0 <= (whole := math.trunc(number)) <= limit:
        return whole
    raise JsTypeError(f"{what} must be a number from 0 to {limit}, not {value!r}")


def is_truthy(value: object) -> bool:
    """ToBoolean."""
    if isinstance(value, (list, dict)):
        return True
    if isinstance(value, float):
        return not math.isnan(value) and value != 0
    if isinstance(value, BigInt):
        return value.value != 0
    return bool(value)
