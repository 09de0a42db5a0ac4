"""8 → 9: reads are bounded by scope."""

from __future__ import annotations

from migrations.onetalk.changes import add_index, add_store
from storage_schema import Connection, Transaction
from storage_schema.onetalk.names import (
    ANOMALIES,
    BY_ACCOUNT,
    BY_ACCOUNT_CONVERSATION,
    BY_ACCOUNT_CONVERSATION_STATUS,
    BY_ACCOUNT_PENDING_OBSERVED_AT,
    BY_ACCOUNT_STATUS,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    MESSAGES,
    PROFILES,
)

FROM = 8
TO = 9
WHY = (
    "OT-13, OT-16: account, conversation and state indexes on the existing stores, so "
    "that no read looks through other accounts' records (OT-17); no record is "
    "touched. The ledger of rendered cards is a store that version 9 has, without "
    "indexes: it is made where it is missing and never cleared."
)

_ACCOUNT = "channelAccountId"
_CONVERSATION = (_ACCOUNT, "conversationId")
_STATUS = (_ACCOUNT, "status")
_PENDING = (_ACCOUNT, "pending.observedAtMs")

INDEXES = (
    (CHECKPOINTS, BY_ACCOUNT, _ACCOUNT),
    (CANDIDATES, BY_ACCOUNT_STATUS, _STATUS),
    (CANDIDATES, BY_ACCOUNT_CONVERSATION, _CONVERSATION),
    (CANDIDATES, BY_ACCOUNT_CONVERSATION_STATUS, (*_CONVERSATION, "status")),
    (MESSAGES, BY_ACCOUNT_CONVERSATION, _CONVERSATION),
    (ANOMALIES, BY_ACCOUNT_CONVERSATION, _CONVERSATION),
    (PROFILES, BY_ACCOUNT, _ACCOUNT),
    (PROFILES, BY_ACCOUNT_PENDING_OBSERVED_AT, _PENDING),
)
"""Store, name, key path of each index that this step adds, in this order."""


def change(connection: Connection, transaction: Transaction) -> None:
    """Adds the indexes, and the card ledger where it is missing."""
    for store, name, key_path in INDEXES:
        add_index(transaction, store, name, key_path)
    add_store(connection, transaction, CARDS)
