"""Tagged JSON to values: what a script writes becomes what a program would hand in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from storage_schema.conversions import to_number, to_text
from storage_schema.errors import FormatError
from storage_schema.values import (
    UNDEFINED,
    Array,
    BigInt,
    Binary,
    Boxed,
    Date,
    Detached,
    Function,
    Map,
    RegExp,
    Set,
    Symbol,
    from_code_units,
)

Json: TypeAlias = Any
"""Anything that ``json`` reads."""
Tagged: TypeAlias = dict[str, Json]
Labels: TypeAlias = dict[int, object]
_NO_INDEX: Final = 2**32 - 1


def value_of(form: Json, labels: Labels | None = None) -> Json:
    """The value of a tagged form; raises ``FormatError`` for an unknown tag."""
    labels = {} if labels is None else labels
    if isinstance(form, list):
        return [value_of(item, labels) for item in form]
    if not isinstance(form, dict):
        return form
    if "$" not in form:
        return {name: value_of(item, labels) for name, item in form.items()}
    tag = form["$"]
    if tag in _CONTAINERS:
        empty, fill = _CONTAINERS[tag]
        made = _labelled(form, empty(form), labels)
        fill(made, form.get("v", []), labels)
        return made
    if tag == "ref":
        return labels[form["v"]]
    if tag not in _SIMPLE:
        raise FormatError(f"unknown tag {tag!r} in {form!r}")
    return _labelled(form, _SIMPLE[tag](form), labels)


def array_index(name: int | str) -> int | None:
    """The array index that a property name is, or None."""
    text = str(name)
    if text.isascii() and text.isdigit() and (text == "0" or text[0] != "0"):
        return int(text) if int(text) < _NO_INDEX else None
    return None


def _labelled(form: Tagged, made: object, labels: Labels) -> Json:
    if "id" in form:
        labels[form["id"]] = made
    return made


def _fill_array(made: Array, properties: Json, labels: Labels) -> None:
    for name, item in properties:
        index = array_index(name)
        made.own[name if index is None else index] = value_of(item, labels)
        if index is not None and index >= made.length:
            made.length = index + 1


def _fill_object(made: dict[str, object], properties: Json, labels: Labels) -> None:
    for name, item in properties:
        made[to_text(value_of(name))] = value_of(item, labels)


def _fill_map(made: Map, entries: Json, labels: Labels) -> None:
    for key, item in entries:
        made.set(value_of(key, labels), value_of(item, labels))


def _fill_set(made: Set, members: Json, labels: Labels) -> None:
    for item in members:
        made.add(value_of(item, labels))


_CONTAINERS: Final[dict[str, tuple[Callable[[Tagged], Any], Callable[..., None]]]] = {
    "arr": (lambda form: Array(form["n"]), _fill_array),
    "obj": (lambda _: {}, _fill_object),
    "map": (lambda _: Map(), _fill_map),
    "set": (lambda _: Set(), _fill_set),
}


def _number(form: Tagged) -> float:
    return -0.0 if form["v"] == "-0" else to_number(form["v"])


def _date(form: Tagged) -> Date:
    return Date(to_number(form["v"]))


def _binary(form: Tagged) -> Binary:
    view, data = form.get("t") or "ArrayBuffer", bytes.fromhex(form["v"])
    if view != "ArrayBuffer":
        return Binary(data, view)
    around = b"\xee" * form.get("pad", 0)  # a buffer has no bytes outside it
    return Binary(around + data + around)


def _regexp(form: Tagged) -> RegExp:
    """``source`` and ``flags`` as JavaScript gives them back."""
    source, in_class, escaped = "", False, False
    for char in form["v"]:
        if char == "/" and not in_class and not escaped:
            source += "\\"
        if not escaped:
            in_class = char == "[" or (in_class and char != "]")
        written = _LINE_ENDS.get(char, char)
        source += written[1:] if escaped and char in _LINE_ENDS else written
        escaped = char == "\\" and not escaped
    return RegExp(source or "(?:)", "".join(sorted(form.get("f", ""))))


def _boxed(form: Tagged) -> object:
    """JavaScript's ``Object(v)``."""
    inner = value_of(form["v"])
    if inner is None or inner is UNDEFINED:
        return {}
    kinds = (bool, int, float, str, BigInt)
    return Boxed(inner) if isinstance(inner, kinds) else inner


def _nested(form: Tagged) -> object:
    made = value_of(form["v"])
    for _ in range(form["n"]):
        made = [made]
    return made


_LINE_ENDS: Final = {
    "\n": "\\n",
    "\r": "\\r",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_SIMPLE: Final[dict[str, Callable[[Tagged], object]]] = {
    "undefined": lambda _: UNDEFINED,
    "num": _number,
    "bigint": lambda form: BigInt(int(form["v"])),
    "u16": lambda form: from_code_units(form["v"]),
    "repeat": lambda form: form["v"] * form["n"],
    "date": _date,
    "bin": _binary,
    "regexp": _regexp,
    "box": _boxed,
    "nest": _nested,
    "function": lambda _: Function(),
    "symbol": lambda _: Symbol(),
    "detached": lambda _: Detached(),
}
