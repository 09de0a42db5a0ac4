"""Two outcomes are compared as the format says, and parted at the first place."""

from __future__ import annotations

import pytest

from extension_harness.differential.comparing import ABSENT, first_difference


@pytest.mark.parametrize(
    ("browser", "model"),
    [
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}),
        (
            {"$": "obj", "v": [["x", 1], ["y", 2]]},
            {"$": "obj", "v": [["y", 2], ["x", 1]]},
        ),
        ({"autoIncrement": True, "next": None}, {"autoIncrement": True, "next": 7}),
    ],
)
def test_what_the_format_calls_equal_is_equal(browser: object, model: object) -> None:
    assert first_difference(browser, model) is None


@pytest.mark.parametrize(
    ("browser", "model", "place"),
    [
        ([1, [2, 3]], [1, [2, 4]], (1, 1)),
        ({"a": True}, {"a": 1}, ("a",)),
        ({"a": None}, {}, ("a",)),
        ([1], [1, 2], (1,)),
        ({"v": "1"}, {"v": 1}, ("v",)),
        ({"$": "num", "v": "-0"}, 0, ()),
    ],
)
def test_the_first_difference_is_named_by_its_place(
    browser: object, model: object, place: tuple[object, ...]
) -> None:
    found = first_difference(browser, model)
    assert found is not None
    assert found.path == place


def test_what_one_side_lacks_is_called_absent() -> None:
    found = first_difference({}, {"err": "DataError"})
    assert found is not None
    assert (found.browser, found.model) == (ABSENT, "DataError")
    assert found.signature != ("err", "DataError", ABSENT)
