"""Transactions: what they keep, what they undo, and who waits for whom."""

from __future__ import annotations

import pytest

from storage_schema import (
    AbortError,
    ConstraintError,
    Factory,
    InvalidStateError,
    KeyRange,
    QuotaExceededError,
    ReadOnlyError,
    StillWaitingError,
    Transaction,
    TransactionInactiveError,
    difference,
    picture,
)
from tests.storage_schema.databases import NAME, filled, ids, opened, order


def add_all(tx: Transaction, *numbers: int) -> None:
    for number in numbers:
        tx.object_store("orders").add(order(number))


def test_an_abort_restores_all_of_it() -> None:
    """Records, index entries, cleared stores and the key generator (L18)."""
    factory = Factory()
    connection = opened(factory)
    filled(connection, 40)
    with connection.transaction(["notes"], "readwrite") as tx:
        tx.object_store("notes").add("first")
    before = picture(connection)

    tx = connection.transaction(["orders", "notes"], "readwrite")
    orders, notes = tx.object_store("orders"), tx.object_store("notes")
    orders.put(order(3, state="paid"))
    orders.put(order(100))
    orders.delete(KeyRange.bound(5, 30))
    orders.put(order(7, ticket="x"))
    orders.put(order(7, ticket="y"))
    notes.add("second")
    notes.add("far", 500)
    orders.clear()
    orders.put(order(8, ticket="y"))
    assert orders.get_all_keys().result == [8]
    tx.abort()

    assert difference(before, picture(connection)) is None
    with connection.transaction(["notes"], "readwrite") as tx:
        assert tx.object_store("notes").add("again").result == 2


def test_what_an_abort_undoes_is_as_much_as_the_transaction_did() -> None:
    """No transaction copies a store: the undo log has a line for each change."""
    connection = opened(Factory())
    filled(connection, 500)
    tx = connection.transaction(["orders"], "readwrite")
    orders = tx.object_store("orders")
    orders.put(order(3, state="paid")).result  # noqa: B018 - runs the request
    orders.get_all().result  # noqa: B018
    assert len(tx.undo) == 1
    orders.clear().result  # noqa: B018

    assert len(tx.undo) <= 5
    tx.abort()
    assert len(ids(connection)) == 500


def test_a_clear_does_not_reset_the_generator() -> None:
    """L18: the next key after two and a clear is 3."""
    connection = opened(Factory())
    with connection.transaction(["notes"], "readwrite") as tx:
        notes = tx.object_store("notes")
        notes.add("a")
        notes.add("b")
        notes.clear()
        assert notes.add("c").result == 3


def test_one_duplicate_add_among_four_takes_the_batch_with_it() -> None:
    """L16: 0 rows."""
    connection = opened(Factory())
    with (
        pytest.raises(ConstraintError, match="under 1 already"),
        connection.transaction(["orders"], "readwrite") as tx,
    ):
        add_all(tx, 1, 2, 1, 3)

    assert ids(connection) == []


def test_a_duplicate_that_is_caught_takes_nothing_with_it() -> None:
    """L16: with preventDefault 3 rows."""
    connection = opened(Factory())
    with connection.transaction(["orders"], "readwrite") as tx:
        errors = [tx.object_store("orders").add(order(n)).caught for n in (1, 2, 1, 3)]

    assert [error and error.name for error in errors] == [
        None,
        None,
        "ConstraintError",
        None,
    ]
    assert ids(connection) == [1, 2, 3]


def test_requests_behind_a_failure_end_in_an_abort_error() -> None:
    connection = opened(Factory())
    tx = connection.transaction(["orders"], "readwrite")
    orders = tx.object_store("orders")
    first, twice, last = (orders.add(order(n)) for n in (1, 1, 2))

    with pytest.raises(AbortError) as lost:
        last.result  # noqa: B018 - runs the requests

    assert isinstance(lost.value.__cause__, ConstraintError)
    assert (first.result, twice.caught, tx.state) == (1, tx.error, "finished")


