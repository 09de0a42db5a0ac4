"""The oracle sees each kind of fault, and nothing in a good system."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from extension_harness.network.fault import Seen
from extension_harness.oracle.extension_faults import KNOWN_STORES
from extension_harness.oracle.testimony import ack_faults, early_anchors
from extension_harness.oracle.verdict import DATABASE, Verdict, judge
from extension_harness.page.corpus import Corpus
from extension_harness.page.ledger import Ledger
from extension_harness.page.records import LedgerAnomaly
from extension_harness.server import StoreDump
from extension_harness.storage import DatabaseDump, ObjectStore, Record

Rows = dict[str, list[dict[str, Any]]]
CHAT = {"channelAccountId": "1", "conversationId": "1-2#11011@icbu"}
Change = Callable[[Rows, Rows], object]


def ledger_of(corpus: Corpus) -> Ledger:
    ledger = Ledger(corpus.account)
    for chat in corpus.conversations:
        ledger.meet(chat)
    for message in corpus.messages():
        ledger.add(message)
    return ledger


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Two conversations in good order, without anything messy."""
    return Corpus.generate(1, conversations=2, messages=8, messy=frozenset())


@pytest.fixture
def ledger(corpus: Corpus) -> Ledger:
    return ledger_of(corpus)


@pytest.fixture
def stores(ledger: Ledger) -> tuple[Rows, Rows]:
    """What the extension and Bright hold when all is well."""
    extension: Rows = {name: [] for name in KNOWN_STORES}
    server: Rows = {"message": [], "outbox": [], "conversation": [], "anchor": []}
    for name in ("conflict", "contactProfile", "renderedCard", "buyerFacts"):
        server[name] = []
    by_chat: dict[str, list[dict[str, Any]]] = {}
    for message in ledger.expected():
        by_chat.setdefault(message.conversation_id, []).append(message.as_dict())
    for conversation, messages in by_chat.items():
        messages.sort(key=lambda each: (each["sentAtMs"], each["messageId"]))
        scope = {"channelAccountId": ledger.account, "conversationId": conversation}
        for sequence, fields in enumerate(messages, 1):
            position = len(server["message"]) + 1
            row = {**fields, "sequence": sequence, "position": position}
            named = {**scope, "messageId": fields["messageId"]}
            server["message"].append(row)
            server["outbox"].append({**named, "position": position})
            extension["onetalk_messages"].append({**fields})
            extension["onetalk_candidates"].append(
                {**named, "status": "confirmed", "sequence": sequence}
            )
        newest = messages[-1]["messageId"]
        server["anchor"].append({**scope, "latestMessageId": newest})
        server["conversation"].append({**scope, "lastSequence": len(messages)})
        extension["onetalk_checkpoints"].append(
            {
                **scope,
                "phase": "completed",
                "historyComplete": True,
                "nextTimeStamp": None,
                "anchorMessageId": newest,
                "latestMessageId": newest,
            }
        )
        extension["onetalk_conversation_bootstraps"].append(dict(scope))
        contact = ledger.profiles()[conversation]
        known = {"aliId": contact.ali_id, "profile": contact.profile()}
        extension["onetalk_contact_profiles"].append(
            {
                **scope,
                "key": conversation,
                "aliId": None,
                "profile": None,
                "lastUploadedFingerprint": None,
                "pending": known,
            }
        )
    return extension, server


def profile(rows: Rows) -> dict[str, Any]:
    """The first profile's record."""
    return rows["onetalk_contact_profiles"][0]


def verdict_of(ledger: Ledger, extension: Rows, server: Rows) -> Verdict:
    found = {
        name: ObjectStore(
            name,
            "key",
            auto_increment=False,
            indexes=(),
            records=tuple(Record(n, row) for n, row in enumerate(rows)),
        )
        for name, rows in extension.items()
    }
    return judge(
        ledger,
        StoreDump({kind: tuple(rows) for kind, rows in server.items()}),
        DatabaseDump(DATABASE, present=True, version=10, stores=found),
    )


