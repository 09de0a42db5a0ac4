"""What is known of a conversation's buyer, and which of it Bright has.

The newest observation alone is kept. Read by primary key only: there is no index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from storage_schema import UNDEFINED, Connection, Transaction
from storage_schema.onetalk.arguments import ObservedBuyerFacts, UploadMark
from storage_schema.onetalk.javascript import field, is_absent, is_at_most
from storage_schema.onetalk.keys import conversation_key
from storage_schema.onetalk.names import BUYER_FACTS
from storage_schema.onetalk.records import BuyerFactsRecord
from storage_schema.onetalk.transactions import reading, writing


def record_buyer_facts(connection: Connection, observed: ObservedBuyerFacts) -> bool:
    """Takes an observation over if it is strictly newer; gives whether it was.

    Other facts than those before are not Bright's, also if they were once: it may have
    those between.
    """
    key = conversation_key(observed["channelAccountId"], observed["conversationId"])
    with writing(connection, [BUYER_FACTS]) as transaction:
        before = _read(transaction, key)
        at = field(observed, "observedAtMs")
        if before is not None and is_at_most(at, field(before, "observedAtMs")):
            return False
        fingerprint = field(observed, "fingerprint")
        uploaded: object = UNDEFINED
        if before is not None and field(before, "fingerprint") == fingerprint:
            uploaded = field(before, "uploadedFingerprint")
        after = {
            "key": key,
            "channelAccountId": observed["channelAccountId"],
            "conversationId": observed["conversationId"],
            "facts": field(observed, "facts"),
            "fingerprint": fingerprint,
            "observedAtMs": at,
            "uploadedFingerprint": None if is_absent(uploaded) else uploaded,
        }
        transaction.object_store(BUYER_FACTS).put(after)
    return True


def read_buyer_facts(
    connection: Connection, keys: Sequence[str]
) -> list[BuyerFactsRecord | None]:
    """Records by primary key in the order asked; None where there is none."""
    with reading(connection, [BUYER_FACTS]) as transaction:
        return [_read(transaction, key) for key in keys]


def confirm_buyer_facts(
    connection: Connection, account: str, named: UploadMark
) -> bool:
    """Bright has exactly these facts; false where they are others by now, or none."""
    key = conversation_key(account, named["conversationId"])
    with writing(connection, [BUYER_FACTS]) as transaction:
        before = _read(transaction, key)
        if before is None or not _is_meant(before, named):
            return False
        after = {**before, "uploadedFingerprint": named["fingerprint"]}
        transaction.object_store(BUYER_FACTS).put(after)
        return True


def drop_buyer_facts(connection: Connection, account: str, named: UploadMark) -> bool:
    """Bright can never take exactly these facts: they go.

    What is observed next counts, whatever its time. False where they are others by now,
    or there are none.
    """
    key = conversation_key(account, named["conversationId"])
    with writing(connection, [BUYER_FACTS]) as transaction:
        before = _read(transaction, key)
        if before is None or not _is_meant(before, named):
            return False
        transaction.object_store(BUYER_FACTS).delete(key)
        return True


def _is_meant(before: BuyerFactsRecord, named: UploadMark) -> bool:
    return all(
        field(before, mark) == field(named, mark)
        for mark in ("fingerprint", "observedAtMs")
    )


def _read(transaction: Transaction, key: str) -> BuyerFactsRecord | None:
    found = transaction.object_store(BUYER_FACTS).get(key).result
    return None if found is UNDEFINED else cast("BuyerFactsRecord", found)
