"""Key paths: which are valid, what lies under them, where a key can be put."""

from __future__ import annotations

import pytest

from storage_schema import UNDEFINED, Array, DataError, Date, SyntaxError_
from storage_schema.key_paths import (
    MISSING,
    can_inject,
    converted,
    evaluate,
    extract,
    inject,
    parse,
)
from storage_schema.keys import encode


@pytest.mark.parametrize("path", ["", "a", "a.b", "$_.ü1", ["a", "b.c"], ("a", "")])
def test_these_are_key_paths(path: object) -> None:
    assert parse(converted(path)) == (path if isinstance(path, str) else tuple(path))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "path", [".", "a.", "a b", "1a", "a-b", [], ["a b"], [["a b"]]]
)
def test_these_are_not(path: object) -> None:
    with pytest.raises(SyntaxError_):
        parse(converted(path))


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a": "\U0001f600x"}, "a.length", 3),
        ({"a": [1, 2]}, "a.length", 2),
        ({"a": UNDEFINED}, "a", UNDEFINED),
        ({"a": {}}, "a.b", MISSING),
        ({"a": None}, "a.b", MISSING),
        (Array(2, {"x": 5}), "x", 5),
        (7, "", 7),
    ],
)
def test_a_path_leads_to_own_properties_only(
    value: object, path: str, found: object
) -> None:
    assert evaluate(value, path) == found  # type: ignore[arg-type]


def test_a_compound_path_gives_an_array_or_nothing() -> None:
    assert extract({"a": 1, "b": "x"}, ("a", "b")) == encode([1, "x"])
    assert extract({"a": 1}, ("a", "b")) is None
    with pytest.raises(DataError):
        extract({"a": 1, "b": None}, ("a", "b"))


def test_injecting_makes_the_objects_on_the_way() -> None:
    assert inject({}, "a.b", 5) == {"a": {"b": 5}}
    assert can_inject({"a": Date(1)}, "a.b")
    assert not can_inject({"a": "text"}, "a.b")
    assert not can_inject("text", "a")
