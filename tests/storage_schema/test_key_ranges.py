"""Key ranges: which keys are inside, and which ranges there are none of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage_schema import UNDEFINED, DataError, Factory, KeyRange, compare
from tests.storage_schema.databases import opened

keys = st.recursive(
    st.integers(0, 4) | st.sampled_from(["", "a", "a\0", "b"]),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)


@given(keys, keys, keys, st.booleans(), st.booleans())
def test_a_bound_range_holds_what_lies_between_its_ends(
    a: list[object], b: list[object], key: list[object], after: bool, before: bool
) -> None:
    order = compare(a, b)
    if order > 0 or (order == 0 and (after or before)):
        with pytest.raises(DataError):
            KeyRange.bound(a, b, after, before)
        return
    above, below = compare(key, a), compare(key, b)
    inside = (above > 0 or (above == 0 and not after)) and (
        below < 0 or (below == 0 and not before)
    )

    assert KeyRange.bound(a, b, after, before).includes(key) == inside


@given(st.lists(keys, max_size=12, unique_by=repr), keys, st.booleans())
def test_a_store_gives_what_the_range_includes(
    stored: list[Any], end: list[object], is_open: bool
) -> None:
    connection = opened(Factory())
    with connection.transaction(["notes"], "readwrite") as tx:
        notes = tx.object_store("notes")
        for key in stored:
            notes.put("x", key)
        for chosen in (
            KeyRange.lower_bound(end, is_open),
            KeyRange.upper_bound(end, is_open),
            KeyRange.only(end),
        ):
            found = notes.get_all_keys(chosen).result
            inside = [key for key in stored if chosen.includes(key)]
            assert sorted(map(repr, found)) == sorted(map(repr, inside))
            assert notes.count(chosen).result == len(inside)


def test_a_range_shows_its_ends() -> None:
    ends = KeyRange.lower_bound([1, "a"], True)

    assert (ends.lower, ends.upper) == ([1, "a"], UNDEFINED)
    assert (ends.lower_open, ends.upper_open) == (True, True)
    assert repr(ends) == "KeyRange([1, 'a'], UNDEFINED)"
