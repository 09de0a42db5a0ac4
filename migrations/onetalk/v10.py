"""9 → 10: buyer facts, and bounded reads of the card ledger."""

from __future__ import annotations

from migrations.onetalk.changes import add_index, add_store
from storage_schema import Connection, Transaction
from storage_schema.onetalk.names import (
    BUYER_FACTS,
    BY_ACCOUNT_CONVERSATION,
    BY_ACCOUNT_STATUS,
    CARDS,
)

FROM = 9
TO = 10
WHY = (
    "OT-14: one new store, and the two indexes that a pending read (OT-91) and a "
    "rebuild (OT-92) of the card ledger stand on. Every other store, record and index "
    "stays; nothing is cleared, re-keyed, filled back or rewritten."
)


def change(connection: Connection, transaction: Transaction) -> None:
    """Adds the store of buyer facts and the cards' two indexes."""
    account = "channelAccountId"
    add_store(connection, transaction, BUYER_FACTS)
    add_index(transaction, CARDS, BY_ACCOUNT_STATUS, (account, "status"))
    add_index(transaction, CARDS, BY_ACCOUNT_CONVERSATION, (account, "conversationId"))
