"""Cursors: walking by itself, by hand, and while things change."""

from __future__ import annotations

import pytest

from storage_schema import DataError, Factory, InvalidStateError, KeyRange
from tests.storage_schema.databases import filled, ids, opened, order


def test_a_walk_continues_by_itself_or_as_the_loop_says() -> None:
    connection = opened(Factory())
    filled(connection, 10)
    seen = []
    with connection.transaction(["orders"]) as tx:
        for cursor in tx.object_store("orders").walk(KeyRange.lower_bound(2)):
            seen.append(cursor.key)
            if cursor.key == 3:
                cursor.continue_(6)
            if cursor.key == 6:
                assert cursor.advance(2).result is cursor

    assert seen == [2, 3, 6, 8, 9]


@pytest.mark.parametrize(
    ("direction", "pairs"),
    [
        ("next", [("b0", 0), ("b0", 3), ("b1", 1), ("b2", 2)]),
        ("nextunique", [("b0", 0), ("b1", 1), ("b2", 2)]),
        ("prev", [("b2", 2), ("b1", 1), ("b0", 3), ("b0", 0)]),
        ("prevunique", [("b2", 2), ("b1", 1), ("b0", 0)]),
    ],
)
def test_each_direction_has_its_order(
    direction: str, pairs: list[tuple[str, int]]
) -> None:
    connection = opened(Factory())
    filled(connection, 4)
    with connection.transaction(["orders"]) as tx:
        index = tx.object_store("orders").index("by_buyer_state")
        found = [
            (cursor.key[0], cursor.primary_key)  # type: ignore[index]
            for cursor in index.walk(direction=direction)
        ]

    assert found == pairs


def test_a_cursor_keeps_its_place_whatever_is_written() -> None:
    connection = opened(Factory())
    filled(connection, 4)
    seen = []
    with connection.transaction(["orders"], "readwrite") as tx:
        orders = tx.object_store("orders")
        for cursor in orders.walk():
            seen.append(cursor.key)
            if cursor.key == 1:
                orders.delete(KeyRange.bound(0, 2))
                orders.put(order(1.5))  # type: ignore[arg-type]

    assert seen == [0, 1, 1.5, 3]
    assert ids(connection) == [1.5, 3]


def test_updates_and_deletes_go_to_the_record() -> None:
    connection = opened(Factory())
    filled(connection, 3)
    with connection.transaction(["orders"], "readwrite") as tx:
        for cursor in tx.object_store("orders").walk():
            if cursor.key == 1:
                cursor.delete()
            else:
                assert cursor.update(order(cursor.key, state="x")).result == cursor.key  # type: ignore[arg-type]
            with pytest.raises(DataError):
                cursor.update(order(77))
        assert tx.object_store("orders").get_all().result == [
            order(0, state="x"),
            order(2, state="x"),
        ]


def test_a_cursor_on_its_way_has_no_place() -> None:
    connection = opened(Factory())
    filled(connection, 2)
    with connection.transaction(["orders"], "readwrite") as tx:
        cursor = tx.object_store("orders").open_cursor().result
        assert cursor is not None
        move = cursor.continue_()
        for call in (cursor.continue_, cursor.delete, lambda: cursor.update(order(0))):
            with pytest.raises(InvalidStateError):
                call()
        assert move.result is cursor
        assert cursor.continue_().result is None
        with pytest.raises(InvalidStateError):
            cursor.continue_()


@pytest.mark.parametrize(("records", "is_met"), [(3, True), (4, False), (8, True)])
def test_what_is_put_ahead_of_a_fetched_end_is_not_met(
    records: int, is_met: bool
) -> None:
    """Chromium's own: the third continue() in a row fetches five positions."""
    connection = opened(Factory())
    filled(connection, records)
    seen = []
    with connection.transaction(["orders"], "readwrite") as tx:
        store = tx.object_store("orders")
        for cursor in store.walk():
            seen.append(cursor.key)
            if cursor.key == records - 1:
                store.put(order(records))

    assert (records in seen) is is_met


def test_a_cursor_at_a_fetched_end_goes_on_to_a_key() -> None:
    connection = opened(Factory())
    filled(connection, 5)
    seen = []
    with connection.transaction(["orders"], "readwrite") as tx:
        store = tx.object_store("orders")
        for cursor in store.walk():
            seen.append(cursor.key)
            if cursor.key == 4:
                store.put(order(7))
                cursor.continue_(6)

    assert seen == [0, 1, 2, 3, 4, 7]
