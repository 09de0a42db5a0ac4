"""The store's verbs, as they ship, in a real Chromium and under the tripwire.

One browser for all: each test has accounts of its own, two of them with conversations
of the same name.
"""

from __future__ import annotations

import pytest

from e2e.store_rows import (
    BOOTSTRAPS,
    BUYER_FACTS,
    CARDS,
    CHAT,
    OTHER_CHAT,
    PROFILES,
    Row,
    batch,
    card,
    cards,
    ids,
    seen,
)
from e2e.verbs import StoreError, StoreVerbs
from e2e.wired_store import account, browser, stranger, verbs, wired
from extension_harness.rig import ANOMALIES, CANDIDATES, CHECKPOINTS, MESSAGES

__all__ = ["account", "browser", "stranger", "verbs", "wired"]
SCOPED = (MESSAGES, CANDIDATES, CHECKPOINTS, ANOMALIES, CARDS)
MANY = 1_200
"""Messages: more than any batch or page of the protocol has."""


def refusal(verbs: StoreVerbs, name: str, *given: object) -> str:
    with pytest.raises(StoreError) as caught:
        verbs(name, *given)
    assert caught.value.args[1].endswith("."), "refused without words"
    return caught.value.code


@pytest.mark.parametrize("missing", ["", None, 7, ["7"]])
def test_a_pending_read_without_an_account_fails(
    verbs: StoreVerbs, missing: object
) -> None:
    """OT-17: no answer about every account, and none about nobody."""
    for name, *given in (
        ("nextPending", missing, CHAT, 5),
        ("pendingConversations", missing, {"limit": 5, "after": None}),
        ("countCandidates", missing, "pending_ack"),
        ("oldestPendingSince", missing, 5),
        ("reoffer", missing, None),
        ("listPendingCards", missing, {"limit": 5}),
        ("listPendingProfiles", missing, {"limit": 5}),
        ("rebuildConversation", missing, CHAT),
    ):
        assert refusal(verbs, str(name), *given) == "scope_missing", name


BARE = """
(async (name) => {
  const { firstUnder } = await import("/store/reads.js");
  const opening = indexedDB.open(`${name} bare`, 1);
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore(name, { keyPath: "key" });
  };
  await new Promise((resolve) => { opening.onsuccess = resolve; });
  const transaction = opening.result.transaction([name]);
  try {
    const where = [name, "by_account_status", ["7", "pending_ack"]];
    return await firstUnder(transaction, ...where, 5);
  } catch (error) {
    return error.code;
  } finally {
    opening.result.close();
    indexedDB.deleteDatabase(`${name} bare`);
  }
})
"""


@pytest.mark.parametrize("store", [CANDIDATES, CARDS])
def test_a_read_without_its_index_fails(verbs: StoreVerbs, store: str) -> None:
    """OT-17: there is no scan to fall back to."""
    assert verbs.page.evaluate(BARE, store) == "index_missing"


def test_what_is_pending_of_an_account_is_its_own_alone(
    verbs: StoreVerbs, account: str, stranger: str
) -> None:
    """OT-17, OT-18: the same ids in the same conversation of another account stay."""
    for each in (account, stranger):
        verbs("recordBatch", batch(each, CHAT, "1", "2", "3"))
        verbs("recordBatch", batch(each, OTHER_CHAT, "4"))
    [first, *_] = verbs("nextPending", account, CHAT, 1)
    results = [
        {
            "candidateKey": first["candidate"]["candidateKey"],
            "messageId": "1",
            "status": "confirmed",
            "sequence": 9,
        },
        {"candidateKey": None, "messageId": "3", "status": "rejected", "code": "bad"},
    ]
    applied = verbs("applyResults", account, CHAT, results, 50)
    assert (applied["changed"], applied["pending"]) == (2, 1)
    assert applied["checkpoint"]["latestMessageId"] == "1"
    again = verbs("applyResults", account, CHAT, results, 60)
    assert (again["changed"], again["pending"]) == (0, 1), "a doubled ACK counted"

    left = [each["message"] for each in verbs("nextPending", account, CHAT, 9)]
    assert ids(left) == ["2"]
    assert verbs("countCandidates", account, "pending_ack") == 2
    assert verbs("countCandidates", stranger, "pending_ack") == 4
    page: Row = {"limit": 1, "after": None}
    assert verbs("pendingConversations", stranger, page) == [CHAT]
    page = {"limit": 9, "after": CHAT}
    assert verbs("pendingConversations", stranger, page) == [OTHER_CHAT]
    assert {account, stranger} <= set(verbs("knownAccounts"))


