"""The ledger of contact profiles: a state machine of its own (OT-80 to OT-84).

The newest observation that Bright has not confirmed is pending; what is confirmed or
dropped leaves a mark, above which an observation has to be to count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, cast

from storage_schema import UNDEFINED, Connection, Transaction
from storage_schema.onetalk.arguments import (
    Limit,
    ObservedProfile,
    ObservedProfiles,
    ProfileAnswer,
    UploadMark,
)
from storage_schema.onetalk.javascript import (
    field,
    greatest,
    is_absent,
    is_less,
)
from storage_schema.onetalk.keys import conversation_key
from storage_schema.onetalk.names import BY_ACCOUNT_PENDING_OBSERVED_AT, PROFILES
from storage_schema.onetalk.reads import first_of_account
from storage_schema.onetalk.records import PendingProfile, ProfileRecord
from storage_schema.onetalk.transactions import reading, writing

_Outcome: TypeAlias = Literal["pending", "moved", "skipped"]
_Fields: TypeAlias = dict[str, object]


def observe_profiles(
    connection: Connection,
    account: str,
    profiles: Sequence[ObservedProfile],
    now_ms: int,
) -> ObservedProfiles:
    """Takes observations over, in order, at most a few hundred (OT-81).

    Latest wins, strictly, by observed time. The uploaded fingerprint again, with
    nothing pending, only moves the mark; what is not above the marks is skipped and no
    record is made for it.
    """
    counts: ObservedProfiles = {"pending": 0, "moved": 0, "skipped": 0}
    with writing(connection, [PROFILES]) as transaction:
        for observed in profiles:
            conversation = observed["conversationId"]
            found = _read(transaction, account, conversation)
            before = found or _new_profile(account, conversation)
            outcome = _outcome_of(before, observed)
            counts[outcome] += 1
            if outcome == "skipped":
                continue
            after: _Fields = {**before, "updatedAtMs": now_ms}
            if outcome == "moved":
                after["uploadedObservedAtMs"] = observed["observedAtMs"]
            else:
                after["pending"] = {
                    name: field(observed, name)
                    for name in ("aliId", "profile", "fingerprint", "observedAtMs")
                }
            transaction.object_store(PROFILES).put(after)
    return counts


def _outcome_of(before: ProfileRecord, observed: ObservedProfile) -> _Outcome:
    at = field(observed, "observedAtMs")
    pending = field(before, "pending")
    if not is_absent(pending):
        mark = _mark(cast("_Fields", pending), "observedAtMs")
        return "pending" if is_less(mark, at) else "skipped"
    uploaded = _mark(before, "uploadedObservedAtMs")
    if field(observed, "fingerprint") == field(before, "lastUploadedFingerprint"):
        return "moved" if is_less(uploaded, at) else "skipped"
    marks = greatest([uploaded, _mark(before, "rejectedObservedAtMs")])
    return "pending" if is_less(marks, at) else "skipped"


def _mark(record: Mapping[str, object], name: str) -> object:
    """A time; what an older version's record lacks counts as 0."""
    found = field(record, name)
    return 0 if is_absent(found) else found


def _new_profile(account: str, conversation: str) -> ProfileRecord:
    return {
        "key": conversation_key(account, conversation),
        "channelAccountId": account,
        "conversationId": conversation,
        "aliId": None,
        "profile": None,
        "lastUploadedFingerprint": None,
        "uploadedObservedAtMs": 0,
        "rejectedObservedAtMs": 0,
        "updatedAtMs": 0,
        "lastUploadedAtMs": None,
    }


def _read(
    transaction: Transaction, account: str, conversation: str
) -> ProfileRecord | None:
    key = conversation_key(account, conversation)
    found = transaction.object_store(PROFILES).get(key).result
    return None if found is UNDEFINED else cast("ProfileRecord", found)


def list_pending_profiles(
    connection: Connection, account: str, page: Limit
) -> list[ProfileRecord]:
    """What waits for Bright, oldest observation first (OT-19).

    A record without a pending profile has no entry in the index and is not read.

    Raises:
        ScopeMissingError: the account is empty or not text.
    """
    with reading(connection, [PROFILES]) as transaction:
        return first_of_account(
            transaction,
            PROFILES,
            BY_ACCOUNT_PENDING_OBSERVED_AT,
            account,
            page["limit"],
            ProfileRecord,
        )


def confirm_profile(
    connection: Connection, account: str, named: UploadMark, now_ms: int
) -> bool:
    """Bright has exactly this one: when this returns, that is on disk (OT-83).

    False where it is not pending any more: a late ACK never removes a newer one.
    """
    answer: ProfileAnswer = {"confirmed": [named], "refused": []}
    return settle_profiles(connection, account, answer, now_ms) == 1


def drop_profile(
    connection: Connection, account: str, named: UploadMark, now_ms: int
) -> bool:
    """Bright refuses exactly this one; a newer observation is another (OT-84).

    False where it is not pending any more.
    """
    answer: ProfileAnswer = {"confirmed": [], "refused": [named]}
    return settle_profiles(connection, account, answer, now_ms) == 1


def settle_profiles(
    connection: Connection, account: str, answer: ProfileAnswer, now_ms: int
) -> int:
    """Takes over what Bright says of many, each as if alone, in one transaction.

    Gives how many of them counted.
    """

    def confirmed(before: _Fields, pending: PendingProfile) -> _Fields:
        marks = [_mark(before, "uploadedObservedAtMs"), pending["observedAtMs"]]
        return {
            **before,
            "aliId": field(pending, "aliId"),
            "profile": field(pending, "profile"),
            "lastUploadedFingerprint": pending["fingerprint"],
            "uploadedObservedAtMs": greatest(marks),
            "updatedAtMs": now_ms,
            "lastUploadedAtMs": now_ms,
        }

    def dropped(before: _Fields, pending: PendingProfile) -> _Fields:
        marks = [_mark(before, "rejectedObservedAtMs"), pending["observedAtMs"]]
        return {
            **before,
            "rejectedObservedAtMs": greatest(marks),
            "updatedAtMs": now_ms,
        }

    with writing(connection, [PROFILES]) as transaction:
        settled = [
            _settle(transaction, account, named, confirmed)
            for named in answer["confirmed"]
        ]
        settled += [
            _settle(transaction, account, named, dropped) for named in answer["refused"]
        ]
    return sum(settled)


def _settle(
    transaction: Transaction,
    account: str,
    named: UploadMark,
    change: Callable[[_Fields, PendingProfile], _Fields],
) -> bool:
    """Takes the pending one away if both its marks match; `change` says how."""
    record = _read(transaction, account, named["conversationId"])
    before: _Fields = {**(record or {})}
    found = before.pop("pending", None)
    if is_absent(found):
        return False
    pending = cast("PendingProfile", found)
    is_meant = all(
        field(pending, mark) == field(named, mark)
        for mark in ("fingerprint", "observedAtMs")
    )
    if is_meant:
        transaction.object_store(PROFILES).put(change(before, pending))
    return is_meant
