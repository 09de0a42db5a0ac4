"""The Python forms of JavaScript's values.

None, bool, int and float, str, list and dict stand for null, booleans, numbers,
strings, dense arrays and plain objects. The classes here stand for the rest. Numbers
are IEEE doubles: an integral float and the int of its value are the same number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

_LATEST_MS: Final = 8.64e15


@final
class Undefined:
    """The type of ``UNDEFINED``; there is one of it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNDEFINED"

    def __bool__(self) -> bool:
        return False

    def __copy__(self) -> Undefined:
        return self

    def __deepcopy__(self, memo: object) -> Undefined:
        return self


UNDEFINED: Final = Undefined()


@dataclass(frozen=True, slots=True)
class BigInt:
    """A BigInt; never a valid key."""

    value: int


@dataclass(frozen=True, slots=True)
class Date:
    """A Date in milliseconds since 1970; NaN is the invalid date.

    A fraction is cut towards zero and a time that JavaScript cannot hold is invalid.
    """

    ms: float

    def __post_init__(self) -> None:
        valid = math.isfinite(self.ms) and abs(self.ms) <= _LATEST_MS
        object.__setattr__(self, "ms", int(self.ms) if valid else math.nan)

    @property
    def is_valid(self) -> bool:
        """Whether this is a point in time."""
        return not math.isnan(self.ms)


@dataclass(frozen=True, slots=True)
class Binary:
    """An ArrayBuffer, or a view of one when ``view`` names its class."""

    data: bytes
    view: str | None = None


@dataclass(frozen=True, slots=True)
class RegExp:
    """A regular expression by its source and flags."""

    source: str
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Boxed:
    """A wrapper object such as ``new Number(1)``; never a valid key."""

    value: bool | int | float | str | BigInt


@dataclass(slots=True, eq=False)
class Array:
    """An array with holes or named properties: its length and its own properties."""

    length: int
    own: dict[int | str, JsValue] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Map:
    """A Map: its entries in order."""

    entries: list[tuple[JsValue, JsValue]] = field(default_factory=list)

    def set(self, key: JsValue, value: JsValue) -> None:
        """Set an entry; an equal key keeps its place, -0 becomes 0."""
        key = _without_sign(key)
        for place, (known, _) in enumerate(self.entries):
            if _same_value_zero(known, key):
                self.entries[place] = (known, value)
                return
        self.entries.append((key, value))


@dataclass(slots=True, eq=False)
class Set:
    """A Set: its members in order."""

    items: list[JsValue] = field(default_factory=list)

    def add(self, value: JsValue) -> None:
        """Add a member unless an equal one is there; -0 becomes 0."""
        value = _without_sign(value)
        if not any(_same_value_zero(known, value) for known in self.items):
            self.items.append(value)


@dataclass(frozen=True, slots=True)
class Function:
    """A function: cannot be cloned."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol: cannot be cloned."""


@dataclass(frozen=True, slots=True)
class Detached:
    """An ArrayBuffer whose memory was given away: cannot be cloned."""


JsValue: TypeAlias = (
    Undefined
    | bool
    | int
    | float
    | str
    | BigInt
    | Date
    | Binary
    | RegExp
    | Boxed
    | Array
    | Map
    | Set
    | list["JsValue"]
    | dict[str, "JsValue"]
    | None
)
"""What the store gives back. What goes in is any ``object``, checked when cloned."""

JsKey: TypeAlias = int | float | str | Date | Binary | list["JsKey"]
"""A valid key as the store gives it back."""


def _without_sign(value: JsValue) -> JsValue:
    return 0 if type(value) is float and value == 0 else value


def is_nan(value: object) -> bool:
    """Whether a value is the number NaN."""
    return isinstance(value, float) and math.isnan(value)


def _same_value_zero(first: JsValue, second: JsValue) -> bool:
    """JavaScript's SameValueZero: objects by identity, NaN equals itself."""
    plain = (int, float, str, BigInt)
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, plain) and isinstance(second, plain):
        return first == second or (is_nan(first) and is_nan(second))
    return first is second


_SURROGATES = range(0xD800, 0xE000)


def code_units(text: str) -> list[int]:
    """The UTF-16 code units of a text, which may hold lone surrogates."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return list(memoryview(raw).cast("H")) if raw else []


def from_code_units(units: Iterable[int]) -> str:
    """The text of UTF-16 code units: pairs joined, lone surrogates kept."""
    raw = b"".join(unit.to_bytes(2, "little") for unit in units)
    return raw.decode("utf-16-le", "surrogatepass")


def utf16_length(text: str) -> int:
    """JavaScript's ``length`` of a text."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for char in text if char > "\uffff")


def is_well_formed(text: str) -> bool:
    """Whether a text has no lone surrogate."""
    return text.isascii() or not any(ord(char) in _SURROGATES for char in text)
