"""Comparing outcomes as JSON values: numbers as doubles, members in any order."""

from __future__ import annotations

import json
from typing import Any

from storage_schema.tagged.reading import Json

_LONGEST = 160


def difference_of(expected: Json, actual: Json, place: str = "") -> str | None:
    """The first difference in words, or None."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _between_objects(expected, actual, place)
    if isinstance(expected, list) and isinstance(actual, list):
        for number, (one, other) in enumerate(zip(expected, actual, strict=False)):
            found = difference_of(one, other, f"{place}[{number}]")
            if found is not None:
                return found
        if len(expected) == len(actual):
            return None
        return f"{place}: {len(expected)} expected, {len(actual)} found"
    if _same(expected, actual):
        return None
    return f"{place}: expected {_shown(expected)}, found {_shown(actual)}"


def _between_objects(
    expected: dict[str, Any], actual: dict[str, Any], place: str
) -> str | None:
    if expected.get("$") == "obj" and actual.get("$") == "obj":
        expected, actual = _by_name(expected), _by_name(actual)
    if "next" in expected and expected["next"] is None and "autoIncrement" in expected:
        expected, actual = {**expected}, {**actual}  # null: not known, do not compare
        del expected["next"]
        actual.pop("next", None)
    for name in expected:
        if name not in actual:
            return (
                f"{place}.{name}: expected {_shown(expected[name])}, "
                f"found none in {_shown(actual)}"
            )
        found = difference_of(expected[name], actual[name], f"{place}.{name}")
        if found is not None:
            return found
    for name in actual:
        if name not in expected:
            return f"{place}.{name}: found {_shown(actual[name])}, expected none"
    return None


def _by_name(form: dict[str, Any]) -> dict[str, Any]:
    pairs = {json.dumps(name): item for name, item in form["v"]}
    return {**form, "v": pairs}


def _same(expected: Json, actual: Json) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return bool(expected == actual)


def _shown(form: Json) -> str:
    text = json.dumps(form)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
