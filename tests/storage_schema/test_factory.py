"""The life of a database: upgrade, blocked, blocking, terminated, crash."""

from __future__ import annotations

import pytest

from storage_schema import (
    AbortError,
    Connection,
    ConstraintError,
    Factory,
    InvalidStateError,
    JsTypeError,
    QuotaExceededError,
    StillBlockedError,
    Transaction,
    VersionError,
    difference,
    picture,
)
from tests.storage_schema.databases import NAME, filled, ids, opened, order, shop


def adding(
    connection: Connection,
    tx: Transaction,
    _old: int,
    _new: int,
    *,
    fails: bool = False,
) -> None:
    """Version 2: one more store and index, and a change to every order."""
    connection.create_object_store("bills")
    orders = tx.object_store("orders")
    orders.create_index("by_state", "state")
    for cursor in orders.walk():
        cursor.update({**cursor.value, "state": "old"})  # type: ignore[dict-item]
    if fails:
        raise ValueError("row 7 is odd")


def failing(connection: Connection, tx: Transaction, old: int, new: int) -> None:
    adding(connection, tx, old, new, fails=True)


def test_an_upgrade_hears_old_and_new_version() -> None:
    heard: list[tuple[int, int]] = []
    factory = Factory()
    factory.open(NAME, 3, upgrade=lambda _c, _t, old, new: heard.append((old, new)))

    assert heard == [(0, 3)]
    assert factory.databases() == {NAME: 3}
    assert factory.open(NAME).result.version == 3


def test_an_older_program_gets_a_version_error_and_changes_nothing() -> None:
    factory = Factory()
    opened(factory).close()
    factory.open(NAME, 2, upgrade=adding).result.close()
    before = picture(factory, NAME)

    with pytest.raises(VersionError, match="has version 2, newer than 1"):
        factory.open(NAME, 1, upgrade=shop).result  # noqa: B018 - raises

    assert difference(before, picture(factory, NAME)) is None


def test_an_upgrade_that_throws_after_some_work_leaves_the_old_version_whole() -> None:
    """L10: a synchronous throw aborts and rolls back; the cause is kept."""
    factory = Factory()
    connection = opened(factory)
    filled(connection, 20)
    before = picture(connection)
    connection.close()

    request = factory.open(NAME, 2, upgrade=failing)

    assert request.state == "failed"
    with pytest.raises(AbortError) as failure:
        request.result  # noqa: B018 - raises
    assert isinstance(failure.value.__cause__, ValueError)
    assert factory.databases() == {NAME: 1}
    assert difference(before, picture(factory, NAME)) is None
    assert factory.open(NAME, 2, upgrade=adding).result.version == 2


def test_a_first_upgrade_that_fails_leaves_no_database() -> None:
    factory = Factory()

    with pytest.raises(AbortError):
        factory.open(NAME, 1, upgrade=failing).result  # noqa: B018 - raises

    assert factory.databases() == {}


def test_a_unique_index_over_duplicates_fails_the_open() -> None:
    """L11: open fails with AbortError; version and stores are unchanged."""
    factory = Factory()
    connection = opened(factory)
    filled(connection, 6)
    connection.close()

    def unique(_c: Connection, tx: Transaction, _o: int, _n: int) -> None:
        tx.object_store("orders").create_index("by_state", "state", unique=True)

    with pytest.raises(AbortError) as failure:
        factory.open(NAME, 2, upgrade=unique).result  # noqa: B018 - raises

    assert isinstance(failure.value.__cause__, ConstraintError)
    assert factory.databases() == {NAME: 1}
    assert picture(factory, NAME).store("orders").indexes[0].name == "by_buyer_state"


def test_a_failing_commit_fails_an_upgrade_too() -> None:
    factory = Factory()
    opened(factory).close()
    factory.fail_next_commit(QuotaExceededError("full"))

    with pytest.raises(AbortError) as failure:
        factory.open(NAME, 2, upgrade=adding).result  # noqa: B018 - raises

    assert isinstance(failure.value.__cause__, QuotaExceededError)
    assert factory.databases() == {NAME: 1}


