"""Structured clone: HTML "StructuredSerializeForStorage" and its way back.

Every value that enters or leaves the store is cloned, so that nobody outside holds what
is inside. Shared and cyclic references keep their shape. What JavaScript cannot clone
raises ``DataCloneError``, and so does what stands for no JavaScript value at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from storage_schema.errors import DataCloneError
from storage_schema.values import (
    Array,
    BigInt,
    Binary,
    Boxed,
    Date,
    JsValue,
    Map,
    RegExp,
    Set,
    Undefined,
)

Copier: TypeAlias = Callable[[JsValue], JsValue]
_Container: TypeAlias = Any  # a dict or a list, by ``type``
Stored: TypeAlias = tuple[JsValue, Copier]
"""A value inside the store, and the cheapest way to make a clone of it."""

_EXACT: Final = 2**53
_MOST_PARTS: Final = 256  # in a tree, which bounds its depth too
_TEXT: Final = frozenset({str})
_IMMUTABLE: Final = frozenset(
    {type(None), bool, int, float, str, Undefined, Date, BigInt, Binary, RegExp, Boxed}
)


def itself(value: JsValue) -> JsValue:
    """The copier of what nobody can change."""
    return value


# The copier of a plain object without objects in it.
_flat: Final[Copier] = cast("Copier", dict.copy)


def take_in(value: object) -> Stored:
    """Clone a value for keeping; raises ``DataCloneError``."""
    if type(value) is dict:
        copy: dict[str, JsValue] = value.copy()
        if _is_flat(copy):
            return copy, _flat
    elif type(value) in _IMMUTABLE:
        return _immutable(value), itself
    if type(value) is dict or type(value) is list:
        try:
            return _tree_of(value, set()), _copy_of_tree
        except _NotATreeError:
            pass
    return clone(value), clone


def _is_flat(fields: dict[str, Any]) -> bool:
    """Whether nothing in a plain object can be changed; makes its numbers doubles."""
    for name, item in fields.items():
        kind = type(item)
        if kind is int:
            if item > _EXACT or item < -_EXACT:
                fields[name] = _immutable(item)
        elif kind is not str and kind not in _IMMUTABLE:
            return False
        if type(name) is not str:
            return False
    return True


class _NotATreeError(Exception):
    """The value is more than objects and arrays, or has shared or deep parts."""


def _tree_of(value: _Container, seen: set[int]) -> JsValue:
    """A clone of what JSON could say too; raises ``_NotATreeError`` for the rest.

    The general way does the same; this one is quick, for nearly all records.
    """
    if id(value) in seen or len(seen) >= _MOST_PARTS:
        raise _NotATreeError
    seen.add(id(value))
    copy = value.copy()
    places = copy.items() if type(copy) is dict else enumerate(copy)
    for place, item in places:
        kind = type(item)
        if kind is dict or kind is list:
            copy[place] = _tree_of(item, seen)
        elif kind is int:
            copy[place] = _number(item)
        elif kind not in _IMMUTABLE:
            raise _NotATreeError
    if type(copy) is dict and not _TEXT.issuperset(map(type, copy)):
        raise _NotATreeError
    return cast("JsValue", copy)


def _copy_of_tree(value: JsValue) -> JsValue:
    """The copier of what ``_tree_of`` made."""
    copy = cast("_Container", value).copy()
    for place, item in copy.items() if type(copy) is dict else enumerate(copy):
        kind = type(item)
        if kind is dict or kind is list:
            copy[place] = _copy_of_tree(item)
    return cast("JsValue", copy)


def clone(value: object) -> JsValue:
    """A clone of a value that may be nested, shared and cyclic."""
    return _Cloning().run(value)


def _number(value: int) -> int | float:
    """An int as the double that JavaScript has for it."""
    if -_EXACT <= value <= _EXACT:
        return value
    try:
        rounded = float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return rounded


def _immutable(value: object) -> JsValue:
    if type(value) is int:
        return _number(value)
    return cast("JsValue", value)


_SHELLS: Final[dict[type, Callable[[Any], JsValue]]] = {
    dict: lambda _: {},
    list: lambda _: [],
    Array: lambda array: Array(array.length),
    Map: lambda _: Map(),
    Set: lambda _: Set(),
    bytes: Binary,
    str: str.__str__,
    int: lambda number: _number(int(number)),
    float: float.__float__,
}
"""An empty clone of each container; subclasses of what is plain become plain."""


class _Cloning:
    """One run of the algorithm: ``memory`` is the specification's of the same name."""

    __slots__ = ("memory", "pending")

    def __init__(self) -> None:
        self.memory: dict[int, JsValue] = {}
        self.pending: list[tuple[object, JsValue]] = []

    def run(self, value: object) -> JsValue:
        root = self._begin(value)
        while self.pending:
            self._fill(*self.pending.pop())
        return root

    def _begin(self, value: object) -> JsValue:
        """The clone of a value; that of a container is filled later."""
        kind = type(value)
        if kind in _IMMUTABLE:
            return _immutable(value)
        known = self.memory.get(id(value))
        if known is not None:
            return known
        shell = self._shell(value)
        if isinstance(shell, (dict, list, Array, Map, Set)):
            self.memory[id(value)] = shell
            self.pending.append((value, shell))
        return shell

    def _shell(self, value: object) -> JsValue:
        for kind, make in _SHELLS.items():
            if isinstance(value, kind):
                return make(value)
        raise DataCloneError(
            f"a {type(value).__name__} cannot be cloned; store plain data only"
        )

    def _fill(self, source: object, target: JsValue) -> None:
        begin = self._begin
        match source, target:
            case dict(), dict():
                for name, item in source.items():
                    if not isinstance(name, str):
                        raise DataCloneError(
                            f"property name {name!r} is no text; use str"
                        )
                    target[name] = begin(item)
            case list(), list():
                target.extend([begin(item) for item in source])
            case Array(), Array():
                for place, item in source.own.items():
                    target.own[place] = begin(item)
            case Map(), Map():
                for key, item in source.entries:
                    target.entries.append((begin(key), begin(item)))
            case Set(), Set():
                target.items.extend(begin(item) for item in source.items)
