"""Shorter and shorter: what still fails of a failing script, with nothing more in it.

A reduction takes something away: list entries, first in large pieces, then optional
members, then whole values for small ones. It does not know what a script means, but
which members must stay; whether a reduction still fails is asked of both sides, several
at a time, because a browser answers many as fast as one.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

Case: TypeAlias = Any
"""A script or a history: JSON."""
Path: TypeAlias = tuple[str | int, ...]
FailsAll: TypeAlias = Callable[[Sequence[Case]], Sequence[bool]]

NEEDED = frozenset(
    {
        *("do", "op", "a", "store", "stores", "to", "name", "$", "v", "n"),
        *("start", "calls", "verb", "arguments"),
    }
)
"""Members without which a history, an operation, an action or a value is none."""
KEPT_IN = {
    "createIndex": frozenset({"keyPath"}),
    "add": frozenset({"value"}),
    "put": frozenset({"value"}),
    "get": frozenset({"query"}),
    "getKey": frozenset({"query"}),
    "delete": frozenset({"query"}),
    "continuePrimaryKey": frozenset({"key", "primaryKey"}),
    "range": frozenset({"query"}),
    "cmp": frozenset({"keys"}),
}
"""Members that an operation of this name must keep beside those."""
KEPT_IN_START = frozenset({"version", "upgrade"})
"""What the old database that a history starts from is made of."""
VALUES = frozenset({"value", "set"})
"""Members under which plain objects are values."""
SMALL: tuple[Case, ...] = (0, 1, {}, [])
"""What a large value may become."""
BATCH = 12
MAX_ROUNDS = 400


def shrink(case: Case, fails: FailsAll, rounds: int = MAX_ROUNDS) -> Case:
    """The smallest case found that still fails; ``case`` itself if nothing may go.

    ``fails`` gives, for each case of a batch, whether it fails as the first one did. At
    most ``rounds`` batches are asked.
    """
    asked = 0
    while asked < rounds:
        for batch in _batches(reductions(case), BATCH):
            asked += 1
            failing = [one for one, bad in zip(batch, fails(batch), strict=True) if bad]
            if failing:
                case = min(failing, key=size)
                break
            if asked >= rounds:
                return case
        else:
            return case
    return case


def size(case: Case) -> int:
    """How many nodes the case has."""
    if isinstance(case, dict):
        return 1 + sum(1 + size(value) for value in case.values())
    if isinstance(case, list):
        return 1 + sum(size(value) for value in case)
    return 1


def reductions(case: Case) -> Iterator[Case]:
    """Every case with one thing less, the largest pieces first; makes new cases."""
    lists = sorted(_lists(case), key=len)
    for path in lists:
        yield from _shorter(case, path)
    yield from _without_members(case)
    yield from _smaller_values(case)


def _shorter(case: Case, path: Path) -> Iterator[Case]:
    length = len(_at(case, path))
    piece = length
    while piece >= 1:
        for start in range(0, length, piece):
            reduced = copy.deepcopy(case)
            del _at(reduced, path)[start : start + piece]
            yield reduced
        piece //= 2


def _without_members(case: Case) -> Iterator[Case]:
    for path, members in _objects(case):
        if VALUES & set(path):  # a value's own members mean nothing to the script
            for member in members:
                reduced = copy.deepcopy(case)
                del _at(reduced, path)[member]
                yield reduced
            continue
        name = members.get("op") or members.get("a") or members.get("do")
        kept = NEEDED | KEPT_IN.get(name if isinstance(name, str) else "", frozenset())
        if path == ("start",):
            kept |= KEPT_IN_START
        if isinstance(members.get("verb"), str) or len(members) == 1:
            continue  # a verb's arguments and a query's one end stay
        for member in members:
            if member in kept:
                continue
            reduced = copy.deepcopy(case)
            del _at(reduced, path)[member]
            yield reduced


def _smaller_values(case: Case) -> Iterator[Case]:
    for path, members in _objects(case):
        for member in ("value", "key"):
            if member not in members or not isinstance(members[member], dict | list):
                continue
            for small in SMALL:
                if size(small) < size(members[member]):
                    reduced = copy.deepcopy(case)
                    _at(reduced, path)[member] = small
                    yield reduced


def _lists(case: Case, path: Path = ()) -> Iterator[Path]:
    """Lists that may lose entries: not the fixed forms of a query or a tagged pair."""
    if isinstance(case, list):
        if path[-1:] not in {("bound",), ("lowerBound",), ("upperBound",)}:
            yield path
        for at, value in enumerate(case):
            yield from _lists(value, (*path, at))
    elif isinstance(case, dict) and "$" not in case:
        for name, value in case.items():
            yield from _lists(value, (*path, name))


def _objects(case: Case, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    if isinstance(case, dict):
        if "$" in case:
            return
        yield path, case
        for name, value in case.items():
            yield from _objects(value, (*path, name))
    elif isinstance(case, list):
        for at, value in enumerate(case):
            yield from _objects(value, (*path, at))


def _at(case: Case, path: Path) -> Any:  # noqa: ANN401 - JSON
    for part in path:
        case = case[part]
    return case


def _batches(cases: Iterator[Case], count: int) -> Iterator[list[Case]]:
    while batch := list(itertools.islice(cases, count)):
        yield batch
