"""Rendered cards: durable first, the first content wins, ACKs and conflicts (OT-90)."""

from __future__ import annotations

import pytest

from storage_schema import Connection, Read
from storage_schema.onetalk import (
    ScopeMissingError,
    apply_card_results,
    list_pending_cards,
    record_cards,
)
from storage_schema.onetalk.arguments import CardResult
from storage_schema.onetalk.keys import candidate_key, card_key
from storage_schema.onetalk.names import ANOMALIES, BY_ACCOUNT_STATUS, CARDS
from tests.storage_schema.onetalk.observed import (
    ACCOUNT,
    CONVERSATION,
    NOW,
    OTHER_ACCOUNT,
    anomaly,
    card,
    card_result,
    cards,
)
from tests.storage_schema.onetalk.stored import only, records


def apply(connection: Connection, *results: CardResult) -> int:
    return apply_card_results(connection, ACCOUNT, CONVERSATION, results, NOW + 9)


def test_a_new_card_waits_for_its_ack(connection: Connection) -> None:
    """OT-90: the record is exactly these fields."""
    assert record_cards(connection, cards(card("m1"))) == {
        "added": 1,
        "known": 0,
        "conflicts": 0,
    }
    assert only(connection, CARDS) == {
        "key": card_key(ACCOUNT, CONVERSATION, "m1", "product"),
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "messageId": "m1",
        "candidateKey": candidate_key(ACCOUNT, CONVERSATION, 1_000, "m1"),
        "cardKind": "product",
        "content": {"title": "one"},
        "contentDigest": "one",
        "status": "pending_ack",
        "observedAtMs": NOW,
    }


def test_the_first_content_wins_within_a_batch_and_after_it(
    connection: Connection,
) -> None:
    """OT-90: what differs is kept as an anomaly."""
    first = record_cards(
        connection, cards(card("m1"), card("m1"), card("m1", digest="two"))
    )
    second = record_cards(connection, cards(card("m1", digest="two")))

    assert first == {"added": 1, "known": 1, "conflicts": 1}
    assert second == {"added": 0, "known": 0, "conflicts": 1}
    assert only(connection, CARDS)["contentDigest"] == "one"
    assert only(connection, ANOMALIES) == card("m1", digest="two")["ifConflict"]


def test_a_message_may_have_a_card_of_each_kind(connection: Connection) -> None:
    counts = record_cards(connection, cards(card("m1"), card("m1", kind="order")))

    assert counts["added"] == 2


def test_pending_is_exactly_what_one_account_waits_for(
    connection: Connection, reads: list[Read]
) -> None:
    """OT-91: no confirmed or rejected record and no other account is even read."""
    record_cards(connection, cards(*(card(f"m{each}") for each in range(1, 6))))
    record_cards(connection, cards(card("m1"), account=OTHER_ACCOUNT))
    apply(connection, card_result("m2"), card_result("m3", "rejected"))
    reads.clear()

    pending = list_pending_cards(connection, ACCOUNT, {"limit": 2})

    assert [each["messageId"] for each in pending] == ["m1", "m4"]
    assert {each["channelAccountId"] for each in pending} == {ACCOUNT}
    (read,) = reads
    assert (read.store, read.index, read.limit) == (CARDS, BY_ACCOUNT_STATUS, 2)
    assert (read.bounded, read.records) == (True, 2)


@pytest.mark.parametrize("account", ["", None, 5])
def test_pending_without_an_account_fails(
    connection: Connection, account: object
) -> None:
    """OT-17."""
    with pytest.raises(ScopeMissingError) as caught:
        list_pending_cards(connection, account, {"limit": 2})  # type: ignore[arg-type]

    assert caught.value.code == "scope_missing"


def test_a_confirmation_keeps_its_time(connection: Connection) -> None:
    record_cards(connection, cards(card("m1")))
    before = only(connection, CARDS)

    assert apply(connection, card_result("m1")) == 1
    assert only(connection, CARDS) == {
        **before,
        "status": "confirmed",
        "confirmedAtMs": NOW + 9,
    }


def test_a_conflict_is_an_anomaly_with_its_code(connection: Connection) -> None:
    record_cards(connection, cards(card("m1"), card("m2")))
    kept = anomaly("at bright")
    coded: CardResult = {**card_result("m2", "conflict"), "code": "other_content"}

    apply(connection, {**card_result("m1", "conflict"), "ifConflict": kept}, coded)

    seen = [(each["status"], each["code"]) for each in records(connection, CARDS)]
    assert seen == [("anomaly", "conflict"), ("anomaly", "other_content")]
    assert only(connection, ANOMALIES) == kept


def test_a_rejection_keeps_the_code_that_it_has(connection: Connection) -> None:
    record_cards(connection, cards(card("m1"), card("m2")))
    coded: CardResult = {**card_result("m1", "rejected"), "code": "too_old"}

    apply(connection, coded, card_result("m2", "rejected"))

    with_code, without = records(connection, CARDS)
    assert (with_code["status"], with_code["code"]) == ("rejected", "too_old")
    assert without["status"] == "rejected"
    assert "code" not in without


def test_a_result_counts_once_and_only_for_the_card_it_names(
    connection: Connection, reads: list[Read]
) -> None:
    """OT-90: one primary-key read each; unknown and doubled ones change nothing."""
    record_cards(connection, cards(card("m1")))
    other_candidate: CardResult = {**card_result("m1"), "candidateKey": "another"}
    other_kind: CardResult = {**card_result("m1"), "cardKind": "order"}
    results = [other_candidate, other_kind, card_result("m9"), card_result("m1")]
    reads.clear()

    counted = [apply(connection, each) for each in (*results, card_result("m1"))]

    assert counted == [0, 0, 0, 1, 0]
    assert [(each.operation, each.index) for each in reads] == [("get", None)] * 5
