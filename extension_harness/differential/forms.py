"""The forms that scripts are made of: tagged JSON, operations, steps.

docs/storage-model.md describes them; here are their names and their constructors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Value: TypeAlias = Any
"""A JavaScript value in the tagged form."""
Op: TypeAlias = dict[str, Any]
Step: TypeAlias = dict[str, Any]
Script: TypeAlias = list[Step]
History: TypeAlias = dict[str, Any]
"""A history of the OneTalk store; `histories` says its form."""
Outcome: TypeAlias = dict[str, Any]
"""What one side gave for a case. A script: ``expect``, one outcome a step, and
``dump``. A history: ``steps``, each with ``outcome`` and ``dump``. Or ``error``."""

UNDEFINED: Value = {"$": "undefined"}
DUMP: Step = {"do": "dump"}


def num(text: str) -> Value:
    """A number that JSON lacks: NaN, Infinity, -Infinity, -0."""
    return {"$": "num", "v": text}


def date(ms: float | str) -> Value:
    """A Date; ``"NaN"`` makes an invalid one."""
    return {"$": "date", "v": ms}


def binary(digits: str, view: str | None = None, pad: int = 0) -> Value:
    """An ArrayBuffer or a view of these bytes, ``pad`` others around them."""
    made: Value = {"$": "bin", "v": digits}
    if view is not None:
        made |= {"t": view}
        if pad:
            made |= {"pad": pad}
    return made


def units(*codes: int) -> Value:
    """A string by its UTF-16 code units, for lone surrogates."""
    return {"$": "u16", "v": list(codes)}


def sparse(length: int, *own: tuple[int | str, Value]) -> Value:
    """An array with holes or named properties."""
    return {"$": "arr", "n": length, "v": [list(pair) for pair in own]}


def with_dumps(script: Sequence[Step]) -> Script:
    """The script with a dump of the database after each step that may change it."""
    seen: Script = []
    for step in script:
        seen.append(step)
        if step["do"] in {"open", "tx", "deleteDatabase"}:
            label = {"db": step["db"]} if "db" in step else {}
            seen.append({**DUMP, **label})
    return seen


def settled(outcome: Outcome) -> Outcome:
    """A history's outcome with null where a verb gave undefined: Python has None."""
    if "steps" not in outcome:
        return outcome
    steps = [step | {"outcome": _nulled(step["outcome"])} for step in outcome["steps"]]
    return {**outcome, "steps": steps}


def _nulled(value: Value) -> Value:
    if isinstance(value, list):
        return [_nulled(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value == UNDEFINED:
        return None
    return {name: _nulled(each) for name, each in value.items()}
