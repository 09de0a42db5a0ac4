"""Two outcomes are compared as the format says, and parted at the first place."""

from __future__ import annotations

import pytest

from extension_harness.differential.comparing import (
    ABSENT,
    Difference,
    first_difference,
)
from extension_harness.differential.model_side import ModelSide
from storage_schema import onetalk


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


def broken_in(patch: pytest.MonkeyPatch, verb: str, error: Exception) -> Difference:
    """The difference that a verb makes which breaks with this error."""

    def breaking(*_: object) -> None:
        raise error

    breaking.__code__ = breaking.__code__.replace(co_name=f"in_{verb}")
    patch.setattr(onetalk, "known_accounts", breaking)
    history = {"start": None, "calls": [{"verb": "knownAccounts", "arguments": []}]}
    (outcome,) = ModelSide().run_histories([history])
    found = first_difference({"steps": []}, outcome)
    assert found is not None
    return found


def test_a_model_that_breaks_otherwise_is_another_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which key is missing and where; a short case then shows the fault it was for."""

    def signature(verb: str, error: Exception) -> tuple[object, ...]:
        return broken_in(monkeypatch, verb, error).signature

    first = signature("read", KeyError("channelAccountId"))

    assert signature("read", KeyError("channelAccountId")) == first
    assert signature("read", KeyError("conversationId")) != first
    assert signature("write", KeyError("channelAccountId")) != first
    assert signature("read", ValueError("at 1")) == signature(
        "read", ValueError("at 2")
    )


def test_what_broke_says_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    found = broken_in(monkeypatch, "read", KeyError("conversationId"))

    assert "KeyError('conversationId')" in str(found.model)
    assert "test_comparing.py, in_read()" in str(found.model)
