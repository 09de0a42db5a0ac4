"""Databases that the tests of the model begin with."""

from __future__ import annotations

from storage_schema import Connection, Factory, KeyRange, Transaction

NAME = "shop"


def shop(connection: Connection, _: Transaction, _old: int, _new: int) -> None:
    """Version 1: orders by id, with two indexes; notes with a key generator."""
    orders = connection.create_object_store("orders", key_path="id")
    orders.create_index("by_buyer_state", ["buyer", "state"])
    orders.create_index("by_ticket", "ticket", unique=True)
    connection.create_object_store("notes", auto_increment=True)


def opened(factory: Factory) -> Connection:
    """The shop, open at version 1."""
    return factory.open(NAME, 1, upgrade=shop).result


def order(number: int, **fields: object) -> dict[str, object]:
    return {"id": number, "buyer": f"b{number % 3}", "state": "new", **fields}


def filled(connection: Connection, count: int) -> None:
    with connection.transaction(["orders"], "readwrite") as tx:
        for number in range(count):
            tx.object_store("orders").put(order(number))


def ids(connection: Connection) -> list[object]:
    with connection.transaction(["orders"]) as tx:
        return list(tx.object_store("orders").get_all_keys().result)


def buyer_range(buyer: str) -> KeyRange:
    """All states of one buyer."""
    return KeyRange.bound([buyer], [buyer, []])
