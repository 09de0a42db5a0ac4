"""Records of versions 7 to 9 that lack what came later go through every verb.

Whatever a record lacks, nothing becomes NaN, nothing stands still for ever, and no verb
fails or hangs because of one record.
"""

from __future__ import annotations

from typing import Any

import pytest

from e2e.old_databases.records import key
from e2e.store_rows import CARDS, CHAT, PROFILES, card, cards, exactly, seen
from e2e.verbs import StoreError, StoreVerbs
from e2e.wired_store import account, browser, stranger, verbs, wired
from extension_harness.rig import CANDIDATES, CHECKPOINTS

__all__ = ["account", "browser", "stranger", "verbs", "wired"]

PUT = """
(name, records) => store.write([name], async (transaction) => {
  for (const record of records) transaction.objectStore(name).put(record);
})
"""


def put(verbs: StoreVerbs, store: str, *records: dict[str, Any]) -> None:
    verbs.page.evaluate(PUT, store, list(records))


def old(account: str, **fields: object) -> dict[str, Any]:
    scope = {"channelAccountId": account, "conversationId": CHAT}
    return {"key": key(account, CHAT), **scope, **fields}


def test_a_checkpoint_that_lacks_fields_reads_as_one_just_met(
    verbs: StoreVerbs, account: str
) -> None:
    """OT-05, OT-13: an activity time, a page and an ACK find numbers there."""
    put(verbs, CHECKPOINTS, old(account))
    listed = [{"conversationId": CHAT, "latestMessageAtMs": 50}]
    verbs("takeList", account, listed, 60)
    [row] = verbs.records(CHECKPOINTS, account)
    assert (row["latestMessageAtMs"], row["pages"], row["result"]) == (50, 0, None)
    put(verbs, CHECKPOINTS, old(account, historyComplete=True))
    given = {
        "channelAccountId": account,
        "conversationId": CHAT,
        "facts": [],
        "anomalies": [],
        "observedAtMs": 70,
        "page": {"askedWith": None, "nextTimeStamp": 5, "historyComplete": False},
        "ifNoAnchor": None,
    }
    told = verbs("recordBatch", given)["checkpoint"]
    assert (told["pages"], told["syncMode"], told["phase"]) == (1, "full", "paging")
    assert verbs("readCheckpoint", account, CHAT) == told


@pytest.mark.parametrize("pending", [None, {"fingerprint": "of one before"}])
def test_a_profile_that_lacks_its_marks_takes_a_new_one_and_is_confirmed(
    verbs: StoreVerbs, account: str, pending: object
) -> None:
    """OT-81, OT-83: what has no time is older than anything; null is none."""
    put(verbs, PROFILES, old(account, pending=pending))
    assert verbs("confirmProfile", account, exactly(seen(CHAT, 9)), 10) is False
    for at in (20, 30):
        told = verbs("observeProfiles", account, [seen(CHAT, at)], at)
        assert told == {"pending": 1, "moved": 0, "skipped": 0}
    assert len(verbs("listPendingProfiles", account, {"limit": 9})) == 1
    assert verbs("dropProfile", account, exactly(seen(CHAT, 30)), 31) is True
    verbs("observeProfiles", account, [seen(CHAT, 40)], 40)
    assert verbs("confirmProfile", account, exactly(seen(CHAT, 40)), 41) is True
    [row] = verbs.records(PROFILES, account)
    assert (row["uploadedObservedAtMs"], row["rejectedObservedAtMs"]) == (40, 30)


def test_a_card_without_status_or_digest_stays_and_waits_for_nothing(
    verbs: StoreVerbs, account: str
) -> None:
    """OT-90, OT-91: its content was the first; it is no anomaly, and not pending."""
    first = {**cards(account, CHAT, card("1")), "content": "as it was"}
    record = old(account, messageId="1", cardKind="order_card", content=first)
    record["key"] = key(account, CHAT, "1", "order_card")
    put(verbs, CARDS, record)
    told = verbs("recordCards", cards(account, CHAT, card("1"), card("2")))
    assert told == {"added": 1, "known": 1, "conflicts": 0}
    [waiting] = verbs("listPendingCards", account, {"limit": 9})
    assert waiting["messageId"] == "2"
    result = {**card("1"), "status": "confirmed"}
    assert verbs("applyCardResults", account, CHAT, [result], 9) == 0
    assert record in verbs.records(CARDS, account)


def test_a_candidate_under_a_foreign_key_holds_up_no_other(
    verbs: StoreVerbs, account: str
) -> None:
    """OT-17, OT-42: a key of another account, or written in another way."""
    odd = [
        key("!", CHAT, "000000000000001", "1"),
        key("~", CHAT, "000000000000001", "1"),
        f'["{account}",  "{CHAT}", "000000000000001", "1"]',
        f'["\\u{ord(account[0]):04x}{account[1:]}","{CHAT}","000000000000001","1"]',
        "none at all",
    ]
    good = key(account, "other", "000000000000001", "1")
    records = [
        {**old(account, status="pending_ack"), "candidateKey": each} for each in odd
    ]
    records.append({**records[0], "candidateKey": good, "conversationId": "other"})
    put(verbs, CANDIDATES, *records)
    page = {"limit": 9, "after": None}
    assert verbs("pendingConversations", account, page) == ["other"]
    assert verbs("oldestPendingSince", account, 9) is None


def test_a_candidate_of_no_conversation_is_offered_again_and_makes_none(
    verbs: StoreVerbs, account: str
) -> None:
    """OT-13: it names none, so there is none that it could put back to uploading."""
    homeless = {"channelAccountId": account, "status": "confirmed"}
    put(verbs, CANDIDATES, {**homeless, "candidateKey": key(account, "of none")})
    assert verbs("reoffer", account, None) == 1
    assert verbs("countCandidates", account, "pending_ack") == 1
    assert verbs("readCheckpoint", account, None) is None  # its key would say null


def test_a_verb_that_waits_for_what_cannot_come_fails(verbs: StoreVerbs) -> None:
    """OT-31: a throw in a request's handler aborts; nobody is left waiting for it."""
    verbs.page.evaluate("""
      verbs.waits = () => store.read(["onetalk_messages"], (transaction) =>
        new Promise(() => {
          const request = transaction.objectStore("onetalk_messages").get("none");
          request.onsuccess = () => { throw new Error("in a handler"); };
        }));
    """)
    with pytest.raises(StoreError, match="store_read_failed"):
        verbs("waits")
