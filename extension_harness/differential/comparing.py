"""Where the two sides' outcomes part, said as a path and the two values there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from extension_harness.differential.forms import Value

SHOWN = 300
"""Characters of a value that a message shows."""
ABSENT = "(absent)"
PLACE = "\n  in "
"""Stands before the innermost place, where a side that broke says it."""
MISSING_KEY = re.compile(r"KeyError\([^\n]*\)")


@dataclass(frozen=True)
class Difference:
    """The first place where the browser's and the model's outcomes part.

    ``path`` leads to it through members and list places. ``browser`` and ``model`` are
    what each side has there, or ABSENT.
    """

    path: tuple[str | int, ...]
    browser: Any
    model: Any

    @property
    def signature(self) -> tuple[object, ...]:
        """What stays the same while a script shrinks: the kind of place, both kinds."""
        place = tuple(part for part in self.path if isinstance(part, str))
        if place == ("error",):
            return (*place, *(_cause(side) for side in (self.browser, self.model)))
        return (*place, _kind(self.browser), _kind(self.model))

    def __str__(self) -> str:
        place = "".join(
            f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path
        )
        return (
            f"at {place.removeprefix('.')}\n"
            f"  browser: {_text(self.browser)}\n  model:   {_text(self.model)}"
        )


def first_difference(browser: object, model: object) -> Difference | None:
    """The first difference in the order of the browser's outcome; None: all is equal.

    A side that broke (``error``) differs by that alone.

    Numbers are equal as doubles, members of objects in any order, lists in order.
    """
    broken = [isinstance(side, dict) and "error" in side for side in (browser, model)]
    if any(broken):
        said = [
            side["error"] if isinstance(side, dict) and "error" in side else ABSENT
            for side in (browser, model)
        ]
        return Difference(("error",), *said)
    return next(_differences((), browser, model), None)


def _differences(
    path: tuple[str | int, ...],
    browser: Value,
    model: Value,
) -> Iterator[Difference]:
    if isinstance(browser, dict) and isinstance(model, dict):
        browser, model = _comparable(browser, model)
        for name in (*browser, *(name for name in model if name not in browser)):
            yield from _differences(
                (*path, name), browser.get(name, ABSENT), model.get(name, ABSENT)
            )
    elif isinstance(browser, list) and isinstance(model, list):
        for at, (left, right) in enumerate(zip(browser, model, strict=False)):
            yield from _differences((*path, at), left, right)
        if len(browser) != len(model):
            at = min(len(browser), len(model))
            left = browser[at] if at < len(browser) else ABSENT
            right = model[at] if at < len(model) else ABSENT
            yield Difference((*path, at), left, right)
    elif not _same(browser, model):
        yield Difference(path, browser, model)


def _comparable(
    browser: dict[str, Any], model: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Pairs of tagged objects by name; a generator's next key only if it is known."""
    if "autoIncrement" in browser and browser.get("next", ABSENT) is None:
        browser = {name: browser[name] for name in browser if name != "next"}
        model = {name: model[name] for name in model if name != "next"}
    return _by_name(browser), _by_name(model)


def _by_name(members: dict[str, Any]) -> dict[str, Any]:
    if members.get("$") != "obj":
        return members
    return {**members, "v": {json.dumps(name): value for name, value in members["v"]}}


def _same(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return float(left) == float(right)
    return type(left) is type(right) and left == right


def _cause(said: Value) -> str:
    """What broke and where, without the values that it names.

    Which name a KeyError misses is the fault itself, so that one stays.
    """
    text = str(said)
    _, between, where = text.rpartition(PLACE)
    lookup = MISSING_KEY.search(text)
    if lookup is not None:
        return f"{lookup.group()}{between}{where}"
    return text.split("(", 1)[0].split("'", 1)[0] + between + where


def _kind(value: object) -> object:
    if isinstance(value, dict):
        return tuple(sorted(value))
    if isinstance(value, str):
        return value if value.isidentifier() or value == ABSENT else "text"
    return type(value).__name__ if not isinstance(value, bool) else str(value)


def _text(value: object) -> str:
    text = value if value == ABSENT else json.dumps(value, ensure_ascii=True)
    assert isinstance(text, str)  # noqa: S101 - for the type checker
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
