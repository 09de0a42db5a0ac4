"""The words for what differs between two pictures."""

from __future__ import annotations

import json
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from storage_schema.tagged import difference_of, form_of

T = TypeVar("T")
_MOST_LINES: Final = 20
_LONGEST: Final = 120


class Lines:
    """Collects differences, the first ones in words and the rest as a number."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._further = 0

    def add(self, line: str) -> None:
        """Note one difference."""
        if len(self._lines) < _MOST_LINES:
            self._lines.append(line)
        else:
            self._further += 1

    def compare(self, place: str, expected: object, found: object) -> None:
        """Note it if two plain values differ."""
        if expected != found:
            self.add(f"{place}: expected {expected!r}, found {found!r}")

    def pairs(
        self, what: str, expected: Mapping[str, T], found: Mapping[str, T]
    ) -> Iterator[tuple[str, T, T]]:
        """What is on both sides; notes what is on one alone."""
        for name in expected:
            if name not in found:
                self.add(f"{what} {name}: expected, but missing")
        for name in found:
            if name not in expected:
                self.add(f"{what} {name}: found, but not expected")
        for name, one in expected.items():
            if name in found:
                yield name, one, found[name]

    def text(self) -> str | None:
        """All of it, or None if there is no difference."""
        if self._further:
            return "\n".join([*self._lines, f"… and {self._further} more"])
        return "\n".join(self._lines) or None


def compare_records(
    lines: Lines,
    place: str,
    expected: Iterable[tuple[object, object]],
    found: Iterable[tuple[object, object]],
) -> None:
    """Note what differs between the records of two stores."""
    one = {_text(key): form_of(value) for key, value in expected}
    other = {_text(key): form_of(value) for key, value in found}
    for key, first, second in lines.pairs(f"{place}: record", one, other):
        different = difference_of(first, second)
        if different is not None:
            lines.add(f"{place}: record {key} {different}")


def compare_entries(
    lines: Lines,
    place: str,
    expected: Iterable[tuple[object, object]],
    found: Iterable[tuple[object, object]],
) -> None:
    """Note what differs between the entries of two indexes."""
    one = [f"{_text(key)} -> {_text(primary)}" for key, primary in expected]
    other = [f"{_text(key)} -> {_text(primary)}" for key, primary in found]
    pairs = lines.pairs(f"{place}: entry", dict.fromkeys(one), dict.fromkeys(other))
    deque(pairs, maxlen=0)  # only what is on one side alone says anything


def _text(value: object) -> str:
    text = json.dumps(form_of(value))
    return (
        text
        if len(text) <= _LONGEST
        else f"{text[:_LONGEST]}… ({zlib.crc32(text.encode()):08x})"
    )
