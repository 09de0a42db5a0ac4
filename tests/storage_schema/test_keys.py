"""Keys: their order, and the bytes that stand for them."""

from __future__ import annotations

import math
import struct
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage_schema import UNDEFINED, Array, BigInt, Binary, Boxed, DataError, Date
from storage_schema.key_decoding import decode
from storage_schema.keys import DEPTH_LIMIT, compare, encode

numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False)
units = st.sampled_from(
    [0, 1, 0x61, 0xFF, 0x7FF, 0x800, 0xD7FF, 0xD83D, 0xDE00, 0xFFFF]
)
texts = st.lists(units, max_size=4).map(
    lambda given: struct.pack(f"<{len(given)}H", *given).decode(
        "utf-16-le", "surrogatepass"
    )
)
binaries = st.lists(st.sampled_from([0, 1, 127, 128, 255]), max_size=3).map(bytes)
Key: TypeAlias = Any
scalars: st.SearchStrategy[Key] = (
    numbers | st.integers(-(10**15), 10**15).map(Date) | texts | binaries.map(Binary)
)
keys = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=6)


def slowly_compared(a: Key, b: Key) -> int:
    """The specification's "compare two keys", word by word."""
    first, second = rank(a), rank(b)
    if first != second:
        return -1 if first < second else 1
    if isinstance(a, list):
        for one, other in zip(a, b, strict=False):
            if (found := slowly_compared(one, other)) != 0:
                return found
        return (len(a) > len(b)) - (len(a) < len(b))
    one, other = comparable(a), comparable(b)
    return int(one > other) - int(one < other)


def rank(key: Key) -> int:
    kinds = [(int, float), (Date,), (str,), (Binary,), (list,)]
    return next(place for place, kind in enumerate(kinds) if isinstance(key, kind))


def comparable(key: Key) -> Key:
    if isinstance(key, str):
        raw = key.encode("utf-16-be", "surrogatepass")
        return list(struct.unpack(f">{len(raw) // 2}H", raw))
    if isinstance(key, Date):
        return key.ms
    if isinstance(key, Binary):
        return list(key.data)
    return float(key)


@given(keys, keys)
def test_keys_are_in_the_order_of_the_specification(a: Key, b: Key) -> None:
    """Number < Date < string < binary < array; each kind by its own rule."""
    assert compare(a, b) == slowly_compared(a, b)


@given(keys)
def test_a_key_comes_back_as_it_was(key: Key) -> None:
    assert compare(decode(encode(key)), key) == 0
    assert rank(decode(encode(key))) == rank(key)


@given(keys, keys, keys, keys)
def test_two_encodings_in_a_row_are_in_the_order_of_their_pairs(
    index_key: Key, primary: Key, other_key: Key, other_primary: Key
) -> None:
    """What makes index key and primary key one string of bytes."""
    entry = encode(index_key) + encode(primary)
    other = encode(other_key) + encode(other_primary)

    order = slowly_compared(index_key, other_key) or slowly_compared(
        primary, other_primary
    )
    assert (entry > other) - (entry < other) == order


def cyclic() -> list[object]:
    array: list[object] = [1]
    array.append(array)
    return array


def nested(depth: int) -> object:
    made: object = 1
    for _ in range(depth):
        made = [made]
    return made


INVALID = [
    math.nan,
    Date(math.nan),
    True,
    None,
    UNDEFINED,
    {},
    BigInt(1),
    Boxed(1),
    [None],
    [[math.nan]],
    Array(2, {0: 1}),
    cyclic(),
    nested(DEPTH_LIMIT + 1),
]


@pytest.mark.parametrize("value", INVALID, ids=lambda value: type(value).__name__)
def test_what_is_no_key_is_a_data_error(value: object) -> None:
    with pytest.raises(DataError, match="not a valid key"):
        compare(value, 1)


def test_minus_zero_is_zero() -> None:
    assert encode(-0.0) == encode(0)
    assert decode(encode([-0.0])) == [0]


def test_the_same_array_twice_is_no_cycle() -> None:
    inner = [1]

    assert decode(encode([inner, inner])) == [[1], [1]]


def test_an_integer_too_large_for_a_double_is_the_nearest_double() -> None:
    assert compare(9007199254740993, 9007199254740992) == 0
    assert compare(10**400, math.inf) == 0
