"""Beginning a conversation anew: exactly its history goes (OT-20, OT-92)."""

from __future__ import annotations

import pytest

from storage_schema import Connection, Factory, QuotaExceededError, Read
from storage_schema.onetalk import (
    StoreFullError,
    observe_profiles,
    rebuild_conversation,
    record_anomaly,
    record_batch,
    record_buyer_facts,
    record_cards,
    take_list,
)
from storage_schema.onetalk.names import (
    ALL_STORES,
    ANOMALIES,
    BOOTSTRAPS,
    BUYER_FACTS,
    BY_ACCOUNT_CONVERSATION,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    MESSAGES,
    PROFILES,
)
from tests.storage_schema.onetalk.observed import (
    ACCOUNT,
    CONVERSATION,
    NOW,
    OTHER_ACCOUNT,
    anomaly,
    batch,
    buyer,
    card,
    cards,
    fact,
    profile,
)
from tests.storage_schema.onetalk.stored import Record, records

HISTORY = {MESSAGES, CANDIDATES, ANOMALIES, CARDS, CHECKPOINTS}
KEPT = {BOOTSTRAPS, PROFILES, BUYER_FACTS}


def fill(connection: Connection, account: str, conversation: str) -> None:
    """Records of one conversation in every store."""
    record_batch(
        connection,
        batch(fact("m1"), fact("m2"), account=account, conversation=conversation),
    )
    record_anomaly(connection, anomaly(account=account, conversation=conversation))
    record_cards(
        connection, cards(card("m1"), account=account, conversation=conversation)
    )
    listed = [{"conversationId": conversation, "latestMessageAtMs": 5}]
    take_list(connection, account, listed, NOW)  # type: ignore[arg-type]
    observe_profiles(connection, account, [profile("f", 10, conversation)], NOW)
    record_buyer_facts(connection, buyer("f", 10, account, conversation))


@pytest.fixture
def filled(connection: Connection, reads: list[Read]) -> Connection:
    """Two accounts, each with two conversations of the same names."""
    for account in (ACCOUNT, OTHER_ACCOUNT):
        for conversation in (CONVERSATION, "conversation-2"):
            fill(connection, account, conversation)
    reads.clear()
    return connection


def everything(connection: Connection) -> dict[str, list[Record]]:
    return {store: records(connection, store) for store in ALL_STORES}


def is_of_scope(record: Record) -> bool:
    return (record["channelAccountId"], record["conversationId"]) == (
        ACCOUNT,
        CONVERSATION,
    )


def test_a_rebuild_takes_exactly_one_conversations_history(filled: Connection) -> None:
    """OT-20, OT-92: its other conversations and the other account's namesake stay."""
    before = everything(filled)

    removed = rebuild_conversation(filled, ACCOUNT, CONVERSATION)

    assert removed == {"messages": 2, "candidates": 2, "anomalies": 1, "cards": 1}
    after = everything(filled)
    for store in HISTORY:
        left = [record for record in before[store] if not is_of_scope(record)]
        assert len(left) < len(before[store])
        assert after[store] == left, store
    for store in KEPT:
        assert after[store] == before[store], store


def test_a_rebuild_reads_keys_under_the_scope_and_nothing_else(
    filled: Connection, reads: list[Read]
) -> None:
    """OT-20: `getAllKeys` on the scope's index, no record, no object-store read."""
    rebuild_conversation(filled, ACCOUNT, CONVERSATION)

    seen = [(each.store, each.index, each.operation, each.bounded) for each in reads]
    assert seen == [
        (store, BY_ACCOUNT_CONVERSATION, "get_all_keys", True)
        for store in (MESSAGES, CANDIDATES, ANOMALIES, CARDS)
    ]


def test_a_rebuild_is_one_transaction(factory: Factory, filled: Connection) -> None:
    """OT-20: if it does not commit, nothing went."""
    before = everything(filled)
    factory.fail_next_commit(QuotaExceededError("full"))

    with pytest.raises(StoreFullError):
        rebuild_conversation(filled, ACCOUNT, CONVERSATION)

    assert everything(filled) == before


def test_a_rebuild_takes_all_of_a_long_conversation(connection: Connection) -> None:
    """OT-20: however much it holds, none of it stays."""
    many = 1_200
    names = [f"m{each:04}" for each in range(many)]
    record_batch(connection, batch(*map(fact, names)))
    record_cards(connection, cards(*map(card, names)))
    for name in names:
        record_anomaly(connection, anomaly(name))

    removed = rebuild_conversation(connection, ACCOUNT, CONVERSATION)

    stores = ("messages", "candidates", "anomalies", "cards")
    assert removed == dict.fromkeys(stores, many)
    assert {store: records(connection, store) for store in HISTORY} == {
        store: [] for store in HISTORY
    }


def test_a_rebuilt_conversation_is_collected_anew(filled: Connection) -> None:
    """OT-40: it is a conversation just met, full, from the newest."""
    rebuild_conversation(filled, ACCOUNT, CONVERSATION)

    recorded = record_batch(filled, batch(fact("m1")))

    assert (recorded["added"], recorded["checkpoint"]["syncMode"]) == (1, "full")


def test_rebuilding_what_is_not_there_takes_nothing(filled: Connection) -> None:
    before = everything(filled)

    removed = rebuild_conversation(filled, ACCOUNT, "nobody")

    assert removed == {"messages": 0, "candidates": 0, "anomalies": 0, "cards": 0}
    assert everything(filled) == before
