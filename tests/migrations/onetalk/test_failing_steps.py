"""A step that fails leaves the old version whole; the next opening starts again."""

from __future__ import annotations

import pytest

from migrations.onetalk import STEPS, Step, UpgradeFailedError, open_store
from migrations.onetalk.runner import Change
from storage_schema import (
    AbortError,
    Connection,
    Factory,
    QuotaExceededError,
    StillBlockedError,
    Transaction,
)
from storage_schema.onetalk.names import (
    BOOTSTRAPS,
    BY_ACCOUNT,
    CARDS,
    CHECKPOINTS,
    DATABASE_NAME,
    MESSAGES,
)
from storage_schema.shape import difference
from tests.migrations.onetalk.old_stores import OTHER_CHANNELS, make
from tests.migrations.onetalk.pictures import shape_of


class PlannedError(Exception):
    """Raised by a step on purpose."""


def failing(position: int) -> tuple[Step, ...]:
    """The steps, of which one does its work, more damage, and then raises."""
    steps = list(STEPS)
    chosen = steps[position]

    def change(connection: Connection, transaction: Transaction) -> None:
        chosen.change(connection, transaction)
        transaction.object_store(MESSAGES).clear()
        connection.delete_object_store(OTHER_CHANNELS[0])
        message = "no further"
        raise PlannedError(message)

    steps[position] = Step(chosen.from_version, chosen.to_version, chosen.why, change)
    return tuple(steps)


@pytest.mark.parametrize(
    ("old", "position"),
    [
        (old, position)
        for old in (1, 6, 7, 8, 9)
        for position, step in enumerate(STEPS)
        if step.to_version > old
    ],
)
def test_a_step_that_raises_leaves_the_old_version_whole(
    factory: Factory, old: int, position: int
) -> None:
    """OT-11 to OT-15: the version never advances with work missing."""
    make(factory, old)
    before = shape_of(factory)

    with pytest.raises(UpgradeFailedError) as caught:
        open_store(factory, steps=failing(position))

    assert (caught.value.old_version, caught.value.to) == (
        old,
        STEPS[position].to_version,
    )
    assert isinstance(caught.value.__cause__, PlannedError)
    assert difference(before, shape_of(factory)) is None
    assert open_store(factory).version == 10


@pytest.mark.parametrize("position", range(len(STEPS)))
def test_a_fresh_database_whose_upgrade_fails_is_not_there(position: int) -> None:
    factory = Factory()

    def change(connection: Connection, transaction: Transaction) -> None:
        STEPS[position].change(connection, transaction)
        message = "no further"
        raise PlannedError(message)

    steps = list(STEPS)
    steps[position] = Step(0, STEPS[position].to_version, "", change)
    with pytest.raises(UpgradeFailedError):
        open_store(factory, steps=steps)

    assert factory.databases() == {}


def test_a_step_that_returns_something_fails(factory: Factory) -> None:
    """It would go on after the transaction is over, and be lost silently."""

    def change(connection: Connection, transaction: Transaction) -> object:
        del connection, transaction
        return "a promise"

    lax: Change = change  # type: ignore[assignment]
    make(factory, 9)
    before = shape_of(factory)

    with pytest.raises(UpgradeFailedError, match="synchronous"):
        open_store(factory, steps=(*STEPS[:-1], Step(9, 10, "", lax)))

    assert difference(before, shape_of(factory)) is None


def altered(factory: Factory, version: int, change: Change) -> None:
    """Makes a database of `version` that somebody has changed further."""
    make(factory, version - 1)

    def run(
        connection: Connection, transaction: Transaction, old: int, new: int
    ) -> None:
        STEPS[version - 7].change(connection, transaction)
        change(connection, transaction)
        assert (old, new) == (version - 1, version)

    factory.open(DATABASE_NAME, version, upgrade=run).result.close()


