"""Back is forward only: an old build refuses, a next version leads there (OT-21).

`STEP_11` is the example of docs/upgrading-the-store.md: what version 10 brought is
taken back, so that the code of version 9 runs on the database again, as version 11.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from migrations.onetalk import (
    STEPS,
    Step,
    StoreNewerError,
    UnknownVersionError,
    UpgradeFailedError,
    open_store,
)
from storage_schema import Connection, Factory, Transaction, VersionError
from storage_schema.onetalk import read_buyer_facts, record_buyer_facts
from storage_schema.onetalk.keys import conversation_key
from storage_schema.onetalk.names import (
    BUYER_FACTS,
    BY_ACCOUNT_CONVERSATION,
    BY_ACCOUNT_STATUS,
    CARDS,
)
from storage_schema.shape import difference
from tests.migrations.onetalk.old_stores import make
from tests.migrations.onetalk.pictures import (
    indexes_of,
    others_of,
    shape_of,
    stores_of,
)

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "upgrading-the-store.md"


def take_back_10(connection: Connection, transaction: Transaction) -> None:
    """The card ledger without indexes, as version 9 reads it; nothing is cleared."""
    cards = transaction.object_store(CARDS)
    for name in (BY_ACCOUNT_STATUS, BY_ACCOUNT_CONVERSATION):
        if name in cards.index_names:
            cards.delete_index(name)


STEP_11 = Step(
    from_version=10,
    to_version=11,
    why="OT-21: version 9's code runs again; buyer facts wait for a version 12.",
    change=take_back_10,
)
ELEVEN = (*STEPS, STEP_11)


@pytest.mark.parametrize("build", [7, 8, 9])
def test_an_older_build_refuses_and_says_what_to_do(
    factory: Factory, build: int
) -> None:
    """OT-21: it names both versions, and nothing is changed."""
    make(factory, 10)
    before = shape_of(factory)

    with pytest.raises(StoreNewerError) as caught:
        open_store(factory, build)

    assert (caught.value.found, caught.value.build) == (10, build)
    assert caught.value.code == "store_newer"
    assert isinstance(caught.value.__cause__, VersionError)
    for words in ("version 10", f"up to {build}", "Nothing was changed", "version 11"):
        assert words in str(caught.value)
    assert difference(before, shape_of(factory)) is None


def test_the_newer_build_finds_everything_there_again(factory: Factory) -> None:
    """OT-21: going back to version 10 is all it takes."""
    connection = open_store(factory)
    facts = {
        "channelAccountId": "a",
        "conversationId": "c",
        "facts": {"country": "NL"},
        "fingerprint": "f",
        "observedAtMs": 1,
    }
    record_buyer_facts(connection, facts)  # type: ignore[arg-type]
    connection.close()
    with pytest.raises(StoreNewerError):
        open_store(factory, 9)

    (found,) = read_buyer_facts(open_store(factory), [conversation_key("a", "c")])

    assert found is not None
    assert found["facts"] == {"country": "NL"}


@pytest.mark.parametrize("version", [0, 6, 11])
def test_a_version_that_no_step_makes_is_refused(
    factory: Factory, version: int
) -> None:
    with pytest.raises(UnknownVersionError):
        open_store(factory, version)

    assert factory.databases() == {}


def test_version_11_takes_10_back_and_keeps_every_record(factory: Factory) -> None:
    """OT-21: by going forward."""
    make(factory, 10)
    before = shape_of(factory)

    open_store(factory, 11, steps=ELEVEN).close()

    after = shape_of(factory)
    assert after.version == 11
    assert {name: store.records for name, store in stores_of(after).items()} == {
        name: store.records for name, store in stores_of(before).items()
    }
    assert indexes_of(before) - indexes_of(after) == {
        (CARDS, BY_ACCOUNT_STATUS),
        (CARDS, BY_ACCOUNT_CONVERSATION),
    }
    assert BUYER_FACTS in stores_of(after)
    assert others_of(after) == others_of(before)


@pytest.mark.parametrize("old", [0, 1, 6, 7, 8, 9])
def test_every_older_version_leads_to_11_as_10_does(old: int) -> None:
    """Direct and by way of 10 end in the same."""
    by_ten, direct = Factory(), Factory()
    make(by_ten, old)
    make(direct, old)

    open_store(by_ten, 10).close()
    open_store(by_ten, 11, steps=ELEVEN).close()
    open_store(direct, 11, steps=ELEVEN).close()

    assert difference(shape_of(by_ten), shape_of(direct)) is None


def test_version_10_refuses_what_11_has_opened(factory: Factory) -> None:
    """OT-21, from the other side."""
    make(factory, 10)
    open_store(factory, 11, steps=ELEVEN).close()

    with pytest.raises(StoreNewerError) as caught:
        open_store(factory)

    assert (caught.value.found, caught.value.build) == (11, 10)


def test_a_failing_11_leaves_10_whole(factory: Factory) -> None:
    make(factory, 10)
    before = shape_of(factory)

    def change(connection: Connection, transaction: Transaction) -> None:
        take_back_10(connection, transaction)
        connection.delete_object_store("not there")

    steps = (*STEPS, Step(10, 11, "", change))
    with pytest.raises(UpgradeFailedError):
        open_store(factory, 11, steps=steps)

    assert difference(before, shape_of(factory)) is None


def test_the_guide_shows_the_step_that_is_tested_here() -> None:
    text = GUIDE.read_text(encoding="utf-8")

    for line in (
        "cards = transaction.object_store(CARDS)",
        "for name in (BY_ACCOUNT_STATUS, BY_ACCOUNT_CONVERSATION):",
        "if name in cards.index_names:",
        "cards.delete_index(name)",
    ):
        assert line in text
