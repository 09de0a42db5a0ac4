"""Tagged JSON: there and back, and what counts as equal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage_schema.errors import FormatError
from storage_schema.tagged import Json, difference_of, form_of, value_of

FORMS: list[Any] = [
    {"$": "undefined"},
    {"$": "num", "v": "-0"},
    {"$": "num", "v": "NaN"},
    {"$": "bigint", "v": "-12345678901234567890"},
    {"$": "u16", "v": [55296, 97]},
    {"$": "date", "v": "NaN"},
    {"$": "bin", "v": "00ff", "t": "DataView"},
    {"$": "arr", "n": 3, "v": [[0, 1], [2, "x"], ["name", 5]]},
    {"$": "obj", "v": [["$", 1], ["__proto__", {"a": None}]]},
    {"$": "map", "v": [[1, {"$": "set", "v": ["a"]}]]},
    {"$": "regexp", "v": "a+", "f": "gi"},
    {"$": "box", "v": True},
    [{"$": "obj", "v": [], "id": 1}, {"$": "ref", "v": 1}],
    {"$": "arr", "n": 1, "v": [[0, {"$": "ref", "v": 1}]], "id": 1},
    {"plain": [1, 2.5, "x", None, {}]},
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: json.dumps(form)[:40])
def test_a_value_is_written_as_it_was_read(form: Json) -> None:
    assert difference_of(form, form_of(value_of(form))) is None


def test_an_unknown_tag_is_an_error() -> None:
    with pytest.raises(FormatError, match="unknown tag 'wave'"):
        value_of({"$": "wave"})


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (0, {"$": "num", "v": "-0"}), ([1], [1, 2]), ({"a": 1}, {}), ("1", 1)],
    ids=str,
)
def test_these_are_different(one: Json, other: Json) -> None:
    assert difference_of(one, other) is not None
    assert difference_of(other, one) is not None


def test_the_order_of_names_does_not_count_but_that_of_lists_does() -> None:
    assert difference_of({"a": 1, "b": 2.0}, {"b": 2, "a": 1}) is None
    assert difference_of([1, 2], [2, 1]) == "[0]: expected 1, found 2"