@pytest.mark.parametrize(
    ("key_path", "unique", "multi_entry"),
    [
        ("conversationId", False, False),
        (["channelAccountId"], False, False),
        ("channelAccountId", True, False),
        ("channelAccountId", False, True),
    ],
)
def test_another_index_under_the_name_fails_the_step(
    factory: Factory, key_path: object, unique: bool, multi_entry: bool
) -> None:
    """OT-13, OT-16: it would answer wrongly, or abort writes, much later."""

    def change(connection: Connection, transaction: Transaction) -> None:
        del connection
        store = transaction.object_store(CHECKPOINTS)
        store.clear()
        store.create_index(BY_ACCOUNT, key_path, unique, multi_entry)

    altered(factory, 8, change)
    before = shape_of(factory)

    with pytest.raises(UpgradeFailedError, match="another index") as caught:
        open_store(factory)

    assert caught.value.to == 9
    assert difference(before, shape_of(factory)) is None


def test_the_same_index_that_is_there_already_is_kept(factory: Factory) -> None:
    def change(connection: Connection, transaction: Transaction) -> None:
        del connection
        transaction.object_store(CHECKPOINTS).create_index(
            BY_ACCOUNT, "channelAccountId"
        )

    altered(factory, 8, change)

    assert open_store(factory).version == 10


@pytest.mark.parametrize("store", [CARDS, BOOTSTRAPS])
def test_a_store_that_is_there_with_another_key_fails_the_step(
    factory: Factory, store: str
) -> None:
    """It could not hold today's records; it may hold somebody's."""

    def change(connection: Connection, transaction: Transaction) -> None:
        del transaction
        if store in connection.object_store_names:
            connection.delete_object_store(store)
        connection.create_object_store(store, "id").put({"id": 1})

    altered(factory, 7, change)
    before = shape_of(factory)

    with pytest.raises(UpgradeFailedError, match="another key"):
        open_store(factory)

    assert difference(before, shape_of(factory)) is None


def test_an_upgrade_that_the_disk_has_no_room_for_changes_nothing(
    factory: Factory,
) -> None:
    """OT-31: the commit fails, no step does; the next opening upgrades."""
    make(factory, 7)
    before = shape_of(factory)
    factory.fail_next_commit(QuotaExceededError("full"))

    with pytest.raises(AbortError) as caught:
        open_store(factory)

    assert isinstance(caught.value.__cause__, QuotaExceededError)
    assert difference(before, shape_of(factory)) is None
    assert open_store(factory).version == 10


@pytest.mark.parametrize("old", [6, 9])
def test_a_browser_killed_in_mid_upgrade_leaves_the_old_version_whole(
    factory: Factory, old: int
) -> None:
    """OT-11 to OT-15: what is on the disk is what was; the next start upgrades."""
    survivors: list[Factory] = []

    def change(connection: Connection, transaction: Transaction) -> None:
        STEPS[-1].change(connection, transaction)
        transaction.object_store(MESSAGES).clear()
        survivors.append(factory.crash())

    make(factory, old)
    before = shape_of(factory)

    with pytest.raises(AbortError):
        open_store(factory, steps=(*STEPS[:-1], Step(9, 10, "", change)))

    (survivor,) = survivors
    assert difference(before, shape_of(survivor)) is None
    assert open_store(survivor).version == 10


def test_an_old_connection_that_stays_open_holds_the_upgrade_up(
    factory: Factory,
) -> None:
    heard: list[tuple[int, int | None]] = []
    old = open_store(factory, 9)

    with pytest.raises(StillBlockedError):
        open_store(factory, blocked=lambda *versions: heard.append(versions))

    assert heard == [(9, 10)]
    assert factory.databases() == {DATABASE_NAME: 9}
    old.close()
    assert factory.databases() == {DATABASE_NAME: 10}


def test_an_old_connection_that_closes_when_asked_holds_nothing_up(
    factory: Factory,
) -> None:
    connections: list[Connection] = []
    connections.append(
        open_store(factory, 9, blocking=lambda *_: connections[0].close())
    )

    assert open_store(factory).version == 10
