"""What an ACK changes in candidates and their checkpoint (OT-18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from storage_schema import UNDEFINED, Connection, Transaction
from storage_schema.onetalk.arguments import Applied, DeliveryResult
from storage_schema.onetalk.checkpoints import change_checkpoint, read_checkpoint_in
from storage_schema.onetalk.deliveries import still_pending_in
from storage_schema.onetalk.javascript import field, is_absent, is_truthy
from storage_schema.onetalk.keys import candidate_key, candidate_order, message_key
from storage_schema.onetalk.names import ANOMALIES, CANDIDATES, CHECKPOINTS, MESSAGES
from storage_schema.onetalk.observations import write_anomalies
from storage_schema.onetalk.records import (
    AnomalyRecord,
    CandidateRecord,
    CheckpointRecord,
)
from storage_schema.onetalk.transactions import writing


def apply_results(
    connection: Connection,
    account: str,
    conversation: str,
    results: Sequence[DeliveryResult],
    now_ms: int,
) -> Applied:
    """Takes an ACK's results over.

    Each is one primary-key read and counts only while that candidate is `pending_ack`:
    unknown, doubled and late results change nothing. Only a result without a candidate
    key looks its message up first.
    """
    stores = [CANDIDATES, CHECKPOINTS, ANOMALIES, MESSAGES]
    with writing(connection, stores) as transaction:
        changed: list[CandidateRecord] = []
        for result in results:
            candidate = _meant_by(transaction, account, conversation, result)
            if candidate is None:
                continue
            after = _resulting(candidate, result, now_ms)
            transaction.object_store(CANDIDATES).put(after)
            changed.append(after)
            anomaly = result.get("ifConflict")
            if result["status"] == "conflict" and is_truthy(anomaly):
                write_anomalies(transaction, [cast("AnomalyRecord", anomaly)])
        checkpoint = _confirmed_in(transaction, account, conversation, changed)
        pending = still_pending_in(transaction, account, conversation)
    return {"changed": len(changed), "pending": pending, "checkpoint": checkpoint}


def _meant_by(
    transaction: Transaction,
    account: str,
    conversation: str,
    result: DeliveryResult,
) -> CandidateRecord | None:
    """The candidate that a result is about, if it still waits for one."""
    key = result.get("candidateKey")
    if is_absent(key):
        key = _key_by_message(transaction, account, conversation, result)
    if key is None:
        return None
    found = transaction.object_store(CANDIDATES).get(key).result
    if found is UNDEFINED:
        return None
    candidate = cast("CandidateRecord", found)
    meant = {
        "status": "pending_ack",
        "channelAccountId": account,
        "conversationId": conversation,
        "messageId": field(result, "messageId"),
    }
    is_meant = all(field(candidate, name) == value for name, value in meant.items())
    return candidate if is_meant else None


def _key_by_message(
    transaction: Transaction,
    account: str,
    conversation: str,
    result: DeliveryResult,
) -> str | None:
    key = message_key(account, conversation, result["messageId"])
    found = transaction.object_store(MESSAGES).get(key).result
    if found is UNDEFINED:
        return None
    message = cast("Mapping[str, object]", found)
    # An old record may lack its id: then the key has null there, and no candidate.
    own_id = cast("str", message.get("messageId"))
    return candidate_key(account, conversation, field(message, "sentAtMs"), own_id)


def _resulting(
    candidate: CandidateRecord, result: DeliveryResult, now_ms: int
) -> CandidateRecord:
    if result["status"] == "confirmed":
        after: CandidateRecord = {
            **candidate,
            "status": "confirmed",
            "confirmedAtMs": now_ms,
        }
        if field(result, "sequence") is not UNDEFINED:
            after["sequence"] = result["sequence"]
        return after
    code = field(result, "code")
    return {
        **candidate,
        "status": "anomaly" if result["status"] == "conflict" else "rejected",
        "code": result["status"] if is_absent(code) else cast("str", code),
    }


def _confirmed_in(
    transaction: Transaction,
    account: str,
    conversation: str,
    changed: Sequence[CandidateRecord],
) -> CheckpointRecord | None:
    """The checkpoint after `changed`; an ACK for nothing of ours makes none."""
    if not changed:
        return read_checkpoint_in(transaction, account, conversation)
    return change_checkpoint(
        transaction,
        account,
        conversation,
        lambda before: _with_latest(before, changed),
    )


def _is_at_bright(candidate: CandidateRecord) -> bool:
    """Whether Bright has the message: it has a conflict's, with its first content."""
    if candidate["status"] == "confirmed":
        return True
    return candidate["status"] == "anomaly" and candidate.get("code") == "conflict"


def _with_latest(
    before: CheckpointRecord, changed: Sequence[CandidateRecord]
) -> CheckpointRecord:
    """OT-18: only the present newest and the ones just confirmed are compared."""
    after: CheckpointRecord = {**before}
    for candidate in changed:
        if not _is_at_bright(candidate):
            continue
        newest = field(after, "latestCandidateKey")
        if newest is None or candidate_order(newest, candidate["candidateKey"]) < 0:
            after["latestCandidateKey"] = candidate["candidateKey"]
            after["latestMessageId"] = candidate["messageId"]
    return after