def test_a_blocked_upgrade_goes_on_when_the_last_other_connection_closes() -> None:
    """L19: blocked is heard, then upgrade and success once the old ones close."""
    factory, heard = Factory(), list[object]()
    old, older = opened(factory), factory.open(NAME).result

    request = factory.open(
        NAME, 2, upgrade=adding, blocked=lambda a, b: heard.append((a, b))
    )
    assert (request.state, heard) == ("blocked", [(1, 2)])
    with pytest.raises(StillBlockedError, match="have to close first"):
        request.result  # noqa: B018 - raises
    filled(old, 3)  # an old connection still works
    old.close()
    with pytest.raises(StillBlockedError):
        request.result  # noqa: B018 - raises
    older.close()

    assert request.result.object_store_names == ("bills", "notes", "orders")
    assert ids(request.result) == [0, 1, 2]


def test_a_blocking_handler_that_closes_lets_the_upgrade_through_at_once() -> None:
    factory, heard = Factory(), list[object]()

    def close(before: int, after: int | None) -> None:
        heard.append((before, after))
        connection.close()

    connection = factory.open(NAME, 1, upgrade=shop, blocking=close).result
    request = factory.open(
        NAME, 2, upgrade=adding, blocked=lambda *_: heard.append("!")
    )

    assert (request.state, heard) == ("done", [(1, 2)])


def test_a_closed_connection_blocks_until_its_transactions_are_over() -> None:
    factory = Factory()
    old = opened(factory)
    tx = old.transaction(["orders"], "readwrite")
    old.close()
    request = factory.open(NAME, 2, upgrade=adding)
    assert request.state == "blocked"

    tx.object_store("orders").put(order(5))
    tx.commit()

    assert ids(request.result) == [5]


def test_requests_for_one_database_run_one_after_another() -> None:
    factory = Factory()
    old = opened(factory)
    upgrading = factory.open(NAME, 2, upgrade=adding)
    deleting = factory.delete_database(NAME)
    last = factory.open(NAME, 1, upgrade=shop)
    states = [request.state for request in (upgrading, deleting, last)]
    assert states == ["blocked", "pending", "pending"]

    old.close()
    assert deleting.state == "blocked"
    upgrading.result.close()

    assert (deleting.result, last.result.version) == (2, 1)


def test_deleting_asks_the_open_connections_and_gives_the_old_version() -> None:
    factory, heard = Factory(), list[object]()
    connection = factory.open(
        NAME, 1, upgrade=shop, blocking=lambda a, b: heard.append((a, b))
    ).result
    request = factory.delete_database(NAME, blocked=lambda a, b: heard.append((a, b)))
    assert (request.state, heard) == ("blocked", [(1, None), (1, None)])

    connection.close()

    assert request.result == 1
    assert factory.databases() == {}
    assert factory.delete_database(NAME).result == 0


def test_cleared_site_data_closes_by_force_and_deletes() -> None:
    """L14: the connection hears it, transaction() throws, reopening works."""
    factory, heard = Factory(), list[str]()
    connection = factory.open(
        NAME, 1, upgrade=shop, terminated=lambda: heard.append("terminated")
    ).result
    filled(connection, 3)
    tx = connection.transaction(["orders"], "readwrite")
    request = tx.object_store("orders").put(order(9))

    factory.clear_site_data()

    assert heard == ["terminated"]
    assert isinstance(request.error, AbortError)
    with pytest.raises(InvalidStateError, match="closed: reopen"):
        connection.transaction(["orders"])
    assert ids(opened(factory)) == []


def test_an_open_that_waits_while_the_data_are_cleared_fails() -> None:
    """L14, L19: Chromium tells the holder, gives AbortError and keeps no database."""
    factory, heard = Factory(), list[object]()
    holder = factory.open(
        NAME, 1, upgrade=shop, terminated=lambda: heard.append("terminated")
    ).result
    upgrading = factory.open(NAME, 2, upgrade=lambda *_: heard.append("upgraded"))
    behind = factory.open(NAME)
    assert (upgrading.state, behind.state) == ("blocked", "pending")

    factory.clear_site_data()

    assert heard == ["terminated"]
    assert not holder.is_open
    assert isinstance(upgrading.error, AbortError)
    assert isinstance(behind.error, AbortError)
    assert factory.databases() == {}
    assert factory.open(NAME, 1, upgrade=shop).state == "done"
    assert factory.databases() == {NAME: 1}


