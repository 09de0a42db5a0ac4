"""The write boundary of observations (OT-04): one batch, one strict transaction.

A batch is of one conversation: its facts, candidates, anomalies and the paging position
that they stand for. First content wins; a batch may hold what is already known (OT-01).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from storage_schema import UNDEFINED, Connection, Transaction
from storage_schema.onetalk.arguments import PreparedBatch, PreparedFact, Recorded
from storage_schema.onetalk.checkpoints import change_checkpoint
from storage_schema.onetalk.javascript import (
    Number,
    field,
    is_absent,
    is_less,
    is_truthy,
    number_of,
)
from storage_schema.onetalk.keys import (
    candidate_key,
    message_key,
    read_candidate_key,
)
from storage_schema.onetalk.names import (
    ANOMALIES,
    BY_ACCOUNT_CONVERSATION_STATUS,
    CANDIDATES,
    CHECKPOINTS,
    MESSAGES,
)
from storage_schema.onetalk.reads import first_under
from storage_schema.onetalk.records import (
    AnomalyRecord,
    CandidateRecord,
    CheckpointRecord,
)
from storage_schema.onetalk.transactions import writing

RELEASE_STEP = 500
"""Waiting candidates let go in one step of the release."""


@dataclass(frozen=True)
class _Judged:
    """A batch's facts that are new, and the anomalies of those that differ."""

    facts: Sequence[PreparedFact]
    conflicts: Sequence[AnomalyRecord]


def record_batch(connection: Connection, batch: PreparedBatch) -> Recorded:
    """Writes one prepared batch; when it returns, all of it is on disk (OT-30).

    Recording the same again changes nothing but the position and the time seen.
    """
    stores = [MESSAGES, CANDIDATES, CHECKPOINTS, ANOMALIES]
    with writing(connection, stores) as transaction:
        fresh = _judge(transaction, batch)
        is_first = False

        def change(before: CheckpointRecord) -> CheckpointRecord:
            nonlocal is_first
            is_first = field(before, "lastObservedAtMs") == 0
            return _moved(before, batch, has_news=bool(fresh.facts))

        checkpoint = change_checkpoint(
            transaction, batch["channelAccountId"], batch["conversationId"], change
        )
        anchor = field(checkpoint, "anchorState")
        is_incremental = field(checkpoint, "syncMode") == "incremental"
        is_waiting = is_incremental and anchor in {"awaiting", "not_found"}
        _write_facts(transaction, batch, fresh.facts, is_waiting=is_waiting)
        if anchor == "met":
            _release(transaction, checkpoint)
        anomalies = [*batch["anomalies"], *fresh.conflicts]
        if_no_anchor = batch.get("ifNoAnchor")
        if _has_page(batch) and anchor == "not_found" and is_truthy(if_no_anchor):
            anomalies.append(cast("AnomalyRecord", if_no_anchor))
        write_anomalies(transaction, anomalies)
    return {
        "added": len(fresh.facts),
        "known": len(batch["facts"]) - len(fresh.facts) - len(fresh.conflicts),
        "conflicts": len(fresh.conflicts),
        "anomalies": len(batch["anomalies"]),
        "isFirst": is_first,
        "checkpoint": checkpoint,
    }


def _has_page(batch: PreparedBatch) -> bool:
    return is_truthy(batch.get("page"))


def _key_of(batch: PreparedBatch, fact: PreparedFact) -> str:
    return message_key(
        batch["channelAccountId"],
        batch["conversationId"],
        fact["content"]["messageId"],
    )


def _judge(transaction: Transaction, batch: PreparedBatch) -> _Judged:
    """The batch against what is stored and against its own earlier facts."""
    messages = transaction.object_store(MESSAGES)
    digests: dict[str, object] = {}
    for key in dict.fromkeys(_key_of(batch, fact) for fact in batch["facts"]):
        known = messages.get(key).result
        if known is not UNDEFINED:
            digest = field(cast("Mapping[str, object]", known), "contentDigest")
            # Kept by a version that noted none: what is there stays, and is known.
            digests[key] = None if is_absent(digest) else digest
    facts: list[PreparedFact] = []
    conflicts: list[AnomalyRecord] = []
    for fact in batch["facts"]:
        key = _key_of(batch, fact)
        first = digests.get(key, UNDEFINED)
        if first is UNDEFINED:
            facts.append(fact)
        elif first is not None and first != fact["digest"]:
            conflicts.append(fact["ifConflict"])
        digests[key] = fact["digest"] if first is UNDEFINED else first
    return _Judged(facts, conflicts)


def _moved(
    before: CheckpointRecord, batch: PreparedBatch, *, has_news: bool
) -> CheckpointRecord:
    """The checkpoint after this batch."""
    after: dict[str, object] = {**before, "lastObservedAtMs": batch["observedAtMs"]}
    if _has_page(batch):
        page = cast("Mapping[str, object]", batch["page"])
        after["pages"] = number_of(field(after, "pages")) + 1
        after["pageTimeStamp"] = field(page, "askedWith")
        after["nextTimeStamp"] = field(page, "nextTimeStamp")
        after["historyComplete"] = field(page, "historyComplete")
        after["result"] = None
    if _has_page(batch) or is_truthy(batch.get("isPartOfPage")):
        _meet_anchor(after, batch)
    if _has_page(batch) and is_truthy(after["historyComplete"]):
        after["phase"] = "uploading"
    if has_news:
        # What was claimed or completed does not cover the new fact (OT-43, OT-46).
        if field(after, "phase") == "completed":
            after["phase"] = "uploading"
        after["completionSent"] = False
        if field(after, "result") == "no_valid_messages":
            after["result"] = None
    return cast("CheckpointRecord", after)


