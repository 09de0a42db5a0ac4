"""The ordered structure, against a plain sorted list."""

from __future__ import annotations

import random
from bisect import insort

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage_schema import ordered
from storage_schema.ordered import Ordered

members = st.binary(max_size=2)
changes = st.lists(st.tuples(st.booleans(), members), max_size=120)


@settings(max_examples=150)
@given(changes, st.lists(st.tuples(members, members), min_size=1, max_size=5))
def test_it_does_what_a_sorted_list_does(
    steps: list[tuple[bool, bytes]], spans: list[tuple[bytes, bytes]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered, "CHUNK", 4)  # many lists, so many borders
        found, plain = Ordered(), list[bytes]()
        for adds, member in steps:
            if adds and member not in plain:
                found.add(member)
                insort(plain, member)
            elif not adds and member in plain:
                found.remove(member)
                plain.remove(member)
        assert list(found) == plain
        assert len(found) == len(plain)
        for start, stop in spans:
            inside = [member for member in plain if start <= member < stop]
            assert found.between(start, stop) == inside
            assert found.between(start, stop, 2) == inside[:2]
            assert found.count(start, stop) == len(inside)
            assert found.first(start, stop) == (inside[0] if inside else None)
            assert found.last(start, stop) == (inside[-1] if inside else None)


def test_removing_what_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        Ordered([b"a"]).remove(b"b")


def test_no_list_inside_grows_beyond_its_bound() -> None:
    """No operation moves more than one short list, however large the whole is."""
    numbers = [number.to_bytes(3, "big") for number in range(20_000)]
    random.Random(7).shuffle(numbers)  # noqa: S311 - the same order each time
    found = Ordered()
    for number in numbers:
        found.add(number)

    assert max(map(len, found._chunks)) <= ordered.CHUNK
    assert list(found) == sorted(numbers)
