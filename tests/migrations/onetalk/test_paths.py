"""Every way to version 10, in the model: what stays, what goes, what is new."""

from __future__ import annotations

import pytest

from migrations.onetalk import open_store
from storage_schema import Factory
from storage_schema.onetalk import list_pending_profiles
from storage_schema.onetalk.names import (
    ALL_STORES,
    ANOMALIES,
    BOOTSTRAPS,
    BUYER_FACTS,
    BY_ACCOUNT,
    BY_ACCOUNT_CONVERSATION,
    BY_ACCOUNT_CONVERSATION_STATUS,
    BY_ACCOUNT_PENDING_OBSERVED_AT,
    BY_ACCOUNT_STATUS,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    FIRST_FIVE,
    MESSAGES,
    PROFILES,
)
from storage_schema.shape import Shape, difference
from tests.migrations.onetalk.old_stores import ACCOUNTS, OTHER_CHANNELS, make
from tests.migrations.onetalk.pictures import (
    indexes_of,
    others_of,
    outline_of,
    shape_of,
    stores_of,
)

INDEXES_OF_9 = {
    (CHECKPOINTS, BY_ACCOUNT),
    (CANDIDATES, BY_ACCOUNT_STATUS),
    (CANDIDATES, BY_ACCOUNT_CONVERSATION),
    (CANDIDATES, BY_ACCOUNT_CONVERSATION_STATUS),
    (MESSAGES, BY_ACCOUNT_CONVERSATION),
    (ANOMALIES, BY_ACCOUNT_CONVERSATION),
    (PROFILES, BY_ACCOUNT),
    (PROFILES, BY_ACCOUNT_PENDING_OBSERVED_AT),
}
INDEXES_OF_10 = {(CARDS, BY_ACCOUNT_STATUS), (CARDS, BY_ACCOUNT_CONVERSATION)}

ACCOUNT, CONVERSATION = "channelAccountId", "conversationId"
KEY_PATHS: dict[tuple[str, str], object] = {
    (CHECKPOINTS, BY_ACCOUNT): ACCOUNT,
    (CANDIDATES, BY_ACCOUNT_STATUS): (ACCOUNT, "status"),
    (CANDIDATES, BY_ACCOUNT_CONVERSATION): (ACCOUNT, CONVERSATION),
    (CANDIDATES, BY_ACCOUNT_CONVERSATION_STATUS): (ACCOUNT, CONVERSATION, "status"),
    (MESSAGES, BY_ACCOUNT_CONVERSATION): (ACCOUNT, CONVERSATION),
    (ANOMALIES, BY_ACCOUNT_CONVERSATION): (ACCOUNT, CONVERSATION),
    (PROFILES, BY_ACCOUNT): ACCOUNT,
    (PROFILES, BY_ACCOUNT_PENDING_OBSERVED_AT): (ACCOUNT, "pending.observedAtMs"),
    (CARDS, BY_ACCOUNT_STATUS): (ACCOUNT, "status"),
    (CARDS, BY_ACCOUNT_CONVERSATION): (ACCOUNT, CONVERSATION),
}


def upgraded(factory: Factory, *versions: int) -> Shape:
    for version in versions:
        open_store(factory, version).close()
    return shape_of(factory)


@pytest.fixture
def fresh() -> Shape:
    return upgraded(Factory(), 10)


def test_a_fresh_database_has_every_store_and_index(fresh: Shape) -> None:
    """OT-10, OT-16: eight stores, and no index without a reader."""
    assert (fresh.version, set(stores_of(fresh))) == (10, set(ALL_STORES))
    ours = {pair for pair in indexes_of(fresh) if pair[0] in ALL_STORES}
    assert ours == INDEXES_OF_9 | INDEXES_OF_10


def test_each_index_looks_at_what_docs_store_says(fresh: Shape) -> None:
    """OT-13, OT-14, OT-17: whoever swaps two parts reads nothing, or of others."""
    found = {
        (store.name, index.name): index.key_path
        for store in fresh.stores
        if store.name in ALL_STORES
        for index in store.indexes
    }

    assert found == KEY_PATHS


def test_no_index_is_unique(fresh: Shape) -> None:
    """OT-16: old duplicates under a unique index would abort every start."""
    flags = {
        (index.unique, index.multi_entry)
        for store in fresh.stores
        for index in store.indexes
    }
    assert flags == {(False, False)}


