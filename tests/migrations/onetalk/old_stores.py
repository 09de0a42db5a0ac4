"""Databases as older versions left them, with records of every kind in them.

Beside the OneTalk stores each has what other channels keep in the same database. Two
accounts have a conversation of the same name; some records have fields that nobody
knows any more, and some lack what is known today.
"""

from __future__ import annotations

from collections.abc import Callable

from migrations.onetalk import upgrade
from storage_schema import Connection, Factory, Transaction
from storage_schema.onetalk.checkpoints import new_checkpoint
from storage_schema.onetalk.keys import (
    anomaly_key,
    candidate_key,
    card_key,
    conversation_key,
    message_key,
)
from storage_schema.onetalk.names import (
    ANOMALIES,
    BOOTSTRAPS,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    DATABASE_NAME,
    FIRST_FIVE,
    MESSAGES,
    PROFILES,
    key_path_of,
)

Record = dict[str, object]
Change = Callable[[Connection, Transaction], object]

ACCOUNTS = ("account-a", "account-b")
CONVERSATIONS = ("conversation-1", "conversation-2")
STATUSES = ("confirmed", "pending_ack", "rejected", "anomaly", "awaiting_anchor")
OTHER_CHANNELS = ("whatsapp_messages", "whatsapp_settings")


def _make(factory: Factory, version: int, change: Change) -> None:
    def run(
        connection: Connection, transaction: Transaction, old: int, new: int
    ) -> None:
        assert (old, new) == (0, version)
        _add_other_channels(connection)
        change(connection, transaction)
        _fill(connection, transaction)

    factory.open(DATABASE_NAME, version, upgrade=run).result.close()


def make_v1(factory: Factory) -> None:
    """Four of the five stores, keyed as no later version does, with odd indexes."""

    def change(connection: Connection, transaction: Transaction) -> None:
        del transaction
        messages = connection.create_object_store(MESSAGES, "id", auto_increment=True)
        messages.put({"text": "from long ago"})
        messages.create_index("by_account_conversation", "text")
        anomalies = connection.create_object_store(ANOMALIES)  # keys out of line
        anomalies.put({"what": "odd"}, 7)
        profiles = connection.create_object_store(PROFILES, "key", auto_increment=True)
        profiles.put({"name": "somebody"})
        candidates = connection.create_object_store(CANDIDATES, "candidateKey")
        candidates.create_index("by_account_status", "status")
        candidates.create_index("by_everything", ["status", "messageId"])

    _make(factory, 1, change)


def make_v6(factory: Factory) -> None:
    """All five stores under today's keys, and a card ledger that is none of them."""

    def change(connection: Connection, transaction: Transaction) -> None:
        del transaction
        for store in (*FIRST_FIVE, CARDS):
            connection.create_object_store(store, key_path_of(store))

    _make(factory, 6, change)


def make_by_steps(factory: Factory, version: int) -> None:
    """A database that a build of version 7, 8, 9 or 10 made and used."""

    def change(connection: Connection, transaction: Transaction) -> None:
        upgrade(connection, transaction, 0, version)

    _make(factory, version, change)


def make(factory: Factory, version: int) -> None:
    """A database of this version; none at all for 0."""
    if version == 1:
        make_v1(factory)
    elif version == 6:
        make_v6(factory)
    elif version:
        make_by_steps(factory, version)


def _add_other_channels(connection: Connection) -> None:
    messages = connection.create_object_store("whatsapp_messages", "id", True)
    messages.create_index("by_chat", "chat")
    messages.create_index("by_number", "number", unique=True, multi_entry=True)
    for each in range(3):
        messages.put({"chat": f"c{each % 2}", "number": [each, each + 100]})
    connection.create_object_store("whatsapp_settings").put({"on": True}, "sending")


def _fill(connection: Connection, transaction: Transaction) -> None:
    """Records of every kind in each store that takes them."""
    for account in ACCOUNTS:
        for conversation in CONVERSATIONS:
            for store, record in _records_of(account, conversation):
                if store not in connection.object_store_names:
                    continue
                opened = transaction.object_store(store)
                if opened.key_path == key_path_of(store):
                    opened.put(record)


def _records_of(account: str, conversation: str) -> list[tuple[str, Record]]:
    scope: Record = {"channelAccountId": account, "conversationId": conversation}
    key = conversation_key(account, conversation)
    found: list[tuple[str, Record]] = [
        (CHECKPOINTS, {**new_checkpoint(account, conversation), "ofLongAgo": [1]}),
        (BOOTSTRAPS, {**scope, "key": key, "latestMessageAtMs": 5, "listedAtMs": 6}),
        (PROFILES, {**scope, **_profile(key, conversation)}),
    ]
    for place, status in enumerate(STATUSES):
        message = f"m{place}"
        named = {**scope, "messageId": message}
        sent = {
            **named,
            "key": message_key(account, conversation, message),
            "sentAtMs": place,
        }
        candidate = {
            **named,
            "candidateKey": candidate_key(account, conversation, place, message),
            "status": status,
        }
        card = {
            **named,
            "key": card_key(account, conversation, message, "product"),
            "status": status,
        }
        odd = {**scope, "key": anomaly_key(account, conversation, "odd", message)}
        found += [
            (MESSAGES, sent),
            (CANDIDATES, candidate),
            (CARDS, card),
            (ANOMALIES, odd),
        ]
    return found


def _profile(key: str, conversation: str) -> Record:
    """One of each account's two profiles is pending."""
    if conversation != CONVERSATIONS[0]:
        return {"key": key, "uploadedObservedAtMs": 9}
    return {"key": key, "pending": {"fingerprint": "f", "observedAtMs": 8}}