def test_data_cleared_out_of_the_blocked_handler_fail_that_open() -> None:
    factory = Factory()
    opened(factory)

    request = factory.open(
        NAME, 2, upgrade=adding, blocked=lambda *_: factory.clear_site_data()
    )

    assert isinstance(request.error, AbortError)
    assert factory.databases() == {}


def test_a_deletion_that_waits_while_the_data_are_cleared_is_done() -> None:
    factory = Factory()
    opened(factory)
    deleting = factory.delete_database(NAME)

    factory.clear_site_data()

    assert (deleting.result, factory.databases()) == (1, {})


def test_a_page_that_opens_again_as_it_hears_of_the_clearing_has_a_new_database() -> (
    None
):
    factory, again = Factory(), list[Connection]()

    def reopen() -> None:
        again.append(factory.open(NAME, 1, upgrade=shop).result)

    filled(factory.open(NAME, 1, upgrade=shop, terminated=reopen).result, 3)

    factory.clear_site_data()

    assert factory.databases() == {NAME: 1}
    assert ids(again[0]) == []
    assert ids(factory.open(NAME).result) == []


def test_terminating_keeps_what_was_committed_and_unblocks_others() -> None:
    factory = Factory()
    connection = opened(factory)
    filled(connection, 2)
    request = factory.open(NAME, 2, upgrade=adding)

    factory.terminate(NAME)

    assert not connection.is_open
    assert ids(request.result) == [0, 1]


def test_a_crash_leaves_what_was_committed_alone() -> None:
    """L6 and L9: of an open transaction nothing stays, whatever its requests said."""
    factory = Factory()
    connection = opened(factory)
    filled(connection, 3)
    before = picture(connection)
    tx = connection.transaction(["orders"], "readwrite")
    assert tx.object_store("orders").put(order(50)).result == 50

    survivor = factory.crash()

    assert difference(before, picture(survivor, NAME)) is None
    assert factory.databases() == {}
    assert not connection.is_open
    assert ids(survivor.open(NAME).result) == [0, 1, 2]


def test_a_crash_in_the_middle_of_an_upgrade_leaves_the_old_version() -> None:
    """L7: version 1, no new store, no row changed; the next start upgrades."""
    factory, survivors = Factory(), list[Factory]()
    connection = opened(factory)
    filled(connection, 10)
    before = picture(connection)
    connection.close()

    def killed(c: Connection, tx: Transaction, old: int, new: int) -> None:
        adding(c, tx, old, new)
        survivors.append(factory.crash())

    with pytest.raises(AbortError):
        factory.open(NAME, 2, upgrade=killed).result  # noqa: B018 - raises
    (survivor,) = survivors

    assert survivor.databases() == {NAME: 1}
    assert difference(before, picture(survivor, NAME)) is None
    assert survivor.open(NAME, 2, upgrade=adding).result.version == 2


def test_a_connection_closed_in_its_upgrade_upgrades_but_does_not_open() -> None:
    factory = Factory()

    def closing(connection: Connection, *_: object) -> None:
        connection.create_object_store("s")
        connection.close()

    with pytest.raises(AbortError, match="closed on the way"):
        factory.open(NAME, 1, upgrade=closing).result  # noqa: B018 - raises

    assert factory.databases() == {NAME: 1}
    assert factory.open(NAME, 2).state == "done"


def test_a_handler_that_raises_stops_its_own_request_only() -> None:
    factory = Factory()
    connection = opened(factory)

    def broken(_old: int, _new: int | None) -> None:
        raise ValueError("a bug of the page")

    with pytest.raises(ValueError, match="a bug of the page"):
        factory.open(NAME, 2, blocked=broken)
    connection.close()

    assert factory.open(NAME, 2, upgrade=adding).state == "done"


@pytest.mark.parametrize("version", [0, -1, 2**53, float("nan"), "x"])
def test_what_is_no_version_is_a_type_error(version: object) -> None:
    with pytest.raises(JsTypeError):
        Factory().open(NAME, version)