def test_a_good_system_holds(ledger: Ledger, stores: tuple[Rows, Rows]) -> None:
    verdict = verdict_of(ledger, *stores)
    assert verdict.holds, verdict.as_text()
    assert (verdict.conversations, verdict.confirmed) == (2, 8)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e, s: s["message"].pop(), "1 missing"),
        (lambda e, s: e["onetalk_messages"].pop(), "1 missing"),
        (lambda e, s: s["message"].append(s["message"][0]), "1 duplicates"),
        (lambda e, s: s["message"][0].update(text="other"), "1 different"),
        (lambda e, s: s["message"][0].update(sequence=9), "a gap or a double"),
        (lambda e, s: s["conversation"][0].update(lastSequence=0), "counts to 0"),
        (lambda e, s: s["outbox"].pop(), "stored, not published"),
        (lambda e, s: s["outbox"][0].update(position=99), "positions have a gap"),
        (lambda e, s: s["outbox"][0].update(messageId="x"), "published, not stored"),
        (
            lambda e, s: (
                s["outbox"][0].update(position=2),
                s["outbox"][1].update(position=1),
            ),
            "at another position",
        ),
        (lambda e, s: s["conflict"].append(s["message"][0]), "without an edit"),
        (lambda e, s: s["anchor"].pop(), "is anchored at None"),
        (lambda e, s: s["anchor"][0].update(latestMessageId="x"), "is anchored at x"),
        (
            lambda e, s: e["onetalk_candidates"][0].update(status="pending_ack"),
            "not confirmed but pending_ack",
        ),
        (
            lambda e, s: e["onetalk_candidates"][0].update(sequence=77),
            "confirmed as 77",
        ),
        (lambda e, s: e["onetalk_candidates"].pop(), "fact without a candidate"),
        (
            lambda e, s: e["onetalk_candidates"].append(e["onetalk_candidates"][0]),
            "two candidates",
        ),
        (
            lambda e, s: e["onetalk_checkpoints"][0].update(phase="uploading"),
            "is uploading, not completed",
        ),
        (
            lambda e, s: e["onetalk_checkpoints"][0].update(nextTimeStamp=5),
            "history still to read",
        ),
        (
            lambda e, s: e["onetalk_checkpoints"][0].update(anchorMessageId="x"),
            "the extension's anchor is x",
        ),
        (lambda e, s: e["onetalk_checkpoints"].pop(), "was never synced"),
        (
            lambda e, s: e["onetalk_checkpoints"].append(e["onetalk_checkpoints"][0]),
            "two checkpoints",
        ),
        (
            lambda e, s: e["onetalk_buyer_facts"].append({**CHAT, "facts": {}}),
            "extension: buyer facts of another account",
        ),
        (
            lambda e, s: s["buyerFacts"].append(
                {**profile(e), "facts": {"country": "BR"}}
            ),
            "Bright: buyer facts that the page did not tell",
        ),
        (
            lambda e, s: e["onetalk_rendered_card_ledger"].append(
                {**profile(e), "content": {"title": "Order 1", "lines": []}}
            ),
            "extension: card that the page did not draw so",
        ),
        (
            lambda e, s: s["renderedCard"].append({**CHAT, "content": {}}),
            "Bright: card of another account",
        ),
        (
            lambda e, s: s["contactProfile"].append({**profile(e), "aliId": "9"}),
            "Bright: profile that no list said",
        ),
        (
            lambda e, s: profile(e)["pending"].update(aliId="9"),
            "pending profile that no list said",
        ),
        (
            lambda e, s: profile(e)["pending"].update(profile={"name": "X"}),
            "pending profile that no list said",
        ),
        (lambda e, s: profile(e).update(aliId="9"), "profile that no list said"),
        (lambda e, s: profile(e).pop("pending"), "neither pending nor uploaded"),
        (
            lambda e, s: profile(e).update(channelAccountId="9"),
            "profile of another account",
        ),
        (lambda e, s: e.update(other=[]), "unknown store other"),
        (
            lambda e, s: e["onetalk_anomalies"].append({**CHAT, "code": "conflict"}),
            "1 unexpected",
        ),
    ],
)
def test_each_fault_is_seen_and_said(
    ledger: Ledger, stores: tuple[Rows, Rows], change: Change, said: str
) -> None:
    change(*stores)
    verdict = verdict_of(ledger, *stores)
    assert not verdict.holds
    assert said in verdict.as_text(limit=50)