def test_an_exception_in_the_block_aborts_and_goes_on() -> None:
    connection = opened(Factory())
    tx = connection.transaction(["orders"], "readwrite")
    with pytest.raises(LookupError), tx:
        raise LookupError(tx.object_store("orders").put(order(1)).result)

    assert tx.has_aborted
    assert ids(connection) == []


def test_after_the_block_the_transaction_takes_nothing_more() -> None:
    """L15: whoever comes back too late meets TransactionInactiveError."""
    connection = opened(Factory())
    with connection.transaction(["orders"], "readwrite") as tx:
        orders = tx.object_store("orders")

    with pytest.raises(TransactionInactiveError):
        orders.put(order(1))
    with pytest.raises(InvalidStateError):
        tx.object_store("orders")


def test_a_read_only_transaction_refuses_writes_and_lives() -> None:
    connection = opened(Factory())
    with connection.transaction(["orders"]) as tx:
        with pytest.raises(ReadOnlyError):
            tx.object_store("orders").put(order(1))
        assert tx.object_store("orders").count().result == 0


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        ("readonly", "readonly", False),
        ("readwrite", "readonly", True),
        ("readonly", "readwrite", True),
        ("readwrite", "readwrite", True),
    ],
)
def test_overlapping_transactions_run_in_the_order_they_were_made(
    first: str, second: str, *, waits: bool
) -> None:
    connection = opened(Factory())
    earlier = connection.transaction(["orders", "notes"], first)
    later = connection.transaction(["orders"], second)
    request = later.object_store("orders").count()

    if waits:
        with pytest.raises(StillWaitingError):
            request.result  # noqa: B018 - tries to run
        earlier.commit()

    assert request.result == 0


def test_transactions_that_do_not_overlap_do_not_wait() -> None:
    connection = opened(Factory())
    earlier = connection.transaction(["notes"], "readwrite")
    later = connection.transaction(["orders"], "readwrite")

    assert later.object_store("orders").put(order(1)).result == 1
    earlier.abort()


def test_what_waits_after_its_commit_finishes_by_itself_and_sees_the_earlier() -> None:
    connection = opened(Factory())
    earlier = connection.transaction(["orders"], "readwrite")
    later = connection.transaction(["orders"], "readwrite")
    count = later.object_store("orders").count()
    later.commit()
    assert later.state == "committing"

    earlier.object_store("orders").put(order(1))
    earlier.commit()

    assert (count.result, later.state, later.error) == (1, "finished", None)


def test_leaving_a_block_that_may_not_start_says_so() -> None:
    connection = opened(Factory())
    earlier = connection.transaction(["orders"], "readwrite")
    with (
        pytest.raises(StillWaitingError),
        connection.transaction(["orders"], "readwrite") as later,
    ):
        later.object_store("orders").put(order(1))
    earlier.commit()

    assert ids(connection) == [1]


def test_a_commit_that_fails_keeps_nothing_though_each_request_succeeded() -> None:
    """L12: request success, then abort with QuotaExceededError; the next one works."""
    factory = Factory()
    connection = opened(factory)
    factory.fail_next_commit(QuotaExceededError("the disk is full"))
    with connection.transaction(["orders"]) as tx:
        assert tx.object_store("orders").count().result == 0
    with (
        pytest.raises(QuotaExceededError),
        connection.transaction(["orders"], "readwrite") as tx,
    ):
        assert tx.object_store("orders").put(order(1)).result == 1

    assert ids(connection) == []
    filled(connection, 1)
    assert ids(connection) == [0]
    assert factory.databases() == {NAME: 1}


def test_two_databases_do_not_wait_for_each_other() -> None:
    factory = Factory()
    one, other = opened(factory), factory.open("other", 1).result
    one.transaction(["orders"], "readwrite")

    assert (one.is_open, other.is_open) == (True, True)
    assert factory.open("third").state == "done"
