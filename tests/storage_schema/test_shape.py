"""Pictures of a database, and the words for what differs."""

from __future__ import annotations

import pytest

from storage_schema import Factory, Map, NotFoundError, difference, picture
from tests.storage_schema.databases import NAME, filled, opened, order


def test_two_databases_that_hold_the_same_look_the_same() -> None:
    one, other = opened(Factory()), opened(Factory())
    for connection in (one, other):
        with connection.transaction(["orders"], "readwrite") as tx:
            tx.object_store("orders").put(order(1, extra=Map([("k", [1.0])])))

    assert picture(one) == picture(other)
    assert str(picture(one)) == str(picture(other))


def test_a_difference_is_told_where_it_is() -> None:
    one, other = opened(Factory()), opened(Factory())
    filled(one, 3)
    filled(other, 2)
    with other.transaction(["orders", "notes"], "readwrite") as tx:
        tx.object_store("orders").put(order(1, state="paid"))
        tx.object_store("notes").add("a note")

    told = difference(picture(one), picture(other))

    assert told is not None
    assert "store 'orders': record 2: expected, but missing" in told
    assert 'record 1 .state: expected "new", found "paid"' in told
    assert 'index \'by_buyer_state\': entry ["b1", "paid"] -> 1: found' in told
    assert "store 'notes': next key: expected 1, found 2" in told


def test_true_and_one_are_two_values() -> None:
    one, other = opened(Factory()), opened(Factory())
    for connection, flag in ((one, True), (other, 1)):
        with connection.transaction(["notes"], "readwrite") as tx:
            tx.object_store("notes").add(flag)

    assert picture(one) != picture(other)


def test_many_differences_are_told_briefly() -> None:
    one, other = opened(Factory()), opened(Factory())
    filled(one, 500)

    told = difference(picture(one), picture(other))

    assert told is not None
    assert len(told.splitlines()) == 21
    assert "more" in told.splitlines()[-1]


def test_a_picture_is_not_changed_by_what_comes_later() -> None:
    factory = Factory()
    connection = opened(factory)
    filled(connection, 2)
    before = picture(factory, NAME)
    filled(connection, 5)

    assert len(before.store("orders").records) == 2
    assert before.store("orders").record(1) == order(1)
    with pytest.raises(NotFoundError):
        picture(factory, "nothing")