def test_an_expected_anomaly_that_is_not_there_is_missing(
    ledger: Ledger, stores: tuple[Rows, Rows]
) -> None:
    ledger.add_anomaly(LedgerAnomaly("invalid_id", "1", "c", 1))
    assert not verdict_of(ledger, *stores).holds


def ack(at: float, message: dict[str, Any], **fields: object) -> Seen:
    result = {
        "messageId": message["messageId"],
        "status": "confirmed",
        "duplicate": False,
        "sequence": message["sequence"],
    }
    body = {
        "channelAccountId": message["channelAccountId"],
        "conversationId": message["conversationId"],
        "results": [{**result, **fields}],
    }
    return Seen(at, 1, "to_client", "observation.ack", 1, body)


def anchor(at: float, row: dict[str, Any]) -> Seen:
    return Seen(at, 1, "to_client", "anchor.snapshot", 1, {"anchors": [row]})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, None),
        ({"duplicate": True}, None),
        ({"status": "retry", "sequence": None}, None),
        ({"messageId": "x"}, "acknowledged and not stored"),
        ({"sequence": 77}, "another sequence"),
    ],
)
def test_an_ack_is_held_against_the_store(
    stores: tuple[Rows, Rows], fields: dict[str, object], said: str | None
) -> None:
    messages = stores[1]["message"]
    dump = StoreDump({"message": tuple(messages)})
    faults = list(ack_faults([ack(1, messages[0], **fields)], dump))
    assert (said is None and not faults) or (said is not None and said in faults[0])


def test_one_message_is_new_once(stores: tuple[Rows, Rows]) -> None:
    messages = stores[1]["message"]
    dump = StoreDump({"message": tuple(messages)})
    frames = [ack(1, messages[0]), ack(2, messages[0])]
    assert list(ack_faults(frames, dump)) != []
    frames = [ack(1, messages[0]), ack(2, messages[0], duplicate=True)]
    assert list(ack_faults(frames, dump)) == []


def test_an_anchor_before_its_last_ack_is_early(
    ledger: Ledger, stores: tuple[Rows, Rows], corpus: Corpus
) -> None:
    """OT-43, OT-50."""
    ledger.served("sdk", corpus.messages(), 0)
    _, server = stores
    [row, *_] = server["anchor"]
    own = [
        each
        for each in server["message"]
        if each["conversationId"] == row["conversationId"]
    ]
    # On the clock of this process, after everything was shown.
    acks = [ack(1e9, each) for each in own]
    assert list(early_anchors([*acks, anchor(1e9, row)], ledger)) == []
    assert list(early_anchors([*acks[:-1], anchor(1e9, row), acks[-1]], ledger)) != []


@pytest.mark.parametrize(("seconds_ago", "is_early"), [(0.5, False), (5.0, True)])
def test_an_anchor_need_not_know_of_an_event_on_its_way(
    seconds_ago: float,
    is_early: bool,
    ledger: Ledger,
    stores: tuple[Rows, Rows],
    corpus: Corpus,
) -> None:
    """An event that says to be older may come between a claim and its anchor."""
    shown_at_ms = int((time.time() - seconds_ago) * 1000)
    ledger.served("emitter", corpus.messages(), shown_at_ms)
    _, server = stores
    [row, *_] = server["anchor"]

    found = list(early_anchors([anchor(time.monotonic(), row)], ledger))

    assert (found != []) == is_early
