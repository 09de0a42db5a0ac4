"""No verb reads a whole store, or without its index, or without an account (OT-17)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from migrations.onetalk import open_store
from storage_schema import Connection, Factory, Read
from storage_schema.onetalk import (
    IndexMissingError,
    ScopeMissingError,
    apply_card_results,
    apply_results,
    checkpoints_of,
    confirm_buyer_facts,
    confirm_profile,
    count_candidates,
    drop_buyer_facts,
    drop_profile,
    known_accounts,
    list_pending_cards,
    list_pending_profiles,
    next_pending,
    observe_profiles,
    oldest_pending_since,
    pending_conversations,
    read_bootstraps,
    read_buyer_facts,
    read_checkpoint,
    rebuild_conversation,
    record_anomaly,
    record_batch,
    record_buyer_facts,
    record_cards,
    reoffer,
    reoffer_ledgers,
    settle_profiles,
    still_pending,
    take_list,
    update_checkpoint,
)
from storage_schema.onetalk import __all__ as public
from storage_schema.onetalk.keys import conversation_key
from tests.storage_schema.onetalk.observed import (
    ACCOUNT,
    CONVERSATION,
    NOW,
    OTHER_ACCOUNT,
    anomaly,
    batch,
    buyer,
    card,
    card_result,
    cards,
    fact,
    mark,
    profile,
    result,
)

Verb = Callable[[Connection], object]
KEY = conversation_key(ACCOUNT, CONVERSATION)

READS: dict[str, Callable[[Connection, str], object]] = {
    "checkpoints_of": lambda c, account: list(checkpoints_of(c, account)),
    "count_candidates": lambda c, account: count_candidates(c, account, "confirmed"),
    "list_pending_cards": lambda c, account: list_pending_cards(
        c, account, {"limit": 9}
    ),
    "list_pending_profiles": lambda c, account: list_pending_profiles(
        c, account, {"limit": 9}
    ),
    "next_pending": lambda c, account: next_pending(c, account, CONVERSATION, 9),
    "oldest_pending_since": lambda c, account: oldest_pending_since(c, account, 9),
    "pending_conversations": lambda c, account: pending_conversations(
        c, account, {"limit": 9, "after": None}
    ),
    "rebuild_conversation": lambda c, account: rebuild_conversation(
        c, account, CONVERSATION
    ),
    "reoffer": lambda c, account: reoffer(c, account, None),
    "reoffer_ledgers": lambda c, account: reoffer_ledgers(c, account, None),
    "still_pending": lambda c, account: still_pending(c, account, CONVERSATION),
}
"""Verbs that read under an index key which begins with an account."""

BY_KEY: dict[str, Verb] = {
    "apply_card_results": lambda c: apply_card_results(
        c, ACCOUNT, CONVERSATION, [card_result("m1")], NOW
    ),
    "apply_results": lambda c: apply_results(
        c, ACCOUNT, CONVERSATION, [result("m1")], NOW
    ),
    "confirm_buyer_facts": lambda c: confirm_buyer_facts(c, ACCOUNT, mark("f", 9)),
    "confirm_profile": lambda c: confirm_profile(c, ACCOUNT, mark("f", 9), NOW),
    "drop_buyer_facts": lambda c: drop_buyer_facts(c, ACCOUNT, mark("f", 9)),
    "drop_profile": lambda c: drop_profile(c, ACCOUNT, mark("f", 9), NOW),
    "known_accounts": known_accounts,
    "observe_profiles": lambda c: observe_profiles(c, ACCOUNT, [profile("f", 9)], NOW),
    "read_bootstraps": lambda c: read_bootstraps(c, [KEY]),
    "read_buyer_facts": lambda c: read_buyer_facts(c, [KEY]),
    "read_checkpoint": lambda c: read_checkpoint(c, ACCOUNT, CONVERSATION),
    "record_anomaly": lambda c: record_anomaly(c, anomaly()),
    "record_batch": lambda c: record_batch(c, batch(fact("m1"), fact("m2"))),
    "record_buyer_facts": lambda c: record_buyer_facts(c, buyer("f", 10)),
    "record_cards": lambda c: record_cards(c, cards(card("m1"))),
    "settle_profiles": lambda c: settle_profiles(
        c, ACCOUNT, {"confirmed": [mark("f", 9)], "refused": [mark("f", 8)]}, NOW
    ),
    "take_list": lambda c: take_list(
        c, ACCOUNT, [{"conversationId": CONVERSATION, "latestMessageAtMs": 5}], NOW
    ),
    "update_checkpoint": lambda c: update_checkpoint(
        c, ACCOUNT, CONVERSATION, lambda seen: seen
    ),
}

VERBS: dict[str, Verb] = {
    **BY_KEY,
    **{name: (lambda c, verb=verb: verb(c, ACCOUNT)) for name, verb in READS.items()},  # type: ignore[misc]
}


def test_every_verb_is_held_to_it_here() -> None:
    verbs = {name for name in public if name.islower()} - {"newest_confirmed_at_ms"}

    assert verbs == set(VERBS)


@pytest.mark.parametrize("name", sorted(VERBS))
def test_a_verb_reads_by_key_or_under_one_index_range(
    connection: Connection, reads: list[Read], name: str
) -> None:
    """OT-17: never a whole store or index, and what gives records says how many."""
    for account in (ACCOUNT, OTHER_ACCOUNT):
        record_batch(connection, batch(fact("m1"), account=account))
        record_cards(connection, cards(card("m1"), account=account))
        observe_profiles(connection, account, [profile("f", 9)], NOW)
    reads.clear()

    VERBS[name](connection)

    assert [read for read in reads if not is_allowed(name, read)] == []


def is_allowed(verb: str, read: Read) -> bool:
    if read.index is None:
        return read.bounded and read.operation in {"get", "get_key"}
    if verb == "known_accounts":  # asks which scopes there are: a key a step, no record
        return read.operation == "open_key_cursor" and read.records <= 1
    if read.operation == "get_all_keys":
        return read.bounded and verb == "rebuild_conversation"
    if read.operation == "get_all":
        return read.bounded and read.limit is not None
    return read.bounded


def fill_mine(connection: Connection) -> None:
    """One conversation with something in each store that a verb reads."""
    for name in ("record_batch", "record_cards", "observe_profiles"):
        VERBS[name](connection)
    VERBS["record_buyer_facts"](connection)
    VERBS["record_anomaly"](connection)


def fill_theirs(
    connection: Connection, account: str, conversation: str, count: int
) -> None:
    """The same stores for somebody else: pending cards, profiles, messages."""
    names = [f"m{each}" for each in range(1, count + 1)]
    scope = {"account": account, "conversation": conversation}
    record_batch(connection, batch(*map(fact, names), **scope))  # type: ignore[arg-type]
    record_cards(connection, cards(*map(card, names), **scope))
    observe_profiles(connection, account, [profile("f", 9, conversation)], NOW)
    record_buyer_facts(connection, buyer("f", 9, **scope))
    record_anomaly(connection, anomaly(**scope))


@pytest.mark.parametrize("name", sorted(VERBS))
def test_a_verb_reads_no_record_of_another_account(
    connection: Connection, reads: list[Read], name: str
) -> None:
    """OT-17: what a verb reads does not grow with what others have."""
    fill_mine(connection)
    reads.clear()
    VERBS[name](connection)
    alone = [(read.operation, read.index, read.records) for read in reads]

    factory = Factory(on_read=reads.append)
    crowded = open_store(factory)
    for conversation in (CONVERSATION, "c2", "c3"):
        for account, count in ((OTHER_ACCOUNT, 20), (ACCOUNT + "!", 1)):
            fill_theirs(crowded, account, conversation, count)
    fill_mine(crowded)
    reads.clear()
    VERBS[name](crowded)

    if name == "known_accounts":
        assert [read.records for read in reads] == [1, 1, 1, 0]  # a step an account
    else:
        assert [(read.operation, read.index, read.records) for read in reads] == alone


@pytest.mark.parametrize("name", sorted(READS))
@pytest.mark.parametrize("account", ["", None, 5])
def test_a_read_without_an_account_fails(
    connection: Connection, name: str, account: object
) -> None:
    """OT-17: it would be a read over all of them, or over nothing."""
    with pytest.raises(ScopeMissingError) as caught:
        READS[name](connection, account)  # type: ignore[arg-type]

    assert caught.value.code == "scope_missing"


@pytest.mark.parametrize("name", sorted({*READS, "known_accounts", "apply_results"}))
def test_a_read_without_its_index_fails(name: str) -> None:
    """OT-17: a database without the indexes is never scanned instead."""
    factory = Factory()
    open_store(factory).close()

    def strip(connection: Connection, transaction: object, *_: int) -> None:
        for store in connection.object_store_names:
            opened = transaction.object_store(store)  # type: ignore[attr-defined]
            for index in opened.index_names:
                opened.delete_index(index)

    stripped = factory.open("trade-message-center", 11, upgrade=strip).result

    with pytest.raises(IndexMissingError) as caught:
        VERBS[name](stripped)

    assert caught.value.code == "index_missing"
