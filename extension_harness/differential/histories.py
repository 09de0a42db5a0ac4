"""Histories of the OneTalk store, each made from one seed.

A history is ``{"start": STEP | null, "calls": [{"verb", "arguments"}, …]}``. ``start``
opens an old database (an ``open`` step of an op-script, versions 6 to 9, whose ops only
make stores, indexes and records) that the store then upgrades; null begins with none.
Arguments are tagged values.
"""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from extension_harness.differential.forms import History, Op, Step
from extension_harness.differential.people import People, Told
from extension_harness.differential.verbs import (
    CANDIDATE_STATUSES,
    KINDS,
    anomaly,
    call,
)
from storage_schema.onetalk.keys import card_key, conversation_key, message_key
from storage_schema.onetalk.names import (
    ANOMALIES,
    BOOTSTRAPS,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    MESSAGES,
    PROFILES,
)
from storage_schema.tagged import form_of

FIVE = (MESSAGES, CANDIDATES, CHECKPOINTS, ANOMALIES, PROFILES)
EXTRA = {6: (), 7: (), 8: (BOOTSTRAPS,), 9: (BOOTSTRAPS, CARDS)}
ACCOUNT, CONVERSATION = "channelAccountId", "conversationId"
CARD_ENDS: dict[str, dict[str, Any]] = {
    "confirmed": {"confirmedAtMs": 6},
    "anomaly": {"code": "conflict"},
    "rejected": {"code": "odd_card"},
}
"""How a card ends, with what is known of it then."""
INDEXES_OF_9: tuple[tuple[str, str, Any], ...] = (
    (CHECKPOINTS, "by_account", ACCOUNT),
    (CANDIDATES, "by_account_status", [ACCOUNT, "status"]),
    (CANDIDATES, "by_account_conversation", [ACCOUNT, CONVERSATION]),
    (
        *(CANDIDATES, "by_account_conversation_status"),
        [ACCOUNT, CONVERSATION, "status"],
    ),
    (MESSAGES, "by_account_conversation", [ACCOUNT, CONVERSATION]),
    (ANOMALIES, "by_account_conversation", [ACCOUNT, CONVERSATION]),
    (PROFILES, "by_account", ACCOUNT),
    (PROFILES, "by_account_pending_observed_at", [ACCOUNT, "pending.observedAtMs"]),
)


def generate(seed: int) -> History:
    """The history of this seed."""
    draw = random.Random(f"history/{seed}")  # noqa: S311 - no secret
    people = People(draw)
    start = _Old(people, draw).start() if draw.random() < 0.35 else None
    calls = [call(people, draw) for _ in range(draw.randint(6, 14))]
    for each in calls:
        each["arguments"] = form_of(_apart(each["arguments"]))
    return {"start": start, "calls": calls}


def _apart(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The same with no object in it twice: identity means nothing here."""
    return json.loads(json.dumps(value))


class _Old:
    """Makes a database as an old version left it, its records with gaps."""

    def __init__(self, people: People, draw: random.Random) -> None:
        self._people = people
        self._draw = draw

    def start(self) -> Step:
        version = self._draw.choice((6, 7, 7, 8, 8, 9, 9))
        ops: list[Op] = []
        for name in (*FIVE, *EXTRA[version]):
            path = "candidateKey" if name == CANDIDATES else "key"
            if version == 6 and self._draw.random() < 0.3:
                path = "id"  # another key path than today's: it is made anew
            ops.append({"op": "createStore", "name": name, "keyPath": path})
            for record in self._records(name):
                value = form_of(_apart(record | ({"id": 1} if path == "id" else {})))
                ops.append({"op": "put", "store": name, "value": value})
        for store, name, path in INDEXES_OF_9 if version == 9 else ():
            index = {"op": "createIndex", "store": store, "name": name}
            ops.append(index | {"keyPath": copy.copy(path)})
        return {"do": "open", "version": version, "upgrade": ops}

    def _records(self, store: str) -> list[dict[str, Any]]:
        if store == CANDIDATES:  # of the messages, which were made before
            return [self._gappy(self._candidate(told)) for told in self._people.told]
        made: list[dict[str, Any]] = []
        for _ in range(self._draw.choice((0, 1, 2))):
            account, conversation = self._people.account(), self._people.conversation()
            if store == MESSAGES:
                made += (self._message(account, conversation) for _ in range(2))
            elif store == ANOMALIES:
                made.append(anomaly(self._people, account, conversation))
            elif store == CARDS:
                made.append(self._card(account, conversation))
            else:
                key = conversation_key(account, conversation)
                scope = {ACCOUNT: account, CONVERSATION: conversation}
                made.append({"key": key, **scope, **self._rest(store)})
        return [self._gappy(record) for record in made]

    def _message(self, account: str, conversation: str) -> dict[str, Any]:
        sent_at_ms = self._draw.choice((1, 10))
        told = Told(account, conversation, self._people.message(), sent_at_ms)
        self._people.told.append(told)
        return {
            "key": message_key(account, conversation, told.message),
            ACCOUNT: account,
            CONVERSATION: conversation,
            "messageId": told.message,
            "senderId": "buyer",
            "direction": "inbound",
            "sentAtMs": sent_at_ms,
            "kind": "text",
            "text": "hello",
            "contentDigest": "d1",
            "observedAtMs": 5,
        }

    def _candidate(self, told: Told) -> dict[str, Any]:
        return {
            "candidateKey": told.candidate,
            ACCOUNT: told.account,
            CONVERSATION: told.conversation,
            "messageId": told.message,
            "sentAtMs": told.sent_at_ms,
            "status": self._draw.choice(CANDIDATE_STATUSES),
            "observedAtMs": 5,
        }

    def _card(self, account: str, conversation: str) -> dict[str, Any]:
        message, kind = self._people.message(), self._draw.choice(KINDS)
        told = Told(account, conversation, message, 1)
        self._people.cards.append((account, conversation, message, kind))
        status = self._draw.choice(("pending_ack", "pending_ack", *CARD_ENDS))
        return {
            "key": card_key(account, conversation, message, kind),
            ACCOUNT: account,
            CONVERSATION: conversation,
            "messageId": message,
            "candidateKey": self._draw.choice((told.candidate, "candidate")),
            "cardKind": kind,
            "content": {"title": "A", "lines": [1, 2]},
            "contentDigest": "c1",
            "status": status,
            "observedAtMs": 5,
            **CARD_ENDS.get(status, {}),
        }

    def _rest(self, store: str) -> dict[str, Any]:
        if store == PROFILES:
            pending = {"fingerprint": "f1", "observedAtMs": 2, "profile": {}}
            marks = {"uploadedObservedAtMs": 1, "rejectedObservedAtMs": 0}
            return {"pending": pending, "lastUploadedFingerprint": None, **marks}
        if store == CHECKPOINTS:
            return {
                "phase": "completed",
                "syncMode": "full",
                "anchorState": "none",
                "historyComplete": True,
                "pages": 3,
                "completionSent": True,
                "latestCandidateKey": None,
                "latestMessageAtMs": None,
            }
        return {"latestMessageAtMs": 9, "listedAtMs": 5}

    def _gappy(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record, now and then without one of its fields; its key comes first."""
        _, *others = record
        if self._draw.random() < 0.25:
            del record[self._draw.choice(others)]
        return record
