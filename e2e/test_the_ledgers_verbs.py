"""Cards, profiles and buyer facts in the store, as it ships, under the tripwire.

One browser for all: each test has accounts of its own, two of them with conversations
of the same name.
"""

from __future__ import annotations

import json

from e2e.store_rows import (
    BUYER_FACTS,
    CARDS,
    CHAT,
    OTHER_CHAT,
    PROFILES,
    Row,
    anomaly,
    card,
    cards,
    exactly,
    ids,
    seen,
)
from e2e.verbs import StoreVerbs
from e2e.wired_store import account, browser, stranger, verbs, wired
from extension_harness.rig import ANOMALIES

__all__ = ["account", "browser", "stranger", "verbs", "wired"]


def test_the_first_content_of_a_card_stays(verbs: StoreVerbs, account: str) -> None:
    """OT-90: durable, the first wins, also in one batch; the difference is kept."""
    given = cards(
        account,
        CHAT,
        card("1"),
        card("1", "other"),
        card("1", "other", kind="quote_card"),
        card("1"),
    )
    told = verbs("recordCards", given)
    assert told == {"added": 2, "known": 1, "conflicts": 1}
    told = verbs("recordCards", cards(account, CHAT, card("1", "third")))
    assert told == {"added": 0, "known": 0, "conflicts": 1}
    kept = {row["cardKind"]: row for row in verbs.records(CARDS, account)}
    assert kept["order_card"] == {
        "key": json.dumps([account, CHAT, "1", "order_card"], separators=(",", ":")),
        "channelAccountId": account,
        "conversationId": CHAT,
        "messageId": "1",
        "candidateKey": "candidate of 1",
        "cardKind": "order_card",
        "content": {"shown": "first"},
        "contentDigest": "digest of first",
        "status": "pending_ack",
        "observedAtMs": 5,
    }
    assert kept["quote_card"]["content"] == {"shown": "other"}
    assert [row["code"] for row in verbs.records(ANOMALIES, account)] == ["conflict"]


def test_pending_cards_are_the_account_s_pending_ones_alone(
    verbs: StoreVerbs, account: str, stranger: str
) -> None:
    """OT-91: no confirmed, rejected or differing one, and no other account's."""
    for each in (account, stranger):
        verbs("recordCards", cards(each, CHAT, *(card(str(n)) for n in range(5))))
        verbs("recordCards", cards(each, OTHER_CHAT, card("9")))

    def result(message: str, status: str, **other: object) -> Row:
        named = {key: card(message)[key] for key in ("candidateKey", "cardKind")}
        return {"messageId": message, "status": status, **named, **other}

    results = [
        result("0", "confirmed"),
        result("0", "rejected", code="late"),  # doubled: it is confirmed already
        result("1", "conflict", ifConflict=anomaly(account, CHAT, "conflict")),
        result("2", "rejected", code="too_large"),
        result("3", "confirmed", candidateKey="another card's"),
        result("4", "confirmed", cardKind="quote_card"),
        result("77", "confirmed"),
    ]
    assert verbs("applyCardResults", account, CHAT, results, 50) == 3
    assert (
        verbs("applyCardResults", account, OTHER_CHAT, [result("3", "confirmed")], 50)
        == 0
    )
    assert verbs("applyCardResults", account, CHAT, results, 60) == 0

    rows = verbs.records(CARDS, account)
    known = {row["messageId"]: (row["status"], row.get("code")) for row in rows}
    assert known == {
        "0": ("confirmed", None),
        "1": ("anomaly", "conflict"),
        "2": ("rejected", "too_large"),
        "3": ("pending_ack", None),
        "4": ("pending_ack", None),
        "9": ("pending_ack", None),
    }
    confirmed = [row["confirmedAtMs"] for row in rows if "confirmedAtMs" in row]
    assert confirmed == [50]
    assert ids(verbs("listPendingCards", account, {"limit": 9})) == ["3", "4", "9"]
    assert ids(verbs("listPendingCards", account, {"limit": 2})) == ["3", "4"]
    assert len(verbs("listPendingCards", stranger, {"limit": 9})) == 6
    assert len(verbs.records(ANOMALIES, account)) == 1
    assert verbs.records(ANOMALIES, stranger) == []


def test_the_newest_profile_is_pending_until_exactly_it_is_confirmed(
    verbs: StoreVerbs, account: str
) -> None:
    """OT-80, OT-81, OT-83: latest wins, strictly; a late ACK takes nothing away."""
    older, newer = seen(CHAT, 10), seen(CHAT, 20, "Ines Costa")
    assert observed(verbs, account, older, 5) == {
        "pending": 1,
        "moved": 0,
        "skipped": 0,
    }
    [new] = verbs.records(PROFILES, account)
    assert new == {
        "key": json.dumps([account, CHAT], separators=(",", ":")),
        "channelAccountId": account,
        "conversationId": CHAT,
        "aliId": None,
        "profile": None,
        "lastUploadedFingerprint": None,
        "uploadedObservedAtMs": 0,
        "rejectedObservedAtMs": 0,
        "updatedAtMs": 5,
        "lastUploadedAtMs": None,
        "pending": {
            "aliId": "2",
            "profile": {"name": "Ines", "country": "BR"},
            "fingerprint": "of Ines",
            "observedAtMs": 10,
        },
    }
    assert observed(verbs, account, newer, 6)["pending"] == 1
    for late in (older, seen(CHAT, 20, "As old"), seen(CHAT, 19, "Older")):
        assert observed(verbs, account, late, 7)["skipped"] == 1
    assert verbs("confirmProfile", account, exactly(older), 30) is False
    wrong_time = {**exactly(newer), "observedAtMs": 21}
    assert verbs("confirmProfile", account, wrong_time, 30) is False
    wrong_print = {**exactly(newer), "fingerprint": "of Ines"}
    assert verbs("confirmProfile", account, wrong_print, 30) is False
    assert verbs.records(PROFILES, account)[0]["pending"]["observedAtMs"] == 20
    assert verbs("confirmProfile", account, exactly(newer), 31) is True
    assert verbs("confirmProfile", account, exactly(newer), 32) is False
    [record] = verbs.records(PROFILES, account)
    assert "pending" not in record
    assert record["profile"] == newer["profile"]
    names = ("aliId", "lastUploadedFingerprint", "uploadedObservedAtMs")
    assert [record[name] for name in names] == ["2", "of Ines Costa", 20]
    assert (record["lastUploadedAtMs"], record["updatedAtMs"]) == (31, 31)


