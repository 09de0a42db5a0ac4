"""The ledger of rendered cards (OT-90, OT-91).

Durable first, the first content wins, and a card is confirmed by an ACK for exactly it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from storage_schema import UNDEFINED, Connection, Transaction
from storage_schema.onetalk.arguments import (
    CardBatch,
    CardResult,
    Limit,
    PreparedCard,
    RecordedCards,
)
from storage_schema.onetalk.javascript import field, is_absent, is_truthy
from storage_schema.onetalk.keys import card_key
from storage_schema.onetalk.names import ANOMALIES, BY_ACCOUNT_STATUS, CARDS
from storage_schema.onetalk.observations import write_anomalies
from storage_schema.onetalk.reads import first_under
from storage_schema.onetalk.records import AnomalyRecord, CardRecord
from storage_schema.onetalk.transactions import reading, writing


def record_cards(connection: Connection, batch: CardBatch) -> RecordedCards:
    """Writes the cards of one conversation; when it returns, all are on disk.

    The first of two in one batch counts as first. What has other content than the
    ledger leaves its anomaly; the first content stays.
    """
    counts: RecordedCards = {"added": 0, "known": 0, "conflicts": 0}
    with writing(connection, [CARDS, ANOMALIES]) as transaction:
        for card in batch["cards"]:
            first = _read(
                transaction,
                card_key(
                    batch["channelAccountId"],
                    batch["conversationId"],
                    card["messageId"],
                    card["cardKind"],
                ),
            )
            if first is None:
                transaction.object_store(CARDS).put(_new_card(batch, card))
                counts["added"] += 1
            elif _digest(first, card["digest"]) == card["digest"]:
                counts["known"] += 1
            else:
                counts["conflicts"] += 1
                _keep(transaction, card.get("ifConflict"))
    return counts


def _new_card(batch: CardBatch, card: PreparedCard) -> CardRecord:
    account, conversation = batch["channelAccountId"], batch["conversationId"]
    return {
        "key": card_key(account, conversation, card["messageId"], card["cardKind"]),
        "channelAccountId": account,
        "conversationId": conversation,
        "messageId": card["messageId"],
        "candidateKey": card["candidateKey"],
        "cardKind": card["cardKind"],
        "content": field(card, "content"),
        "contentDigest": card["digest"],
        "status": "pending_ack",
        "observedAtMs": batch["observedAtMs"],
    }


def _digest(first: CardRecord, otherwise: str) -> object:
    """A version that noted no digest: what is there stays, and is known."""
    found = field(first, "contentDigest")
    return otherwise if is_absent(found) else found


def _read(transaction: Transaction, key: str) -> CardRecord | None:
    found = transaction.object_store(CARDS).get(key).result
    return None if found is UNDEFINED else cast("CardRecord", found)


def _keep(transaction: Transaction, anomaly: AnomalyRecord | None) -> None:
    if is_truthy(anomaly):
        write_anomalies(transaction, [cast("AnomalyRecord", anomaly)])


def list_pending_cards(
    connection: Connection, account: str, page: Limit
) -> list[CardRecord]:
    """The cards of an account that wait for their ACK, in key order (OT-91).

    Raises:
        ScopeMissingError: the account is empty or not text.
    """
    with reading(connection, [CARDS]) as transaction:
        return first_under(
            transaction,
            CARDS,
            BY_ACCOUNT_STATUS,
            [account, "pending_ack"],
            page["limit"],
            CardRecord,
        )


def apply_card_results(
    connection: Connection,
    account: str,
    conversation: str,
    results: Sequence[CardResult],
    now_ms: int,
) -> int:
    """Takes an ACK's results over and gives how many cards that changed.

    Each is one primary-key read and counts only while that very card is `pending_ack`:
    unknown, doubled and late results change nothing.
    """
    changed = 0
    with writing(connection, [CARDS, ANOMALIES]) as transaction:
        for result in results:
            message, kind = result["messageId"], result["cardKind"]
            card = _read(transaction, card_key(account, conversation, message, kind))
            if card is None or card.get("status") != "pending_ack":
                continue
            if field(card, "candidateKey") != field(result, "candidateKey"):
                continue
            transaction.object_store(CARDS).put(_resulting(card, result, now_ms))
            changed += 1
            if result["status"] == "conflict":
                _keep(transaction, result.get("ifConflict"))
    return changed


def _resulting(card: CardRecord, result: CardResult, now_ms: int) -> CardRecord:
    if result["status"] == "confirmed":
        return {**card, "status": "confirmed", "confirmedAtMs": now_ms}
    code = field(result, "code")
    if result["status"] == "conflict":
        known = "conflict" if is_absent(code) else cast("str", code)
        return {**card, "status": "anomaly", "code": known}
    after: CardRecord = {**card, "status": "rejected"}
    if code is not UNDEFINED:
        after["code"] = cast("str", code)
    return after
