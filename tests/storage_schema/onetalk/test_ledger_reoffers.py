"""What the ledgers beside the messages tell a server store that does not have it."""

from __future__ import annotations

import pytest

from storage_schema import Connection
from storage_schema.onetalk import (
    apply_card_results,
    confirm_buyer_facts,
    confirm_profile,
    observe_profiles,
    record_buyer_facts,
    record_cards,
    reoffer_ledgers,
    take_list,
)
from storage_schema.onetalk.names import BUYER_FACTS, CARDS, PROFILES
from storage_schema.onetalk.reoffers import LEDGER_STEP
from tests.storage_schema.onetalk.observed import (
    ACCOUNT,
    CONVERSATION,
    NOW,
    OTHER_ACCOUNT,
    buyer,
    card,
    card_result,
    cards,
    mark,
    profile,
)
from tests.storage_schema.onetalk.stored import records


def confirm_all(connection: Connection, account: str, conversation: str) -> None:
    listed = {"conversationId": conversation, "latestMessageAtMs": 5}
    take_list(connection, account, [listed], NOW)  # type: ignore[list-item]
    observe_profiles(connection, account, [profile("f", 9, conversation)], NOW)
    confirm_profile(connection, account, mark("f", 9, conversation), NOW)
    scope = {"account": account, "conversation": conversation}
    record_cards(connection, cards(card("m1"), **scope))
    apply_card_results(connection, account, conversation, [card_result("m1")], NOW)
    record_buyer_facts(connection, buyer("f", 9, **scope))
    confirm_buyer_facts(connection, account, mark("f", 9, conversation))


def pending(connection: Connection) -> dict[str, list[tuple[object, object]]]:
    def scopes(store: str, name: str, value: object) -> list[tuple[object, object]]:
        return sorted(
            (row["channelAccountId"], row["conversationId"])
            for row in records(connection, store)
            if row.get(name) == value
        )

    return {
        "profiles": scopes(PROFILES, "lastUploadedFingerprint", None),
        "cards": scopes(CARDS, "status", "pending_ack"),
        "facts": scopes(BUYER_FACTS, "uploadedFingerprint", None),
    }


@pytest.mark.parametrize("conversation", [None, CONVERSATION])
def test_what_was_confirmed_is_pending_again(
    connection: Connection, conversation: str | None
) -> None:
    """Of the conversation or the account asked for, and once."""
    scopes = [(ACCOUNT, CONVERSATION), (ACCOUNT, "c2"), (OTHER_ACCOUNT, CONVERSATION)]
    for scope in scopes:
        confirm_all(connection, *scope)

    turned = reoffer_ledgers(connection, ACCOUNT, conversation)

    mine = scopes[:2] if conversation is None else scopes[:1]
    assert turned == 3 * len(mine)
    assert pending(connection) == dict.fromkeys(
        ("profiles", "cards", "facts"), sorted(mine)
    )
    [again, *_] = [row for row in records(connection, PROFILES) if "pending" in row]
    assert again["pending"] == {
        "aliId": again["aliId"],
        "profile": {"name": "f"},
        "fingerprint": "f",
        "observedAtMs": 9,
    }
    assert reoffer_ledgers(connection, ACCOUNT, conversation) == 0


def test_a_newer_pending_profile_stays_what_it_is(connection: Connection) -> None:
    """OT-81: latest wins, in another store too."""
    confirm_all(connection, ACCOUNT, CONVERSATION)
    observe_profiles(connection, ACCOUNT, [profile("g", 20)], NOW)

    reoffer_ledgers(connection, ACCOUNT, None)

    [row] = records(connection, PROFILES)
    assert row["pending"]["fingerprint"] == "g"


def test_more_than_one_step(connection: Connection) -> None:
    """OT-17: bounded transactions, and none is left out."""
    names = [f"c{each:04}" for each in range(LEDGER_STEP + 5)]
    for name in names:
        observe_profiles(connection, ACCOUNT, [profile("f", 9, name)], NOW)
        confirm_profile(connection, ACCOUNT, mark("f", 9, name), NOW)

    assert reoffer_ledgers(connection, ACCOUNT, None) == len(names)