def test_what_was_uploaded_or_dropped_leaves_a_mark(
    verbs: StoreVerbs, account: str
) -> None:
    """OT-81, OT-84: known again it only moves the mark; another counts above both."""
    first = seen(CHAT, 20)
    observed(verbs, account, first, 5)
    verbs("confirmProfile", account, exactly(first), 6)
    assert observed(verbs, account, seen(CHAT, 25), 7)["moved"] == 1
    assert observed(verbs, account, seen(CHAT, 25), 8)["skipped"] == 1
    assert observed(verbs, account, seen(CHAT, 25, "Other"), 9)["skipped"] == 1
    future = seen(CHAT, 90, "From the future")
    assert observed(verbs, account, future, 10)["pending"] == 1
    assert verbs("dropProfile", account, exactly(first), 11) is False
    assert verbs("dropProfile", account, exactly(future), 12) is True
    assert verbs("dropProfile", account, exactly(future), 13) is False
    [record] = verbs.records(PROFILES, account)
    assert "pending" not in record
    marks = [record["uploadedObservedAtMs"], record["rejectedObservedAtMs"]]
    assert (marks, record["lastUploadedFingerprint"]) == ([25, 90], "of Ines")
    assert record["updatedAtMs"] == 12
    assert observed(verbs, account, seen(CHAT, 90, "Again"), 14)["skipped"] == 1
    assert observed(verbs, account, seen(CHAT, 91, "Again"), 15)["pending"] == 1


def test_pending_profiles_are_read_by_the_account_s_prefix(
    verbs: StoreVerbs, account: str, stranger: str
) -> None:
    """OT-19, OT-82: oldest first, bounded; nobody else's, and none that is settled."""
    chats = [f"1-{n}#11011@icbu" for n in range(10, 16)]
    times = [30, 10, 60, 20, 50, 40]
    for each in (account, stranger):
        given = [seen(chat, at) for chat, at in zip(chats, times, strict=True)]
        told = verbs("observeProfiles", each, given, 5)
        assert told == {"pending": 6, "moved": 0, "skipped": 0}
    verbs("confirmProfile", account, exactly(seen(chats[1], 10)), 6)
    verbs("dropProfile", account, exactly(seen(chats[2], 60)), 6)

    def pending(of: str, limit: int) -> list[int]:
        rows = verbs("listPendingProfiles", of, {"limit": limit})
        assert {row["channelAccountId"] for row in rows} == {of}
        return [row["pending"]["observedAtMs"] for row in rows]

    assert pending(account, 9) == [20, 30, 40, 50]
    assert pending(account, 2) == [20, 30]
    assert pending(stranger, 9) == [10, 20, 30, 40, 50, 60]


def observed(verbs: StoreVerbs, account: str, profile: Row, now: int) -> Row:
    told: Row = verbs("observeProfiles", account, [profile], now)
    return told


def test_buyer_facts_are_the_newest_and_confirmed_exactly(
    verbs: StoreVerbs, account: str, stranger: str
) -> None:
    """OT-10, OT-14: strictly newer replaces; only what is there now is confirmed."""

    def facts(at_ms: int, orders: int) -> Row:
        return {
            "channelAccountId": account,
            "conversationId": CHAT,
            "facts": {"orders": orders},
            "fingerprint": f"of {orders}",
            "observedAtMs": at_ms,
        }

    def named(at_ms: int, orders: int) -> Row:
        return exactly(facts(at_ms, orders))

    assert verbs("recordBuyerFacts", facts(10, 1)) is True
    assert verbs("confirmBuyerFacts", account, named(10, 1)) is True
    assert verbs("recordBuyerFacts", facts(10, 2)) is False
    assert verbs("recordBuyerFacts", facts(11, 2)) is True
    for late in (named(10, 1), named(10, 2), named(11, 1)):
        assert verbs("confirmBuyerFacts", account, late) is False
    assert verbs("confirmBuyerFacts", stranger, named(11, 2)) is False
    key = json.dumps([account, CHAT], separators=(",", ":"))
    missing = json.dumps([stranger, CHAT], separators=(",", ":"))
    expected = {**facts(11, 2), "key": key, "uploadedFingerprint": None}
    assert verbs("readBuyerFacts", [missing, key]) == [None, expected]
    assert verbs("confirmBuyerFacts", account, named(11, 2)) is True
    [row] = verbs.records(BUYER_FACTS, account)
    assert row["uploadedFingerprint"] == "of 2"
    assert verbs("recordBuyerFacts", facts(12, 2)) is True
    [row] = verbs.records(BUYER_FACTS, account)
    assert row["uploadedFingerprint"] == "of 2"
    assert verbs("dropBuyerFacts", account, named(11, 2)) is False
    assert verbs("dropBuyerFacts", account, named(12, 2)) is True
    assert verbs.records(BUYER_FACTS, account) == []
