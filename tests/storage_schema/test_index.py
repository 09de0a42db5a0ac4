"""Indexes: what is in them, what is not, and how they are read."""

from __future__ import annotations

import math

import pytest

from storage_schema import (
    UNDEFINED,
    Connection,
    ConstraintError,
    Date,
    Factory,
    Transaction,
    difference,
    picture,
)
from tests.storage_schema.databases import NAME, buyer_range, filled, opened, order

FIELDS: list[object] = [
    1,
    0,
    "",
    Date(5),
    [],
    None,
    False,
    math.nan,
    {},
    Date(math.nan),
]


@pytest.mark.parametrize("path", ["x", ["x"], ["x", "id"]], ids=str)
def test_only_valid_keys_are_in_an_index(path: object) -> None:
    """L17, known bug 18: a flag that is a boolean is found by no index.

    Present: number, 0, "", Date, []. Absent: missing, null, false, NaN, {}.
    """

    def upgrade(connection: Connection, _: Transaction, _old: int, _new: int) -> None:
        store = connection.create_object_store("s", "id")
        store.create_index("by_x", path)
        for number, field in enumerate(FIELDS):
            store.put({"id": number, "x": field})
        store.put({"id": len(FIELDS)})
        store.create_index("later", path)

    shape = picture(Factory().open(NAME, 1, upgrade=upgrade).result).store("s")

    for name in ("by_x", "later"):
        found = {primary for _, primary in shape.index(name).entries}
        assert found == {0, 1, 2, 3, 4}
    assert len(shape.records) == len(FIELDS) + 1


def test_a_range_of_a_compound_index_is_one_scope_alone() -> None:
    connection = opened(Factory())
    filled(connection, 9)
    with connection.transaction(["orders"]) as tx:
        index = tx.object_store("orders").index("by_buyer_state")
        assert index.get_all_keys(buyer_range("b1")).result == [1, 4, 7]
        assert index.count(buyer_range("b1")).result == 3
        assert index.get_all(buyer_range("b1"), 1).result == [order(1)]
        assert index.get_key(["b2", "new"]).result == 2
        assert index.get(["b2", "sold"]).result is UNDEFINED


def test_a_refused_put_changes_no_index() -> None:
    connection = opened(Factory())
    with connection.transaction(["orders"], "readwrite") as tx:
        orders = tx.object_store("orders")
        assert orders.put(order(1, ticket="a")).result == 1
        assert orders.put(order(2, ticket="b")).result == 2
        before = picture(connection)

        error = orders.put(order(2, ticket="a", state="paid")).caught

        assert isinstance(error, ConstraintError)
        assert difference(before, picture(connection)) is None
        assert orders.get(2).result == order(2, ticket="b")
        assert orders.put(order(2, ticket="b", state="paid")).result == 2


def test_a_multi_entry_index_has_each_valid_member_once() -> None:
    def upgrade(connection: Connection, _: Transaction, _old: int, _new: int) -> None:
        store = connection.create_object_store("s", auto_increment=True)
        store.create_index("by_tag", "tags", multi_entry=True)
        store.put({"tags": ["b", "a", "b", None, True]})

    entries = picture(Factory().open(NAME, 1, upgrade=upgrade).result).stores[0]

    assert entries.index("by_tag").entries == (("a", 1), ("b", 1))
