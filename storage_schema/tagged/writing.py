"""Values to tagged JSON: the plain form wherever it is possible.

Objects that appear more than once in a value are numbered in order of first appearance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from storage_schema.tagged.reading import Json, Tagged, array_index
from storage_schema.values import (
    UNDEFINED,
    Array,
    BigInt,
    Binary,
    Boxed,
    Date,
    Map,
    RegExp,
    Set,
    code_units,
    is_well_formed,
)


def form_of(value: object) -> Json:
    """The tagged form of one value."""
    writer = _Writer()
    writer.count(value)
    return writer.write(value)


def text_form(text: str) -> Json:
    """The form of a text: plain, or its code units if it has lone surrogates."""
    return text if is_well_formed(text) else {"$": "u16", "v": code_units(text)}


def _is_object(value: object) -> bool:
    kinds = (dict, list, Array, Map, Set, Date, Binary, RegExp, Boxed)
    return isinstance(value, kinds)


def _names_in_order(own: dict[Any, Any]) -> list[Any]:
    """Property names as JavaScript gives them: indexes first, then as made."""
    indexes = [name for name in own if array_index(name) is not None]
    return sorted(indexes, key=lambda name: array_index(name) or 0) + [
        name for name in own if array_index(name) is None
    ]


def _inside(value: object) -> Iterator[object]:
    match value:
        case dict():
            yield from (value[name] for name in _names_in_order(value))
        case Array():
            yield from (value.own[name] for name in _names_in_order(value.own))
        case list():
            yield from value
        case Set():
            yield from value.items
        case Map():
            for entry in value.entries:
                yield from entry


class _Writer:
    def __init__(self) -> None:
        self._uses: dict[int, int] = {}
        self._ids: dict[int, int] = {}

    def count(self, root: object) -> None:
        """Find the objects that appear more than once."""
        stack = [root]
        while stack:
            value = stack.pop()
            if _is_object(value):
                self._uses[id(value)] = self._uses.get(id(value), 0) + 1
                if self._uses[id(value)] == 1:
                    stack.extend(_inside(value))

    def write(self, value: Json) -> Json:
        match value:
            case None | bool():
                return value
            case str():
                return text_form(value)
            case int() | float():
                return _number_form(value)
            case BigInt():
                return {"$": "bigint", "v": str(value.value)}
        if value is UNDEFINED:
            return {"$": "undefined"}
        if id(value) in self._ids:
            return {"$": "ref", "v": self._ids[id(value)]}
        label: Tagged = {}
        if self._uses[id(value)] > 1:
            label = {"id": self._ids.setdefault(id(value), len(self._ids) + 1)}
        return self._write_object(value, label)

    def _write_object(self, value: Json, label: Tagged) -> Json:
        match value:
            case Date():
                ms = value.ms if value.is_valid else "NaN"
                return {"$": "date", "v": ms, **label}
            case Binary():
                view = {"t": value.view} if value.view else {}
                return {"$": "bin", "v": value.data.hex(), **view, **label}
            case RegExp():
                return {"$": "regexp", "v": value.source, "f": value.flags, **label}
            case Boxed():
                return {"$": "box", "v": self.write(value.value), **label}
            case Map():
                pairs = [[self.write(k), self.write(v)] for k, v in value.entries]
                return {"$": "map", "v": pairs, **label}
            case Set():
                return {"$": "set", "v": [self.write(v) for v in value.items], **label}
            case list() | Array():
                return self._write_array(value, label)
        return self._write_plain(value, label)

    def _write_array(self, value: list[object] | Array, label: Tagged) -> Json:
        array = value if isinstance(value, Array) else _opened(value)
        length, own = array.length, array.own
        names = _names_in_order(own)
        is_dense = len(names) == length and names == list(range(length))
        if is_dense and not label:
            return [self.write(own[name]) for name in names]
        pairs = [[_place_form(name), self.write(own[name])] for name in names]
        return {"$": "arr", "n": length, "v": pairs, **label}

    def _write_plain(self, value: dict[str, Any], label: Tagged) -> Json:
        names = _names_in_order(value)
        confusing = any(
            name in ("$", "__proto__") or not is_well_formed(name) for name in names
        )
        if label or confusing:
            pairs = [[text_form(name), self.write(value[name])] for name in names]
            return {"$": "obj", "v": pairs, **label}
        return {name: self.write(value[name]) for name in names}


def _place_form(name: int | str) -> int | str:
    """A property's name in ``arr``: all digits are written as a number."""
    return int(name) if str(name).isascii() and str(name).isdigit() else name


def _number_form(value: float) -> Json:
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return {"$": "num", "v": name}
    if value == 0 and math.copysign(1, value) < 0:
        return {"$": "num", "v": "-0"}
    return value


def _opened(value: list[Any]) -> Array:
    """A dense array in its general form."""
    return Array(len(value), dict(enumerate(value)))
