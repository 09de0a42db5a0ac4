"""The work of `bright bench model`: records, index ranges, and what must be found.

A pure plan, the same on every machine. It is written to a file that both contenders
read before their clocks start, so neither does any work that the other does not. The
records are candidates of the durable store; a transaction is a batch of one
conversation.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from benchmarks.errors import WorkloadError

STORE = "onetalk_candidates"
KEY_PATH = "candidateKey"
INDEXES: dict[str, list[str]] = {
    "by_account_status": ["channelAccountId", "status"],
    "by_account_conversation": ["channelAccountId", "conversationId"],
    "by_account_conversation_status": ["channelAccountId", "conversationId", "status"],
}
ADDED: dict[str, list[str]] = {
    "by_account_sent_at": ["channelAccountId", "sentAtMs"],
    "by_conversation_observed_at": ["conversationId", "observedAtMs"],
}
"""What the upgrade adds."""

ACCOUNTS = 4
CONVERSATIONS = 5
"""Of each account; together twenty, so that a conversation has a twentieth."""

STATUSES = ("pending_ack", "confirmed", "awaiting_anchor", "rejected", "anomaly")
OF_TRANSACTION = 100
_FIRST = 1_750_000_000_000
_ACCOUNT = 2_500_000_000_001
_BUYER = 3_500_000_000_000

Record = dict[str, Any]


@dataclass(frozen=True)
class Read:
    """One `getAll` of an index between two keys, both included."""

    index: str
    lower: list[Any]
    upper: list[Any]


@dataclass(frozen=True)
class ModelWork:
    """How much of it; `nested` gives each record an object with a list in it.

    A flat record is cloned cheaply; a nested one shows what cloning costs.

    Raises:
        WorkloadError: if the records do not fill whole transactions of each
            conversation, or there is no read.
    """

    records: int = 10_000
    reads: int = 1_000
    nested: bool = False

    def __post_init__(self) -> None:
        whole = ACCOUNTS * CONVERSATIONS * OF_TRANSACTION
        if self.records < whole or self.records % whole:
            raise WorkloadError(
                f"{self.records} records do not fill transactions of {OF_TRANSACTION}"
                f" evenly: use a multiple of {whole}"
            )
        if self.reads < 1:
            raise WorkloadError("there must be at least 1 read")

    @cached_property
    def transactions(self) -> list[list[Record]]:
        """The records, a list for each transaction; conversations take turns."""
        turns = self.records // OF_TRANSACTION
        return [
            [_record(turn, nth) | self._content() for nth in range(OF_TRANSACTION)]
            for turn in range(turns)
        ]

    @cached_property
    def all_reads(self) -> list[Read]:
        """The reads: the three indexes in turns, each time another scope."""
        return [_read(number) for number in range(self.reads)]

    @property
    def hits(self) -> int:
        """How many records all reads together find: each finds one in twenty."""
        return self.reads * self.records // (ACCOUNTS * CONVERSATIONS)

    def _content(self) -> Record:
        if not self.nested:
            return {}
        return {"content": {"title": "Inquiry", "lines": ["500 pcs", "FOB Ningbo"]}}

    def to_plan(self) -> dict[str, Any]:
        """All of it as JSON, for a contender."""
        return {
            "store": STORE,
            "keyPath": KEY_PATH,
            "indexes": INDEXES,
            "added": ADDED,
            "transactions": self.transactions,
            "reads": [[one.index, one.lower, one.upper] for one in self.all_reads],
        }


def _account(number: int) -> str:
    return str(_ACCOUNT + number % ACCOUNTS)


def _conversation(number: int) -> str:
    account, buyer = number % ACCOUNTS, number // ACCOUNTS % CONVERSATIONS
    return f"{_ACCOUNT + account}-{_BUYER + buyer}#11011@icbu"


def _record(turn: int, nth: int) -> Record:
    """Ids grow with time, and five states take turns, as nothing else in a record."""
    account, conversation = _account(turn), _conversation(turn)
    sent_at_ms = _FIRST + turn * OF_TRANSACTION + nth
    key = f'["{account}","{conversation}","{sent_at_ms:015}","{sent_at_ms}"]'
    return {
        "candidateKey": key,
        "channelAccountId": account,
        "conversationId": conversation,
        "messageId": str(sent_at_ms),
        "sentAtMs": sent_at_ms,
        "status": STATUSES[nth % len(STATUSES)],
        "observedAtMs": _FIRST + 86_400_000 + turn,
        "sequence": turn * OF_TRANSACTION + nth,
    }


def _read(number: int) -> Read:
    index = tuple(INDEXES)[number % len(INDEXES)]
    scope = [_account(number), _conversation(number)]
    if index == "by_account_status":
        key = [scope[0], STATUSES[number // ACCOUNTS % len(STATUSES)]]
        return Read(index, key, key)
    if index == "by_account_conversation":
        return Read(index, scope, scope)
    # An array sorts after everything else: all states of the conversation.
    return Read(index, scope, [*scope, []])
