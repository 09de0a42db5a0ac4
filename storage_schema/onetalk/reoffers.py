"""What goes up again because the server's store does not have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from storage_schema import UNDEFINED, Connection, Transaction
from storage_schema.onetalk.checkpoints import change_checkpoint, checkpoints_of
from storage_schema.onetalk.javascript import field, is_absent, is_truthy
from storage_schema.onetalk.keys import conversation_key
from storage_schema.onetalk.names import (
    BUYER_FACTS,
    BY_ACCOUNT,
    BY_ACCOUNT_CONVERSATION,
    BY_ACCOUNT_CONVERSATION_STATUS,
    BY_ACCOUNT_STATUS,
    CANDIDATES,
    CARDS,
    CHECKPOINTS,
    PROFILES,
)
from storage_schema.onetalk.reads import first_under, page_under
from storage_schema.onetalk.records import (
    CandidateRecord,
    CandidateStatus,
    CheckpointRecord,
)
from storage_schema.onetalk.transactions import writing

REOFFER_STEP = 500
"""Candidates turned in one transaction."""
LEDGER_STEP = 200
"""Records of another ledger turned in one transaction."""

_Fields: TypeAlias = dict[str, object]
_Change: TypeAlias = Callable[[_Fields], _Fields | None]


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


def reoffer_ledgers(
    connection: Connection, account: str, conversation: str | None
) -> int:
    """Makes pending again what the server had of the ledgers beside the messages.

    Of one conversation, or of the account where `conversation` is None; gives how many
    records were turned. What newer is pending stays what it is. Several bounded
    transactions; running it twice does no harm.
    """
    if conversation is not None:
        key = conversation_key(account, conversation)
        with writing(connection, [PROFILES, BUYER_FACTS]) as transaction:
            turned = _turn(transaction, PROFILES, key, _untold)
            turned += _turn(transaction, BUYER_FACTS, key, _unheard)
        scope = [account, conversation]
        return turned + _turn_under(
            connection, CARDS, BY_ACCOUNT_CONVERSATION, scope, _unconfirmed
        )
    confirmed = [account, "confirmed"]
    return (
        _turn_under(connection, PROFILES, BY_ACCOUNT, account, _untold)
        + _turn_under(connection, CARDS, BY_ACCOUNT_STATUS, confirmed, _unconfirmed)
        + _turn_facts(connection, account)
    )


def _turn_under(
    connection: Connection,
    store: str,
    index: str,
    key: str | list[str],
    change: _Change,
) -> int:
    turned = 0
    after: str | None = None
    while True:
        with writing(connection, [store]) as transaction:
            found = page_under(
                transaction,
                store,
                index,
                key,
                {"after": after, "limit": LEDGER_STEP},
                dict,
            )
            for changed in filter(None, map(change, found)):
                transaction.object_store(store).put(changed)
                turned += 1
        if len(found) < LEDGER_STEP:
            return turned
        after = str(found[-1]["key"])


def _turn_facts(connection: Connection, account: str) -> int:
    turned = 0
    for page in checkpoints_of(connection, account):
        with writing(connection, [BUYER_FACTS]) as transaction:
            turned += sum(
                _turn(transaction, BUYER_FACTS, each["key"], _unheard) for each in page
            )
    return turned


def _turn(transaction: Transaction, store: str, key: str, change: _Change) -> int:
    found = transaction.object_store(store).get(key).result
    after = None if found is UNDEFINED else change(cast("_Fields", found))
    if after is None:
        return 0
    transaction.object_store(store).put(after)
    return 1


def _untold(before: _Fields) -> _Fields | None:
    fingerprint = field(before, "lastUploadedFingerprint")
    profile = field(before, "profile")
    if not isinstance(fingerprint, str) or is_absent(profile):
        return None
    pending, mark = field(before, "pending"), field(before, "uploadedObservedAtMs")
    if is_absent(pending):
        pending = {
            "aliId": field(before, "aliId"),
            "profile": profile,
            "fingerprint": fingerprint,
            "observedAtMs": 0 if is_absent(mark) else mark,
        }
    return {**before, "lastUploadedFingerprint": None, "pending": pending}


def _unconfirmed(before: _Fields) -> _Fields | None:
    if field(before, "status") != "confirmed":
        return None
    after = {**before, "status": "pending_ack"}
    after.pop("confirmedAtMs", None)
    return after


def _unheard(before: _Fields) -> _Fields | None:
    if is_absent(field(before, "uploadedFingerprint")):
        return None
    return {**before, "uploadedFingerprint": None}
