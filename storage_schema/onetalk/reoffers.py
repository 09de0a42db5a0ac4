"""What goes up again because the server's store does not have it."""

from __future__ import annotations

from typing import cast

from storage_schema import UNDEFINED, Connection
from storage_schema.onetalk.checkpoints import change_checkpoint
from storage_schema.onetalk.javascript import field, is_truthy
from storage_schema.onetalk.names import (
    BY_ACCOUNT_CONVERSATION_STATUS,
    BY_ACCOUNT_STATUS,
    CANDIDATES,
    CHECKPOINTS,
)
from storage_schema.onetalk.reads import first_under
from storage_schema.onetalk.records import (
    CandidateRecord,
    CandidateStatus,
    CheckpointRecord,
)
from storage_schema.onetalk.transactions import writing

REOFFER_STEP = 500
"""Candidates turned in one transaction."""


def reoffer(connection: Connection, account: str, conversation: str | None) -> int:
    """Makes confirmed candidates pending again and gives how many.

    Of one conversation, or of the account where `conversation` is None. Conflicts too:
    the content that was first is gone with the store that had it. A candidate that
    names no conversation makes no checkpoint. Several bounded transactions; running it
    twice does no harm.
    """
    confirmed = _reoffer_all(connection, account, conversation, "confirmed")
    return confirmed + _reoffer_all(connection, account, conversation, "anomaly")


def _reoffer_all(
    connection: Connection,
    account: str,
    conversation: str | None,
    status: CandidateStatus,
) -> int:
    index, scope = BY_ACCOUNT_STATUS, [account]
    if conversation is not None:
        index, scope = BY_ACCOUNT_CONVERSATION_STATUS, [account, conversation]
    turned = 0
    while True:
        step = _reoffer_step(connection, account, index, [*scope, status])
        turned += step
        if step < REOFFER_STEP:
            return turned


def _reoffer_step(
    connection: Connection, account: str, index: str, key: list[str]
) -> int:
    with writing(connection, [CANDIDATES, CHECKPOINTS]) as transaction:
        found = first_under(
            transaction, CANDIDATES, index, key, REOFFER_STEP, CandidateRecord
        )
        for candidate in found:
            candidate["status"] = "pending_ack"
            candidate.pop("code", None)
            transaction.object_store(CANDIDATES).put(candidate)
        named = (field(candidate, "conversationId") for candidate in found)
        for conversation in dict.fromkeys(
            each for each in named if each is not UNDEFINED
        ):
            change_checkpoint(
                transaction, account, cast("str", conversation), _unproven
            )
    return len(found)


def _unproven(before: CheckpointRecord) -> CheckpointRecord:
    """A checkpoint without what only the old server store had proven."""
    is_complete = is_truthy(field(before, "historyComplete"))
    after: dict[str, object] = {
        **before,
        "phase": "uploading" if is_complete else field(before, "phase"),
        "completionSent": False,
        "latestMessageId": None,
        "latestCandidateKey": None,
    }
    return cast("CheckpointRecord", after)
