"""Random calls of the OneTalk store's verbs (docs/store.md), with likely arguments."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from extension_harness.differential.people import TIMES, People, Told
from storage_schema.onetalk.javascript import json_text

Arguments: TypeAlias = list[Any]
STATUSES = ("confirmed", "confirmed", "conflict", "rejected")
CANDIDATE_STATUSES = (
    *("pending_ack", "awaiting_anchor", "confirmed", "anomaly", "rejected"),
)
KINDS = ("product", "order")
CHANGES: Sequence[dict[str, Any]] = (
    {"syncMode": "incremental", "anchorState": "awaiting"},
    {"syncMode": "full", "anchorState": "none", "anchorMessageId": None},
    {"phase": "completed", "completionSent": True, "historyComplete": True},
    {"result": "no_valid_messages", "failedAtMs": 7, "scannedThroughMs": 8},
)
NO_ACCOUNTS = ("", None, 7)
"""What a pending read refuses: `scope_missing`."""


def chance(people: People, probability: float) -> bool:
    """True this often."""
    return people.draw.random() < probability


def anomaly(people: People, account: str, conversation: str) -> dict[str, Any]:
    """An anomaly record of the conversation."""
    code = people.draw.choice(("content_conflict", "no_sender"))
    digest = people.draw.choice(("d1", "d2"))
    return {
        "key": json_text([account, conversation, code, digest]),
        "channelAccountId": account,
        "conversationId": conversation,
        "code": code,
        "messageId": people.draw.choice((None, people.message())),
        "surface": "chat",
        "observedAtMs": people.now(),
        "observed": people.draw.choice((None, {"odd": [1, "x"]}, "text")),
    }


def _fact(people: People, account: str, conversation: str) -> dict[str, Any]:
    told = Told(account, conversation, people.message(), people.draw.choice(TIMES))
    people.told.append(told)
    text = people.draw.choice(("hello", "你好", "\ud83d", ""))
    content: dict[str, Any] = {
        "messageId": told.message,
        "conversationId": conversation,
        "senderId": people.draw.choice((account, "buyer")),
        "direction": people.draw.choice(("inbound", "outbound")),
        "sentAtMs": told.sent_at_ms,
        "kind": "text",
        "text": text,
    }
    if chance(people, 0.2):
        content["quote"] = {"messageId": people.message()}
    fact = {
        "content": content,
        "digest": people.draw.choice(("d1", "d1", "d1", "d2")),
        "ifConflict": anomaly(people, account, conversation),
    }
    if chance(people, 0.3):
        fact["raw"] = {"deep": {"list": [1, None, "\udfff"]}}
    return fact


def _page(people: People) -> dict[str, Any] | None:
    if chance(people, 0.35):
        return None
    return {
        "askedWith": people.draw.choice((None, *TIMES)),
        "nextTimeStamp": people.draw.choice((None, *TIMES)),
        "historyComplete": chance(people, 0.3),
    }


def record_batch(people: People) -> Arguments:
    """A live batch, or a page of history, with repeats and conflicts."""
    account, conversation = people.account(), people.conversation()
    wanted = people.draw.choice((0, 1, 1, 2, 3, 5))
    facts = [_fact(people, account, conversation) for _ in range(wanted)]
    anomalies = people.draw.choice((0, 0, 0, 1, 2))
    no_anchor = anomaly(people, account, conversation)
    return [
        {
            "channelAccountId": account,
            "conversationId": conversation,
            "facts": facts,
            "anomalies": [
                anomaly(people, account, conversation) for _ in range(anomalies)
            ],
            "observedAtMs": people.now(),
            "page": _page(people),
            "ifNoAnchor": no_anchor if chance(people, 0.5) else None,
            "isPartOfPage": chance(people, 0.3),
        }
    ]


def _result(people: People, account: str, conversation: str) -> dict[str, Any]:
    mine = [
        told
        for told in people.told
        if (told.account, told.conversation) == (account, conversation)
    ]
    foreign = Told(account, conversation, people.message(), people.draw.choice(TIMES))
    known = mine or people.told or [foreign]
    told = people.draw.choice(known) if chance(people, 0.9) else foreign
    result: dict[str, Any] = {
        "candidateKey": None if chance(people, 0.3) else told.candidate,
        "messageId": people.message() if chance(people, 0.05) else told.message,
        "status": people.draw.choice(STATUSES),
    }
    if chance(people, 0.3):
        result["sequence"] = people.draw.randint(1, 99)
    if chance(people, 0.4):
        result["code"] = people.draw.choice(("conflict", "too_late", ""))
    if chance(people, 0.5):
        conflict = anomaly(people, account, conversation)
        result["ifConflict"] = conflict if chance(people, 0.8) else None
    return result


def apply_results(people: People) -> Arguments:
    """An ACK: results that fit, come late, twice, or for nothing of ours."""
    account, conversation = people.account(), people.conversation()
    wanted = people.draw.choice((0, 1, 2, 4))
    results = [_result(people, account, conversation) for _ in range(wanted)]
    if results and chance(people, 0.2):
        results.append(dict(results[0]))
    return [account, conversation, results, people.now()]


def take_list(people: People) -> Arguments:
    """A part of the conversation list, now and then one conversation twice."""
    listed = []
    for _ in range(people.draw.randint(0, 4)):
        entry: dict[str, Any] = {
            "conversationId": people.conversation(),
            "latestMessageAtMs": people.draw.choice((None, *TIMES)),
        }
        if chance(people, 0.5):
            entry["title"] = people.draw.choice(("Buyer", "买家"))
        listed.append(entry)
    return [people.account(), listed, people.now()]


def update_checkpoint(people: People) -> Arguments:
    """The third argument: the fields that change; null leaves it."""
    change = dict(people.draw.choice(CHANGES))
    if change.get("anchorState") == "awaiting":
        change["anchorMessageId"] = people.message()
    wanted = None if chance(people, 0.1) else change
    return [people.account(), people.conversation(), wanted]


def scope(people: People) -> Arguments:
    """An account and a conversation."""
    return [people.account(), people.conversation()]


def reoffer(people: People) -> Arguments:
    """A conversation, or a whole account."""
    whole = chance(people, 0.5)
    return [people.account(), None if whole else people.conversation()]


def read_account(people: People) -> Any:  # noqa: ANN401 - also what is refused
    """An account, seldom what is none."""
    if chance(people, 0.06):
        return people.draw.choice(NO_ACCOUNTS)
    return people.account()


def limited(people: People) -> Arguments:
    """A pending read with its bound."""
    return [read_account(people), {"limit": people.draw.choice((1, 2, 50))}]


def pending_conversations(people: People) -> Arguments:
    """A page, after a conversation or from the first."""
    after = people.draw.choice((None, None, people.conversation()))
    return [
        read_account(people),
        {"limit": people.draw.choice((1, 2, 50)), "after": after},
    ]


def next_pending(people: People) -> Arguments:
    """The next of a conversation."""
    limit = people.draw.choice((1, 2, 50))
    return [read_account(people), people.conversation(), limit]


def count_candidates(people: People) -> Arguments:
    """Of an account in a state."""
    return [people.account(), people.draw.choice(CANDIDATE_STATUSES)]


def oldest_pending_since(people: People) -> Arguments:
    """Among the first few."""
    return [read_account(people), people.draw.choice((1, 3, 100))]


def keys(people: People) -> Arguments:
    """Primary keys of conversations, known and not."""
    return [[people.scope_key() for _ in range(people.draw.randint(0, 4))]]


def one_anomaly(people: People) -> Arguments:
    """One anomaly of no batch."""
    return [anomaly(people, people.account(), people.conversation())]


def record_cards(people: People) -> Arguments:
    """Cards of a conversation, repeats and conflicts among them."""
    account, conversation = people.account(), people.conversation()
    cards = []
    for _ in range(people.draw.randint(0, 4)):
        told = Told(account, conversation, people.message(), people.draw.choice(TIMES))
        kind = people.draw.choice(KINDS)
        people.cards.append((account, conversation, told.message, kind))
        cards.append(
            {
                "messageId": told.message,
                "candidateKey": people.draw.choice((told.candidate, "candidate")),
                "cardKind": kind,
                "content": {"title": people.draw.choice(("A", "B")), "lines": [1, 2]},
                "digest": people.draw.choice(("c1", "c1", "c2")),
                "ifConflict": anomaly(people, account, conversation),
            }
        )
    batch = {
        "channelAccountId": account,
        "conversationId": conversation,
        "observedAtMs": people.now(),
        "cards": cards,
    }
    return [batch]


def apply_card_results(people: People) -> Arguments:
    """An ACK for cards."""
    account, conversation = people.account(), people.conversation()
    if people.cards and chance(people, 0.8):
        account, conversation, *_ = people.draw.choice(people.cards)
    mine = [card for card in people.cards if card[:2] == (account, conversation)]
    results = []
    for _ in range(people.draw.randint(0, 3)):
        message, kind = people.message(), people.draw.choice(KINDS)
        if mine and chance(people, 0.9):
            message, kind = people.draw.choice(mine)[2:]
        result: dict[str, Any] = {
            "candidateKey": "candidate",
            "messageId": message,
            "cardKind": kind,
            "status": people.draw.choice(STATUSES),
        }
        if chance(people, 0.4):
            result["code"] = "odd_card"
        if chance(people, 0.5):
            result["ifConflict"] = anomaly(people, account, conversation)
        results.append(result)
    return [account, conversation, results, people.now()]


def _mark(people: People) -> dict[str, Any]:
    return {
        "conversationId": people.conversation(),
        "fingerprint": people.draw.choice(("f1", "f2")),
        "observedAtMs": people.draw.choice((1, 2, 3, 4)),
    }


def observe_profiles(people: People) -> Arguments:
    """Observations around the same few moments and fingerprints."""
    profiles = [
        _mark(people)
        | {
            "aliId": people.draw.choice((None, "ali")),
            "profile": {"name": people.draw.choice(("Li", "李"))},
        }
        for _ in range(people.draw.randint(0, 4))
    ]
    return [people.account(), profiles, people.now()]


def profile_mark(people: People) -> Arguments:
    """Which upload is confirmed or refused."""
    return [people.account(), _mark(people), people.now()]


def record_buyer_facts(people: People) -> Arguments:
    """An observation of a buyer."""
    facts = {"country": people.draw.choice(("DE", "CN", None))}
    return [{"channelAccountId": people.account(), "facts": facts} | _mark(people)]


def confirm_buyer_facts(people: People) -> Arguments:
    """Which facts Bright has."""
    return [people.account(), _mark(people)]


def settle_profiles(people: People) -> Arguments:
    """What Bright says of several profiles at once."""
    answer = {"confirmed": [_mark(people), _mark(people)], "refused": [_mark(people)]}
    return [people.account(), answer, people.now()]


def account_alone(people: People) -> Arguments:
    """An account."""
    return [people.account()]


VERBS: dict[str, tuple[int, Callable[[People], Arguments]]] = {
    "recordBatch": (14, record_batch),
    "recordAnomaly": (2, one_anomaly),
    "applyResults": (9, apply_results),
    "takeList": (4, take_list),
    "updateCheckpoint": (5, update_checkpoint),
    "reoffer": (3, reoffer),
    "reofferLedgers": (3, reoffer),
    "rebuildConversation": (3, scope),
    "recordCards": (5, record_cards),
    "applyCardResults": (4, apply_card_results),
    "observeProfiles": (6, observe_profiles),
    "confirmProfile": (4, profile_mark),
    "dropProfile": (2, profile_mark),
    "settleProfiles": (3, settle_profiles),
    "recordBuyerFacts": (3, record_buyer_facts),
    "confirmBuyerFacts": (2, confirm_buyer_facts),
    "dropBuyerFacts": (1, confirm_buyer_facts),
    "nextPending": (3, next_pending),
    "pendingConversations": (3, pending_conversations),
    "stillPending": (1, scope),
    "countCandidates": (1, count_candidates),
    "oldestPendingSince": (1, oldest_pending_since),
    "readBootstraps": (1, keys),
    "checkpointsOf": (1, account_alone),
    "readCheckpoint": (1, scope),
    "knownAccounts": (1, lambda _: []),
    "listPendingCards": (2, limited),
    "listPendingProfiles": (2, limited),
    "readBuyerFacts": (1, keys),
}
"""Every verb: how often it is called beside the others, and its arguments."""


def call(people: People, draw: random.Random) -> dict[str, Any]:
    """One call of a verb: its name and its arguments."""
    names = list(VERBS)
    weights = [weight for weight, _ in VERBS.values()]
    verb = draw.choices(names, weights)[0]
    return {"verb": verb, "arguments": VERBS[verb][1](people)}
