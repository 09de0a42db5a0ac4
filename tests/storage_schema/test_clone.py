"""Structured clone: what is inside belongs to nobody outside."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage_schema import (
    UNDEFINED,
    Array,
    Binary,
    DataCloneError,
    Date,
    Detached,
    Factory,
    Function,
    Map,
    Set,
    Symbol,
)
from storage_schema.clone import clone, take_in
from storage_schema.tagged import Json, form_of
from tests.storage_schema.databases import opened


def sparse(own: dict[int, Json]) -> Array:
    return Array(5, {place: item for place, item in own.items()})  # noqa: C416 - wider


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats()
    | st.text(max_size=3)
    | st.just(UNDEFINED)
    | st.binary(max_size=3).map(Binary)
    | st.integers(-5, 5).map(Date)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.lists(inner, max_size=2).map(Set)
        | st.lists(st.tuples(inner, inner), max_size=2).map(Map)
        | st.dictionaries(st.integers(0, 4), inner, max_size=3).map(sparse)
    ),
    max_leaves=8,
)


@given(values)
def test_a_clone_is_equal_and_shares_nothing_that_can_change(value: Json) -> None:
    stored, copier = take_in(value)
    copy = copier(stored)

    assert form_of(copy) == form_of(value)
    assert mutable_parts(copy).isdisjoint(mutable_parts(stored))
    assert mutable_parts(stored).isdisjoint(mutable_parts(value))


def mutable_parts(value: Json) -> set[int]:
    found: set[int] = set()
    pending = [value]
    while pending:
        part = pending.pop()
        if not isinstance(part, (dict, list, Map, Set, Array)) or id(part) in found:
            continue
        found.add(id(part))
        match part:
            case dict():
                pending += part.values()
            case list():
                pending += part
            case Set():
                pending += part.items
            case Map():
                pending += [side for entry in part.entries for side in entry]
            case Array():
                pending += part.own.values()
    return found


def test_shared_and_cyclic_references_keep_their_shape() -> None:
    shared: dict[str, Any] = {"n": 1}
    value: dict[str, Any] = {"a": shared, "b": shared}
    value["self"] = value

    copy: Any = clone(value)

    assert copy["a"] is copy["b"]
    assert copy["self"] is copy
    assert copy["a"] is not shared


def test_deep_values_are_no_trouble() -> None:
    value: list[Any] = []
    for _ in range(50_000):
        value = [value]

    copy: Any = clone(value)
    for _ in range(50_000):
        (copy,) = copy

    assert copy == []


@pytest.mark.parametrize(
    "value", [Function(), Symbol(), Detached(), object(), (1, 2), {1: "number"}]
)
def test_what_is_no_data_cannot_be_stored(value: object) -> None:
    for whole in (value, [value], {"inside": value}, Map([(1, value)])):  # type: ignore[list-item]
        with pytest.raises(DataCloneError):
            take_in(whole)


def test_integers_become_the_doubles_of_javascript() -> None:
    """L23: JavaScript turns 9007199254740993 into …992."""
    stored, _ = take_in({"id": 9007199254740993})

    assert stored == {"id": 9007199254740992}


def test_changing_what_was_put_or_read_changes_nothing_inside() -> None:
    connection = opened(Factory())
    record = {"id": 1, "buyer": "b1", "state": "new", "lines": [{"n": 1}]}
    with connection.transaction(["orders"], "readwrite") as tx:
        store = tx.object_store("orders")
        request = store.put(record)
        record["lines"].append("mine")  # type: ignore[attr-defined]
        record["state"] = "changed"
        assert request.result == 1
        for read in (
            store.get(1).result,
            store.get_all().result[0],
            next(store.walk()).value,
        ):
            read["lines"][0]["n"] = 99  # type: ignore[index, call-overload]
        assert store.get(1).result == {
            "id": 1,
            "buyer": "b1",
            "state": "new",
            "lines": [{"n": 1}],
        }
