"""Key paths: "valid key path", "evaluate a key path on a value", "inject a key"."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from storage_schema.conversions import sequence_of, to_text
from storage_schema.errors import DataError, SyntaxError_
from storage_schema.keys import ARRAY, ENCODERS, encode_text, encode_valid
from storage_schema.values import (
    UNDEFINED,
    Array,
    Binary,
    Boxed,
    Date,
    JsValue,
    Map,
    RegExp,
    Set,
    code_units,
    utf16_length,
)

KeyPath: TypeAlias = str | tuple[str, ...]
Extractor: TypeAlias = Callable[[JsValue], bytes | None]
"""Takes a stored value and gives the encoded key under a path, None if it has none."""


class Missing:
    """The type of ``MISSING``: a key path led nowhere."""

    __slots__ = ()


MISSING: Final = Missing()
_TEXTS: Final[dict[str, bytes]] = {}
_MOST_TEXTS: Final = 4096
_SHORT: Final = 64
_OBJECTS: Final = (dict, list, Array, Map, Set, Date, Binary, RegExp, Boxed)
_LETTERS: Final = {"Lu", "Ll", "Lt", "Lm", "Lo", "Nl"}
_FURTHER: Final = _LETTERS | {"Mn", "Mc", "Nd", "Pc"}
# What Unicode 15 to 17 added and an older Python does not know yet.
_NEW_LETTERS: Final = frozenset(
    "\u088f\u0c5c\u0cdc\u1c89\u1c8a\ua7cb\ua7cc\ua7cd\ua7ce\ua7cf\ua7d2\ua7d4"
    "\ua7da\ua7db\ua7dc\ua7f1"
)
_NEW_MARKS: Final = frozenset("\u0897\u0cf3\u0ece").union(
    map(chr, range(0x1ACF, 0x1ADE)), map(chr, range(0x1AE0, 0x1AEC))
)


def converted(key_path: object) -> KeyPath:
    """What a program gave for a key path as text; raises ``JsTypeError``."""
    several = sequence_of(key_path)
    return to_text(key_path) if several is None else tuple(map(to_text, several))


def parse(given: KeyPath) -> KeyPath:
    """A key path that was converted; raises ``SyntaxError_`` if it is not one."""
    if not isinstance(given, tuple):
        _check(given)
        return given
    if not given:
        raise SyntaxError_("a list of key paths must not be empty")
    for name in given:
        _check(name)
    return given


def _check(path: str) -> None:
    if path and not all(_is_identifier(name) for name in path.split(".")):
        raise SyntaxError_(f"{path!r} is no key path: write identifiers joined by dots")


def _is_identifier(name: str) -> bool:
    """As Chromium has it: an identifier by UTF-16 code unit."""
    for place, unit in enumerate(code_units(name)):
        char = chr(unit)
        if char in "$_" or (place and char in "\u200c\u200d"):
            continue
        if char in _NEW_LETTERS or (place and char in _NEW_MARKS):
            continue
        if unicodedata.category(char) not in (_FURTHER if place else _LETTERS):
            return False
    return bool(name)


def evaluate(value: JsValue, path: str) -> JsValue | Missing:
    """What lies under one path; UNDEFINED if the last property is undefined."""
    if not path:
        return value
    found: JsValue | Missing = value
    for name in path.split("."):
        if isinstance(found, Missing):
            return found
        found = own_property(found, name)
    return found


def own_property(value: JsValue, name: str) -> JsValue | Missing:
    """An own property, as far as a key path may look."""
    match value:
        case dict():
            return value.get(name, MISSING)
        case str() if name == "length":
            return utf16_length(value)
        case list() if name == "length":
            return len(value)
        case Array():
            return _length(value) if name == "length" else value.own.get(name, MISSING)
        case Boxed(value=str(text)) if name == "length":
            return utf16_length(text)
        case RegExp() if name == "lastIndex":
            return 0
    return MISSING


def _length(array: Array) -> int:
    """As in Chromium, which takes a length for a signed 32-bit number."""
    return array.length if array.length < 2**31 else array.length - 2**32


def extract(value: JsValue, path: KeyPath) -> bytes | None:
    """The algorithm "Extract a key from a value": None if the path leads nowhere.

    Raises ``DataError`` if what is there is not a valid key.
    """
    found: JsValue | Missing
    if isinstance(path, str):
        found = evaluate(value, path)
    else:
        parts = [evaluate(value, part) for part in path]
        found = [part for part in parts if not isinstance(part, Missing)]
        if len(found) < len(parts):
            return None
    if isinstance(found, Missing):
        return None
    encoded = encode_valid(found)
    if encoded is None:
        raise DataError(f"what lies under the key path {path!r} is not a valid key")
    return encoded


def key_extractor(path: KeyPath) -> Extractor:
    """``extract`` for one path; quick where that is a plain name of a plain object."""
    if not path or not isinstance(path, str) or "." in path:
        return partial(extract, path=path)

    def extract_key(value: JsValue) -> bytes | None:
        if type(value) is dict:
            found = value.get(path)
            if type(found) is str:
                return encode_text(found)
        return extract(value, path)

    return extract_key


def can_inject(value: JsValue, path: str) -> bool:
    """The algorithm "Check that a key could be injected into a value"."""
    found: JsValue | Missing = value
    for name in path.split(".")[:-1]:
        if not isinstance(found, _OBJECTS):
            return False
        found = own_property(found, name)
        if isinstance(found, Missing):
            return True
    return isinstance(found, _OBJECTS)


def inject(value: JsValue, path: str, key: JsValue) -> JsValue:
    """The algorithm "Inject a key into a value": the value with the key under the path.

    Works on the store's own clone. An array that gets a property changes its form, so
    the value that comes back need not be the one that went in. A Date or a Map takes a
    property too, but a clone of it has none: nothing changes. An array's length is
    its key already.
    """
    *way, last = path.split(".")
    if last == "length" and isinstance(evaluate(value, path), int):
        return value
    root = holder = _open(value)
    for name in way:
        inside = own_property(holder, name)
        inner = _open({} if isinstance(inside, Missing) else inside)
        _set(holder, name, inner)
        holder = inner
    _set(holder, last, key)
    return root


def _open(value: JsValue) -> JsValue:
    """A container that takes named properties: a dense array in its general form."""
    if isinstance(value, list):
        return Array(len(value), dict(enumerate(value)))
    return value


def _set(holder: JsValue, name: str, item: JsValue) -> None:
    if isinstance(holder, Array):
        holder.own[name] = item
    elif isinstance(holder, dict):
        holder[name] = item


def compiled(path: KeyPath) -> Extractor:
    """An extractor for an index: whatever gives no valid key gives no entry."""
    if isinstance(path, tuple):
        if all("." not in part and part for part in path):
            return _compiled_names(path)
        return _compiled_paths(path)

    def extract_one(value: JsValue) -> bytes | None:
        found = evaluate(value, path)
        return None if isinstance(found, Missing) else encode_valid(found)

    return extract_one


def _compiled_names(names: tuple[str, ...]) -> Extractor:
    """The usual compound index: plain properties of a plain object."""
    slow, opening = _compiled_paths(names), bytes([ARRAY])
    encoders, texts = ENCODERS, _TEXTS

    def extract_names(value: JsValue) -> bytes | None:
        if type(value) is not dict:
            return slow(value)
        encoded = opening
        for name in names:
            found = value.get(name, UNDEFINED)
            if type(found) is str:
                encoded += texts.get(found) or _remembered(found)
                continue
            encoder = encoders.get(type(found))
            if encoder is None or (part := encoder(found)) is None:
                return None
            encoded += part
        return encoded + b"\0"

    return extract_names


def _remembered(text: str) -> bytes:
    """A string's encoding, kept if it is short: ids come again and again."""
    encoded = encode_text(text)
    if len(encoded) <= _SHORT:
        if len(_TEXTS) >= _MOST_TEXTS:
            _TEXTS.clear()
        _TEXTS[text] = encoded
    return encoded


def _compiled_paths(paths: tuple[str, ...]) -> Extractor:
    def extract_paths(value: JsValue) -> bytes | None:
        found = [evaluate(value, path) for path in paths]
        whole: list[JsValue] = [x for x in found if not isinstance(x, Missing)]
        return encode_valid(whole) if len(whole) == len(paths) else None

    return extract_paths
