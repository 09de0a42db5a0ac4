"""The few rules of JavaScript that stored bytes depend on.

Both writings of the store must leave the same records also where an old record lacks a
field or an id has odd characters. So text, numbers and truth follow ECMAScript here,
and nowhere else in this package by chance.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from typing import TypeAlias

from storage_schema import UNDEFINED, compare

Number: TypeAlias = int | float

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE = re.compile("[\ud800-\udfff]")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_PLAIN_BELOW = 1e21
"""From here on ECMAScript writes numbers with an exponent."""


def field(record: Mapping[str, object], name: str) -> object:
    """A property: `UNDEFINED` where the record has none."""
    return record.get(name, UNDEFINED)


def is_absent(value: object) -> bool:
    """Whether `??` would go on to its right side: undefined or null."""
    return value is None or value is UNDEFINED


def is_truthy(value: object) -> bool:
    """ToBoolean: every object is true, an empty one too."""
    if is_absent(value) or value is False:
        return False
    if isinstance(value, int | float):
        return value != 0 and not math.isnan(value)
    return value != ""


def json_text(parts: Iterable[str]) -> str:
    """`JSON.stringify` of an array of texts: no spaces, lone surrogates escaped."""
    texts = list(parts)
    try:
        text = f"[{','.join(map(encode_basestring, texts))}]"  # much the fastest
    except TypeError:  # an id of an old record, or a caller's, that is no text
        text = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    if text.isascii():
        return text
    return _LONE.sub(_escaped, _PAIR.sub(_joined, text))


def _joined(pair: re.Match[str]) -> str:
    return pair.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _escaped(unit: re.Match[str]) -> str:
    return f"\\u{ord(unit.group()):04x}"


def text_of(value: object) -> str:
    """ToString of a primitive value."""
    if isinstance(value, str):
        return value
    if value is UNDEFINED:
        return "undefined"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number_text(value)
    return str(value)


def _number_text(value: Number) -> str:
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number.is_integer() and abs(number) < _PLAIN_BELOW:
        return _integer_text(number)
    digits = repr(number)
    if "e-05" in digits or "e-06" in digits:  # plain down to a millionth
        places = len(digits.split("e")[0].lstrip("-").replace(".", "")) + 5
        return f"{number:.{places}f}".rstrip("0")
    return re.sub(r"e([+-])0*(\d)", r"e\1\2", digits)


def _integer_text(number: float) -> str:
    """The shortest digits that name the double, filled up with zeros."""
    mantissa, _, exponent = repr(number).partition("e")
    if not exponent:
        return str(int(number))
    whole, _, fraction = mantissa.partition(".")
    return whole + fraction.ljust(int(exponent), "0")


def number_of(value: object) -> Number:
    """ToNumber of a primitive value; NaN for what is no number."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if value is None:
        return 0
    if isinstance(value, str):
        text = value.strip()
        if text == "":
            return 0
        return float(text) if _DECIMAL.fullmatch(text) else math.nan
    return math.nan


def greatest(values: Iterable[object]) -> Number:
    """`Math.max`: NaN as soon as one is no number."""
    numbers = [number_of(value) for value in values]
    return math.nan if any(map(math.isnan, numbers)) else max(numbers)


def least(values: Iterable[object]) -> Number:
    """`Math.min`: NaN as soon as one is no number."""
    numbers = [number_of(value) for value in values]
    return math.nan if any(map(math.isnan, numbers)) else min(numbers)


def is_less(left: object, right: object) -> bool:
    """`left < right`: two texts by their UTF-16 units, anything else as numbers."""
    if isinstance(left, str) and isinstance(right, str):
        return compare(left, right) < 0
    return number_of(left) < number_of(right)


def is_at_most(left: object, right: object) -> bool:
    """`left <= right` of two numbers: false, not the contrary of `>`, beside NaN."""
    return number_of(left) <= number_of(right)
