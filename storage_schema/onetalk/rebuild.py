"""Forgets one conversation's history so that it is collected anew (OT-20, OT-92)."""

from __future__ import annotations

from storage_schema import Connection, Transaction
from storage_schema.onetalk.arguments import Removed
from storage_schema.onetalk.keys import conversation_key
from storage_schema.onetalk.names import (
    ANOMALIES,
    BY_ACCOUNT_CONVERSATION,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    MESSAGES,
)
from storage_schema.onetalk.reads import keys_under
from storage_schema.onetalk.transactions import writing


def rebuild_conversation(
    connection: Connection, account: str, conversation: str
) -> Removed:
    """Deletes the messages, candidates, anomalies, cards and checkpoint of one scope.

    One readwrite transaction: the keys come from each store's scope index, inside it.
    Bootstrap, profile and buyer facts stay; so does every other conversation, and
    another account's of the same name. Gives how many went, by store.
    """
    scope = [account, conversation]
    stores = [MESSAGES, CANDIDATES, ANOMALIES, CARDS, CHECKPOINTS]
    with writing(connection, stores) as transaction:
        removed: Removed = {
            "messages": _remove(transaction, MESSAGES, scope),
            "candidates": _remove(transaction, CANDIDATES, scope),
            "anomalies": _remove(transaction, ANOMALIES, scope),
            "cards": _remove(transaction, CARDS, scope),
        }
        key = conversation_key(account, conversation)
        transaction.object_store(CHECKPOINTS).delete(key)
    return removed


def _remove(transaction: Transaction, store: str, scope: list[str]) -> int:
    keys = keys_under(transaction, store, BY_ACCOUNT_CONVERSATION, scope)
    for key in keys:
        transaction.object_store(store).delete(key)
    return len(keys)
