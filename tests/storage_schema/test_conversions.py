"""What JavaScript makes of values that are no texts and no numbers."""

from __future__ import annotations

import math

import pytest

from storage_schema import (
    UNDEFINED,
    Array,
    BigInt,
    Binary,
    Boxed,
    JsTypeError,
    Map,
    Set,
    Symbol,
)
from storage_schema.conversions import (
    enforce_range,
    is_truthy,
    number_text,
    sequence_of,
    to_number,
    to_text,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (100, "100"),
        (1.5, "1.5"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (1e21, "1e+21"),
        (123456789012345680000, "123456789012345680000"),
        (-1.25e-9, "-1.25e-9"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_numbers_are_written_as_javascript_writes_them(
    number: float, text: str
) -> None:
    assert number_text(number) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (UNDEFINED, "undefined"),
        (True, "true"),
        ([1, [None, "a"], UNDEFINED], "1,,a,"),
        (Array(3, {1: "x"}), ",x,"),
        ({"a": 1}, "[object Object]"),
        (BigInt(12), "12"),
        (Boxed("s"), "s"),
        (Binary(b"\1\2", "Uint8Array"), "1,2"),
        (Binary(b""), "[object ArrayBuffer]"),
    ],
)
def test_other_values_have_a_text(value: object, text: str) -> None:
    assert to_text(value) == text


@pytest.mark.parametrize(
    ("value", "number"),
    [("", 0), (" 0x1F ", 31), ("-2.5e1", -25), ("Infinity", math.inf), ([7], 7)],
)
def test_texts_become_numbers(value: object, number: float) -> None:
    assert to_number(value) == number


@pytest.mark.parametrize("value", ["1_0", "abc", "++1", UNDEFINED, {}])
def test_what_is_no_number_is_nan(value: object) -> None:
    assert math.isnan(to_number(value))


@pytest.mark.parametrize("value", [-1, 11, math.nan, "x", BigInt(1), Symbol()])
def test_a_number_out_of_range_is_a_type_error(value: object) -> None:
    with pytest.raises(JsTypeError):
        enforce_range(value, 10, "n")


@pytest.mark.parametrize(
    ("value", "whole"), [(None, 0), (-0.5, 0), ("9.9", 9), (True, 1)]
)
def test_a_number_in_range_is_cut_to_an_integer(value: object, whole: int) -> None:
    assert enforce_range(value, 10, "n") == whole


def test_sequences_are_what_can_be_iterated() -> None:
    assert sequence_of(Set(["a"])) == ["a"]
    assert sequence_of(Map([("a", 1)])) == [["a", 1]]
    assert sequence_of(Boxed("ab")) == ["a", "b"]
    assert sequence_of("ab") is None
    assert sequence_of({}) is None


@pytest.mark.parametrize(
    ("value", "truthy"),
    [([], True), ({}, True), ("0", True), (BigInt(0), False), (math.nan, False)],
)
def test_truthiness_is_javascripts(value: object, *, truthy: bool) -> None:
    assert is_truthy(value) == truthy