def _meet_anchor(after: dict[str, object], batch: PreparedBatch) -> None:
    """OT-41, OT-42: the scan ends at its anchor, or at the end without it.

    Beside the anchor there may be others of its millisecond: it is not met until a page
    reaches beyond that, be it the one that showed the anchor or a later one. Where it
    was recalled, its recall stands there.
    """
    is_incremental = field(after, "syncMode") == "incremental"
    if not is_incremental or field(after, "anchorState") == "met":
        return
    name = field(after, "anchorMessageId")
    met = [each["content"] for each in batch["facts"] if _stands_for(each, name)]
    if met:
        after["anchorSeenAtMs"] = _edge_of(after, met[0]["sentAtMs"])
    if not _has_page(batch):
        return
    seen_at_ms = after.get("anchorSeenAtMs")
    if isinstance(seen_at_ms, int | float) and _is_beyond(after, seen_at_ms):
        after["anchorState"] = "met"
        after["nextTimeStamp"] = None
        after["historyComplete"] = True
    elif is_truthy(after["historyComplete"]):
        after["anchorState"] = "not_found"
        after["result"] = "incremental_anchor_not_found"


def _stands_for(fact: PreparedFact, message_id: object) -> bool:
    recall = fact["content"].get("recall")
    recalled = field(recall, "messageId") if isinstance(recall, Mapping) else UNDEFINED
    return message_id in (fact["content"]["messageId"], recalled)


def _edge_of(after: dict[str, object], shown_at_ms: Number) -> Number:
    """A recall may say a later time than what it took back."""
    confirmed = newest_confirmed_at_ms(cast("CheckpointRecord", after))
    return min(shown_at_ms, confirmed or shown_at_ms)


def _is_beyond(after: dict[str, object], anchor_ms: Number) -> bool:
    """The page has reached behind the anchor's millisecond, or the history's end."""
    following = field(after, "nextTimeStamp")
    if is_truthy(after["historyComplete"]) or following is None:
        return True
    return is_less(following, anchor_ms)


def _write_facts(
    transaction: Transaction,
    batch: PreparedBatch,
    facts: Iterable[PreparedFact],
    *,
    is_waiting: bool,
) -> None:
    """Each new fact and its candidate, which waits while no anchor is met (OT-41)."""
    account, conversation = batch["channelAccountId"], batch["conversationId"]
    for fact in facts:
        content = fact["content"]
        message: dict[str, object] = {
            **content,
            "key": message_key(account, conversation, content["messageId"]),
            "channelAccountId": account,
            "contentDigest": fact["digest"],
            "observedAtMs": batch["observedAtMs"],
        }
        if is_truthy(field(fact, "raw")):
            message["raw"] = fact["raw"]
        transaction.object_store(MESSAGES).put(message)
        sent, message_id = content["sentAtMs"], content["messageId"]
        candidate: CandidateRecord = {
            "candidateKey": candidate_key(account, conversation, sent, message_id),
            "channelAccountId": account,
            "conversationId": conversation,
            "messageId": message_id,
            "sentAtMs": sent,
            "status": "awaiting_anchor" if is_waiting else "pending_ack",
            "observedAtMs": batch["observedAtMs"],
        }
        transaction.object_store(CANDIDATES).put(candidate)


def _release(transaction: Transaction, checkpoint: CheckpointRecord) -> None:
    """Once the anchor is met, history and live ones go together (OT-42, OT-45)."""
    scope = [checkpoint["channelAccountId"], checkpoint["conversationId"]]
    candidates = transaction.object_store(CANDIDATES)
    while True:
        waiting = first_under(
            transaction,
            CANDIDATES,
            BY_ACCOUNT_CONVERSATION_STATUS,
            [*scope, "awaiting_anchor"],
            RELEASE_STEP,
            CandidateRecord,
        )
        for candidate in waiting:
            candidates.put({**candidate, "status": "pending_ack"})
        if len(waiting) < RELEASE_STEP:
            return


def write_anomalies(
    transaction: Transaction, anomalies: Sequence[AnomalyRecord]
) -> None:
    """Adds what is not there yet: the first observation of an anomaly stays."""
    store = transaction.object_store(ANOMALIES)
    for anomaly in anomalies:
        if store.get_key(anomaly["key"]).result is UNDEFINED:
            store.put(anomaly)


def record_anomaly(connection: Connection, anomaly: AnomalyRecord) -> None:
    """Records one anomaly that belongs to no batch."""
    with writing(connection, [ANOMALIES]) as transaction:
        write_anomalies(transaction, [anomaly])


def newest_confirmed_at_ms(checkpoint: CheckpointRecord) -> Number:
    """When a checkpoint's newest confirmed message was sent; 0 when there is none."""
    name = read_candidate_key(field(checkpoint, "latestCandidateKey"))
    return 0 if name is None else name.sent_at_ms
