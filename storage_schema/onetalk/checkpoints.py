"""Checkpoints and bootstraps: where a conversation stands, what the list said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from storage_schema import UNDEFINED, Connection, Transaction
from storage_schema.onetalk.javascript import field, greatest, is_absent
from storage_schema.onetalk.keys import conversation_key
from storage_schema.onetalk.names import (
    BOOTSTRAPS,
    BY_ACCOUNT,
    BY_ACCOUNT_STATUS,
    CANDIDATES,
    CHECKPOINTS,
)
from storage_schema.onetalk.reads import count_under, distinct_accounts, page_under
from storage_schema.onetalk.records import (
    BootstrapRecord,
    CandidateStatus,
    CheckpointRecord,
    ListedConversation,
)
from storage_schema.onetalk.transactions import reading, writing

PAGE = 200
"""Checkpoints read at a time."""
_SCOPE = ("key", "channelAccountId", "conversationId")
"""What nothing here makes up."""
MAX_ACCOUNTS = 50
"""Accounts of one installation that are looked after."""


def new_checkpoint(account: str, conversation: str) -> CheckpointRecord:
    """A conversation just met: full, from the newest (OT-40)."""
    return {
        "key": conversation_key(account, conversation),
        "channelAccountId": account,
        "conversationId": conversation,
        "phase": "paging",
        "syncMode": "full",
        "anchorState": "none",
        "anchorMessageId": None,
        "pageTimeStamp": None,
        "nextTimeStamp": None,
        "historyComplete": False,
        "latestMessageId": None,
        "latestCandidateKey": None,
        "latestMessageAtMs": None,
        "scannedActivityMs": None,
        "completionSent": False,
        "lastObservedAtMs": 0,
        "result": None,
        "pages": 0,
    }


def change_checkpoint(
    transaction: Transaction,
    account: str,
    conversation: str,
    change: Callable[[CheckpointRecord], CheckpointRecord],
) -> CheckpointRecord:
    """Reads, changes and writes one checkpoint; makes it when missing."""
    before = read_checkpoint_in(transaction, account, conversation)
    after = change(before or new_checkpoint(account, conversation))
    transaction.object_store(CHECKPOINTS).put(after)
    return after


def read_checkpoint_in(
    transaction: Transaction, account: str, conversation: str
) -> CheckpointRecord | None:
    """One primary-key read inside a transaction over the checkpoints."""
    key = conversation_key(account, conversation)
    found = transaction.object_store(CHECKPOINTS).get(key).result
    return None if found is UNDEFINED else _whole(cast("CheckpointRecord", found))


def _whole(record: CheckpointRecord) -> CheckpointRecord:
    """What an older version did not write yet reads as of a conversation just met.

    On disk it stays as it is until it is changed (OT-12 to OT-14).
    """
    whole: dict[str, object] = {**record}
    for name, value in new_checkpoint("", "").items():
        if name not in _SCOPE and is_absent(field(whole, name)):
            whole[name] = value
    return cast("CheckpointRecord", whole)


def read_checkpoint(
    connection: Connection, account: str, conversation: str
) -> CheckpointRecord | None:
    """One conversation's checkpoint; None when it has none."""
    with reading(connection, [CHECKPOINTS]) as transaction:
        return read_checkpoint_in(transaction, account, conversation)


def update_checkpoint(
    connection: Connection,
    account: str,
    conversation: str,
    change: Callable[[CheckpointRecord], CheckpointRecord | None],
) -> CheckpointRecord | None:
    """Changes one existing checkpoint; gives it as written, None if nothing was.

    `change` gives None to leave it.
    """
    with writing(connection, [CHECKPOINTS]) as transaction:
        before = read_checkpoint_in(transaction, account, conversation)
        after = None if before is None else change(before)
        if after is not None:
            transaction.object_store(CHECKPOINTS).put(after)
        return after


def take_list(
    connection: Connection,
    account: str,
    conversations: Sequence[ListedConversation],
    listed_at_ms: int,
) -> list[str]:
    """Takes a part of the conversation list over, at most a few hundred.

    It writes bootstraps, and the activity times that only the list may give (OT-05);
    an activity time never moves backwards, also of a conversation that is named twice.
    Gives the conversations that have a checkpoint only now.
    """
    met: list[str] = []
    with writing(connection, [BOOTSTRAPS, CHECKPOINTS]) as transaction:
        latest: dict[str, object] = {}
        for listed in conversations:
            conversation = listed["conversationId"]
            bootstrap = {
                "key": conversation_key(account, conversation),
                "channelAccountId": account,
                **listed,
                "listedAtMs": listed_at_ms,
            }
            transaction.object_store(BOOTSTRAPS).put(bootstrap)
            known = latest.get(conversation)
            latest[conversation] = _later(
                None if is_absent(known) else known, field(listed, "latestMessageAtMs")
            )
        for conversation, at_ms in latest.items():
            before = read_checkpoint_in(transaction, account, conversation)
            if before is None:
                met.append(conversation)
            checkpoint = before or new_checkpoint(account, conversation)
            at_last = _later(checkpoint["latestMessageAtMs"], at_ms)
            if before is not None and before["latestMessageAtMs"] == at_last:
                continue  # as it was the last time: nothing is written for that
            after = {**checkpoint, "latestMessageAtMs": at_last}
            transaction.object_store(CHECKPOINTS).put(after)
    return met


def _later(left: object, right: object) -> object:
    if left is None or right is None:
        return right if is_absent(left) else left
    return greatest([left, right])


def checkpoints_of(
    connection: Connection, account: str
) -> Iterator[list[CheckpointRecord]]:
    """Every checkpoint of an account in key order, a page at a time.

    Each page is a transaction of its own, begun when it is asked for.
    """
    after: str | None = None
    while True:
        with reading(connection, [CHECKPOINTS]) as transaction:
            page = page_under(
                transaction,
                CHECKPOINTS,
                BY_ACCOUNT,
                account,
                {"after": after, "limit": PAGE},
                CheckpointRecord,
            )
        if page:
            yield [_whole(each) for each in page]
        if len(page) < PAGE:
            return
        after = page[-1]["key"]


def read_bootstraps(
    connection: Connection, keys: Sequence[str]
) -> list[BootstrapRecord | None]:
    """Bootstraps by primary key in the order asked; None where the list had none."""
    with reading(connection, [BOOTSTRAPS]) as transaction:
        store = transaction.object_store(BOOTSTRAPS)
        found = [store.get(key).result for key in keys]
    return [
        None if each is UNDEFINED else cast("BootstrapRecord", each) for each in found
    ]


def known_accounts(connection: Connection) -> list[str]:
    """The accounts that have any conversation here, at most `MAX_ACCOUNTS`."""
    with reading(connection, [CHECKPOINTS]) as transaction:
        return distinct_accounts(transaction, CHECKPOINTS, BY_ACCOUNT, MAX_ACCOUNTS)


def count_candidates(
    connection: Connection, account: str, status: CandidateStatus
) -> int:
    """How many candidates of an account are in one state."""
    with reading(connection, [CANDIDATES]) as transaction:
        return count_under(
            transaction, CANDIDATES, BY_ACCOUNT_STATUS, [account, status]
        )