@pytest.mark.parametrize("old", [0, 1, 6, 7, 8, 9])
def test_every_path_ends_in_the_schema_of_a_fresh_database(
    factory: Factory, fresh: Shape, old: int
) -> None:
    """OT-11 to OT-14."""
    make(factory, old)

    assert outline_of(upgraded(factory, 10)) == outline_of(fresh)


@pytest.mark.parametrize("old", [1, 6, 7, 8, 9])
def test_other_channels_stores_stay_as_they_were(factory: Factory, old: int) -> None:
    """OT-15: key paths, generators, records and index entries."""
    make(factory, old)
    before = others_of(shape_of(factory))

    after = others_of(upgraded(factory, 10))

    assert set(before) == set(OTHER_CHANNELS)
    assert after == before


@pytest.mark.parametrize("old", [1, 6])
@pytest.mark.parametrize("new", [7, 10])
def test_what_is_older_than_7_starts_clean(
    factory: Factory, old: int, new: int
) -> None:
    """OT-11: the five stores are empty, whatever keys and indexes they had."""
    make(factory, old)
    before = stores_of(shape_of(factory))

    after = stores_of(upgraded(factory, new))

    assert any(before[name].records for name in FIRST_FIVE if name in before)
    assert all(len(after[name].records) == 0 for name in FIRST_FIVE)
    if new == 7:
        assert all(len(after[name].indexes) == 0 for name in FIRST_FIVE)


def test_a_card_ledger_older_than_7_keeps_its_records(factory: Factory) -> None:
    """OT-14, OT-90: it is none of the five that are cleared."""
    make(factory, 6)
    before = stores_of(shape_of(factory))[CARDS].records

    assert len(before) > 0
    assert stores_of(upgraded(factory, 10))[CARDS].records == before


@pytest.mark.parametrize("old", [7, 8, 9])
def test_from_7_on_every_record_is_kept(factory: Factory, old: int) -> None:
    """OT-12 to OT-14: the same stores hold the same records, and new ones are empty."""
    make(factory, old)
    before = stores_of(shape_of(factory))

    after = stores_of(upgraded(factory, 10))

    assert all(len(before[name].records) > 0 for name in before)
    assert {name: after[name].records for name in before} == {
        name: store.records for name, store in before.items()
    }
    new = set(after) - set(before)
    assert all(len(after[name].records) == 0 for name in new)


@pytest.mark.parametrize(
    ("old", "stores", "indexes"),
    [
        (7, {BOOTSTRAPS}, set()),
        (8, {CARDS}, INDEXES_OF_9),
        (9, {BUYER_FACTS}, INDEXES_OF_10),
    ],
)
def test_a_step_adds_exactly_what_it_says(
    factory: Factory, old: int, stores: set[str], indexes: set[tuple[str, str]]
) -> None:
    """OT-12, OT-13, OT-14: and every store, record and entry that was there stays."""
    make(factory, old)
    before = shape_of(factory)

    after = upgraded(factory, old + 1)

    assert set(stores_of(after)) - set(stores_of(before)) == stores
    assert indexes_of(after) - indexes_of(before) == indexes
    kept = [
        (store.name, index)
        for store in after.stores
        for index in store.indexes
        if (store.name, index.name) not in indexes
    ]
    assert kept == [
        (store.name, index) for store in before.stores for index in store.indexes
    ]


@pytest.mark.parametrize("old", [7, 8, 9])
def test_step_by_step_and_direct_end_in_the_same(old: int) -> None:
    """OT-12 to OT-14."""
    stepwise, direct = Factory(), Factory()
    make(stepwise, old)
    make(direct, old)

    by_steps = upgraded(stepwise, *range(old + 1, 11))
    at_once = upgraded(direct, 10)

    assert difference(by_steps, at_once) is None


def test_the_new_indexes_answer_for_the_old_records(factory: Factory) -> None:
    """OT-13, OT-19: what has no pending profile has no entry among the pending."""
    make(factory, 7)

    connection = open_store(factory)

    for account in ACCOUNTS:
        pending = list_pending_profiles(connection, account, {"limit": 9})
        assert [each["conversationId"] for each in pending] == ["conversation-1"]


def test_opening_again_changes_nothing(factory: Factory) -> None:
    make(factory, 9)
    once = upgraded(factory, 10)

    assert difference(once, upgraded(factory, 10)) is None
