"""Known differences: what the model does otherwise than Chromium, and why.

A TOML file of ``[[difference]]`` tables::

    name = "hole-in-multi-entry"
    why = "…"                     # what differs, and why it may stay
    script = '[…]'                # the shortest script that shows it: JSON
    contains = ['{"multiEntry": true}', '[{"op": "add"}, {"op": "put"}]']
    place = "txerr"               # the member at which the sides part first
    browser = '"DataError"'       # optional: what each side has there
    model = '"ConstraintError"'

A found difference is this one if its shortened script has an object that fits each
pattern in ``contains`` (its members fit those of the pattern; of a list, one has to
fit), and if the first difference lies in ``place``, with ``browser`` and ``model``
there. Only what has been made short is judged: there, every operation is needed for the
difference. An entry whose own script does not differ any more, or does so otherwise
than it says, is stale, and that is a failure.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from extension_harness.differential.comparing import Difference, first_difference
from extension_harness.differential.forms import Script
from extension_harness.differential.sides import Sides
from extension_harness.errors import HarnessError

Pattern: TypeAlias = Any
"""JSON: an object, a list of alternatives, or a plain value."""


class KnownDifferencesError(HarnessError):
    """The file of known differences is not in its form."""


@dataclass(frozen=True)
class KnownDifference:
    """One entry of the file."""

    name: str
    why: str
    script: Script
    contains: tuple[Pattern, ...]
    place: str
    values: dict[str, Any]

    def is_this(self, script: Script, difference: Difference) -> bool:
        """Whether a shortened script's difference is this one."""
        objects = list(_objects(script))
        return (
            all(any(_fits(one, found) for found in objects) for one in self.contains)
            and self.place in difference.path
            and all(
                getattr(difference, side) == wanted
                for side, wanted in self.values.items()
            )
        )

    def staleness(self, sides: Sides) -> str | None:
        """Why the entry is stale; None while its script shows what it says."""
        browser, model = sides.run_both([self.script])[0]
        found = first_difference(browser, model)
        if found is None:
            return f"{self.name}: both sides agree now; take the entry out"
        if not self.is_this(self.script, found):
            return f"{self.name}: its own rule does not fit its script, {found}"
        return None


def read_known(path: Path) -> Sequence[KnownDifference]:
    """The entries of the file. Raises KnownDifferencesError, OSError."""
    try:
        entries = tomllib.loads(path.read_text("utf-8")).get("difference", [])
        return tuple(_entry(entry) for entry in entries)
    except (ValueError, KeyError, TypeError) as cause:
        raise KnownDifferencesError(
            f"{path} cannot be read: {cause!r}; known.py says its form"
        ) from cause


def _entry(entry: dict[str, Any]) -> KnownDifference:
    contains = tuple(json.loads(pattern) for pattern in entry["contains"])
    if not contains or not str(entry["why"]).strip():
        raise ValueError(f"{entry['name']}: 'contains' and 'why' must say something")
    return KnownDifference(
        name=entry["name"],
        why=entry["why"],
        script=json.loads(entry["script"]),
        contains=contains,
        place=entry["place"],
        values={
            side: json.loads(entry[side])
            for side in ("browser", "model")
            if side in entry
        },
    )


def _fits(pattern: Pattern, found: object) -> bool:
    if isinstance(pattern, list) and isinstance(found, list):
        return pattern == found or found in pattern
    if isinstance(pattern, list):
        return any(_fits(one, found) for one in pattern)
    if not isinstance(pattern, dict) or not isinstance(found, dict):
        return bool(pattern == found)
    return all(
        name in found and _fits(one, found[name]) for name, one in pattern.items()
    )


def _objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
