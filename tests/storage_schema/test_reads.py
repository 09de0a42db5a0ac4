"""Reads are told to whoever counts them."""

from __future__ import annotations

from storage_schema import Factory, Read
from tests.storage_schema.databases import buyer_range, filled, opened


def test_each_read_tells_what_it_asked_for_and_how_much_it_gave() -> None:
    heard: list[Read] = []
    connection = opened(Factory(heard.append))
    filled(connection, 9)
    assert heard == []
    with connection.transaction(["orders"]) as tx:
        orders = tx.object_store("orders")
        index = orders.index("by_buyer_state")
        orders.get(4)
        orders.get_key(400)
        orders.get_all()
        index.get_all(buyer_range("b1"), 2)
        index.get_all_keys(buyer_range("b1"))
        orders.count()
        for _ in index.walk(buyer_range("b2")):
            pass

    assert heard == [
        Read("orders", None, "get", True, None, 1),
        Read("orders", None, "get_key", True, None, 0),
        Read("orders", None, "get_all", False, None, 9),
        Read("orders", "by_buyer_state", "get_all", True, 2, 2),
        Read("orders", "by_buyer_state", "get_all_keys", True, None, 3),
        Read("orders", None, "count", False, None, 0),
        Read("orders", "by_buyer_state", "open_cursor", True, None, 1),
        Read("orders", "by_buyer_state", "continue", True, None, 1),
        Read("orders", "by_buyer_state", "continue", True, None, 1),
        Read("orders", "by_buyer_state", "continue", True, None, 0),
    ]


def test_a_read_that_never_ran_is_not_told() -> None:
    heard: list[Read] = []
    connection = opened(Factory(heard.append))
    tx = connection.transaction(["orders"])
    tx.object_store("orders").get_all()
    tx.abort()

    assert heard == []
