"""The work of `bright bench scoped-reads`: one account's pending, and everybody else's.

A pure plan. The other accounts are copies of the one that is read, under ids around
its own, with conversations of the same names: nothing but the account tells them apart.
"""

import json
from dataclasses import dataclass
from typing import Any

from benchmarks.errors import WorkloadError

ACCOUNT = "2500000500000"
READS = (
    "pendingConversations",
    "nextPending",
    "listPendingCards",
    "listPendingProfiles",
)
"""The store's verbs that are measured, as JavaScript names them."""

STORES = (
    "onetalk_candidates",
    "onetalk_messages",
    "onetalk_rendered_card_ledger",
    "onetalk_contact_profiles",
)
"""What they read; each holds as many records of others."""

CALLS = 5
"""Reads under one time: the clock of a page ticks in tenths of a millisecond."""

_FIRST = 1_750_000_000_000
_CONVERSATIONS = 5

Record = dict[str, Any]


@dataclass(frozen=True)
class ScopedWork:
    """How much of it.

    Args:
        pending: records of the account in each store, all of which wait for Bright.
        others: records of other accounts in each store.
        repeats: times that a round takes of each read; each is over `CALLS` of it.
        batches: batches of messages that are written in a round.
        batch_messages: messages of such a batch.

    Raises:
        WorkloadError: if the conversations or the other accounts do not come out even.
    """

    pending: int = 250
    others: int = 100_000
    repeats: int = 10
    batches: int = 20
    batch_messages: int = 100

    def __post_init__(self) -> None:
        if self.pending < 1 or self.pending % _CONVERSATIONS:
            raise WorkloadError(
                f"{self.pending} pending are not shared out evenly to"
                f" {_CONVERSATIONS} conversations: use a multiple"
            )
        if self.others < 1 or self.others % self.pending:
            raise WorkloadError(
                f"{self.others} records of others do not make whole accounts of"
                f" {self.pending}: use a multiple"
            )
        if min(self.repeats, self.batches, self.batch_messages) < 1:
            raise WorkloadError("repeats, batches and messages must be at least 1")

    @property
    def others_ids(self) -> list[str]:
        """The ids of the other accounts: half before the account's own, half behind."""
        count = self.others // self.pending
        near = [int(ACCOUNT) + step for step in range(-(count // 2), count + 1)]
        return [str(one) for one in near if str(one) != ACCOUNT][:count]

    def found(self, read: str) -> int:
        """How many results the read gives."""
        per_conversation = self.pending // _CONVERSATIONS
        special = {
            "pendingConversations": _CONVERSATIONS,
            "nextPending": per_conversation,
        }
        return special.get(read, self.pending)

    def own(self) -> dict[str, list[Record]]:
        """The records of the account by store."""
        made = [self._of(nth) for nth in range(self.pending)]
        return {store: [one[store] for one in made] for store in STORES}

    def to_plan(self) -> dict[str, Any]:
        """All of it as JSON, for either side."""
        return {
            "account": ACCOUNT,
            "conversation": _conversation(0),
            "limit": self.pending,
            "reads": READS,
            "repeats": self.repeats,
            "calls": CALLS,
            "own": self.own(),
            "others": self.others_ids,
            "batches": self.batches,
            "batchMessages": self.batch_messages,
        }

    def _of(self, nth: int) -> dict[str, Record]:
        """One message with its candidate, a card of it, and a profile."""
        conversation = _conversation(nth % _CONVERSATIONS)
        sent_at_ms = _FIRST + nth * 1000
        message = str(sent_at_ms)
        candidate = _key(ACCOUNT, conversation, f"{sent_at_ms:015}", message)
        person = _conversation(nth)
        where = {"channelAccountId": ACCOUNT, "conversationId": conversation}
        return {
            "onetalk_candidates": {
                "candidateKey": candidate,
                **where,
                "messageId": message,
                "sentAtMs": sent_at_ms,
                "status": "pending_ack",
                "observedAtMs": sent_at_ms + 500,
            },
            "onetalk_messages": {
                "messageId": message,
                "conversationId": conversation,
                "senderId": conversation,
                "direction": "inbound",
                "sentAtMs": sent_at_ms,
                "kind": "text",
                "text": "We need 500 pcs before March, is it possible?",
                "key": _key(ACCOUNT, conversation, message),
                "channelAccountId": ACCOUNT,
                "contentDigest": f"{nth:064x}",
                "observedAtMs": sent_at_ms + 500,
            },
            "onetalk_rendered_card_ledger": {
                "key": _key(ACCOUNT, conversation, message, "inquiry"),
                **where,
                "messageId": message,
                "candidateKey": candidate,
                "cardKind": "inquiry",
                "content": {"title": "Inquiry", "lines": ["500 pcs", "FOB Ningbo"]},
                "contentDigest": f"{nth:064x}",
                "status": "pending_ack",
                "observedAtMs": sent_at_ms + 500,
            },
            "onetalk_contact_profiles": {
                "key": _key(ACCOUNT, person),
                "channelAccountId": ACCOUNT,
                "conversationId": person,
                "aliId": None,
                "profile": None,
                "lastUploadedFingerprint": None,
                "uploadedObservedAtMs": 0,
                "rejectedObservedAtMs": 0,
                "updatedAtMs": sent_at_ms,
                "lastUploadedAtMs": None,
                "pending": {
                    "aliId": person,
                    "profile": {"name": "Ann", "country": "DE", "company": "Ann Ltd"},
                    "fingerprint": f"{nth:064x}",
                    "observedAtMs": sent_at_ms,
                },
            },
        }


def _conversation(number: int) -> str:
    return f"buyer-{number:05}@icbu"


def _key(*parts: str) -> str:
    return json.dumps(parts, separators=(",", ":"))