def test_rebuilding_takes_one_conversation_of_one_account(
    verbs: StoreVerbs, account: str, stranger: str
) -> None:
    """OT-20, OT-92: its namesake and its neighbour keep every record."""
    listed = [
        {"conversationId": chat, "latestMessageAtMs": 1_000, "title": "Ines"}
        for chat in (CHAT, OTHER_CHAT)
    ]
    for each in (account, stranger):
        verbs("takeList", each, listed, 5)
        for chat in (CHAT, OTHER_CHAT):
            verbs("recordBatch", batch(each, chat, "1", "2", code="invalid_id"))
            verbs("recordCards", cards(each, chat, card("1"), card("2")))
            facts = {"facts": {"orders": 1}, "fingerprint": "f", "observedAtMs": 1}
            scope = {"channelAccountId": each, "conversationId": chat}
            verbs("recordBuyerFacts", {**scope, **facts})
        verbs("observeProfiles", each, [seen(CHAT, 1), seen(OTHER_CHAT, 2)], 5)

    went = verbs("rebuildConversation", account, CHAT)
    assert went == {"messages": 2, "candidates": 2, "anomalies": 1, "cards": 2}

    for store in SCOPED:
        own = verbs.records(store, account)
        assert {row["conversationId"] for row in own} == {OTHER_CHAT}, store
        theirs = [row["conversationId"] for row in verbs.records(store, stranger)]
        assert theirs.count(CHAT) == theirs.count(OTHER_CHAT) == len(theirs) / 2, store
    for store in (BOOTSTRAPS, PROFILES, BUYER_FACTS):
        kept = {row["conversationId"] for row in verbs.records(store, account)}
        assert kept == {CHAT, OTHER_CHAT}, store
    nothing = {"messages": 0, "candidates": 0, "anomalies": 0, "cards": 0}
    assert verbs("rebuildConversation", account, CHAT) == nothing
    added = verbs("recordBatch", batch(account, CHAT, "1", "2"))
    assert (added["added"], added["checkpoint"]["phase"]) == (2, "paging")


# From now on the deletions from one object store throw; null for none.
FAIL_AT = """
(failing) => {
  const real = (globalThis.realDelete ??= IDBObjectStore.prototype.delete);
  IDBObjectStore.prototype.delete = function (key) {
    if (this.name === failing) throw new RangeError("it ends here.");
    return real.call(this, key);
  };
}
"""


def test_a_rebuild_that_fails_midway_leaves_every_record(
    verbs: StoreVerbs, account: str
) -> None:
    """OT-20, OT-92: one transaction over five stores: wherever it fails, all stays."""
    verbs("recordBatch", batch(account, CHAT, "1", "2", code="invalid_id"))
    verbs("recordCards", cards(account, CHAT, card("1"), card("2")))
    before = {store: verbs.records(store, account) for store in SCOPED}
    assert all(before.values()), "a store without a record would show nothing"
    for failing in SCOPED:
        verbs.page.evaluate(FAIL_AT, failing)
        try:
            code = refusal(verbs, "rebuildConversation", account, CHAT)
        finally:
            verbs.page.evaluate(FAIL_AT, None)
        assert code == "store_write_failed"
        left = {store: verbs.records(store, account) for store in SCOPED}
        assert left == before, f"failed at {failing}"
    verbs("rebuildConversation", account, CHAT)
    assert not any(verbs.records(store, account) for store in SCOPED)


def test_one_rebuild_takes_all_of_a_long_conversation(
    verbs: StoreVerbs, account: str
) -> None:
    """OT-20, OT-92: not the first hundred of it; under the tripwire."""
    said = [f"{number:05}" for number in range(MANY)]
    verbs("recordBatch", batch(account, CHAT, *said))
    verbs("recordCards", cards(account, CHAT, *map(card, said)))
    went = verbs("rebuildConversation", account, CHAT)
    assert (went["messages"], went["candidates"], went["cards"]) == (MANY, MANY, MANY)
    assert not any(verbs.records(store, account) for store in SCOPED)
