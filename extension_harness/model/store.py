"""The store's verbs as steps: one transaction each, named as the extension names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extension_harness.model.steps import Behaviour, Json, Transact, Value
from storage_schema import UNDEFINED, Connection, Transaction
from storage_schema.onetalk import checkpoints as _checkpoints
from storage_schema.onetalk import keys as _keys
from storage_schema.onetalk import names as _names
from storage_schema.onetalk import reads as _reads
from storage_schema.onetalk import reoffers as _reoffers
from storage_schema.onetalk.deliveries import still_pending_in
from storage_schema.onetalk.transactions import reading, writing

Change = Callable[[Json], Json | None]


def verb(name: str, run: Callable[..., Any], *arguments: Value) -> Behaviour[Any]:
    """One verb of `storage_schema.onetalk` that is one transaction."""
    return (yield Transact(name, lambda connection: run(connection, *arguments)))


def update_checkpoint(
    account: str, conversation: str, change: Change
) -> Behaviour[Json | None]:
    """Changes one existing checkpoint; None when nothing was written."""
    run: Callable[..., Any] = _checkpoints.update_checkpoint
    changed: Json | None = yield from verb(
        "updateCheckpoint", run, account, conversation, change
    )
    return changed


class CheckpointPages:
    """Every checkpoint of an account, a page at a time, each in its own transaction."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._after: str | None = None
        self._is_over = False

    def next(self) -> Behaviour[list[Json] | None]:
        """The next page, never an empty one; None after the last."""
        if self._is_over:
            return None
        self._is_over = True  # also where the read fails: no page comes after that
        page: list[Json] = yield from verb(
            "checkpointsOf", _page_of, self._account, self._after
        )
        self._is_over = len(page) < _checkpoints.PAGE
        if not page:
            return None
        self._after = page[-1]["key"]
        return page


def reoffer(account: str, conversation: str | None) -> Behaviour[None]:
    """Makes confirmed candidates and conflicts pending again, in bounded steps."""
    index, scope = _names.BY_ACCOUNT_STATUS, [account]
    if conversation is not None:
        index = _names.BY_ACCOUNT_CONVERSATION_STATUS
        scope = [account, conversation]
    for status in ("confirmed", "anomaly"):
        step = _reoffers.REOFFER_STEP
        while step >= _reoffers.REOFFER_STEP:
            step = yield from verb(
                "reofferAll",
                _reoffers._reoffer_step,  # noqa: SLF001 - one transaction of the verb
                account,
                index,
                [*scope, status],
            )


def reoffer_ledgers(account: str, conversation: str | None) -> Behaviour[None]:
    """Makes pending again what Bright had of the other ledgers, in bounded steps."""
    if conversation is not None:
        key = _keys.conversation_key(account, conversation)
        yield from verb("reofferLedgers", _reoffer_one, key)
        scope = [account, conversation]
        index = _names.BY_ACCOUNT_CONVERSATION
        yield from _turn_under(_names.CARDS, index, scope)
        return
    yield from _turn_under(_names.PROFILES, _names.BY_ACCOUNT, account)
    confirmed = [account, "confirmed"]
    yield from _turn_under(_names.CARDS, _names.BY_ACCOUNT_STATUS, confirmed)
    pages = CheckpointPages(account)
    while page := (yield from pages.next()):
        yield from verb("turnFacts", _turn_facts, [each["key"] for each in page])


def _turn_under(store: str, index: str, key: str | list[str]) -> Behaviour[None]:
    after: str | None = None
    while True:
        found: list[Json] = yield from verb(
            "turnUnder", _turn_page, store, index, key, after
        )
        if len(found) < _reoffers.LEDGER_STEP:
            return
        after = found[-1]["key"]


def _turn_page(
    connection: Connection,
    store: str,
    index: str,
    key: str | list[str],
    after: str | None,
) -> list[Json]:
    is_card = store == _names.CARDS
    change = _reoffers._unconfirmed if is_card else _reoffers._untold  # noqa: SLF001
    page: Value = {"after": after, "limit": _reoffers.LEDGER_STEP}
    with writing(connection, [store]) as transaction:
        found: list[Value] = _reads.page_under(
            transaction, store, index, key, page, dict
        )
        for changed in filter(None, map(change, found)):
            transaction.object_store(store).put(changed)
    return found


def _turn_facts(connection: Connection, keys: list[str]) -> int:
    turn = _reoffers._turn  # noqa: SLF001 - one transaction of the verb
    unheard = _reoffers._unheard  # noqa: SLF001
    with writing(connection, [_names.BUYER_FACTS]) as transaction:
        return sum(turn(transaction, _names.BUYER_FACTS, key, unheard) for key in keys)


def _reoffer_one(connection: Connection, key: str) -> int:
    turn = _reoffers._turn  # noqa: SLF001 - one transaction of the verb
    with writing(connection, [_names.PROFILES, _names.BUYER_FACTS]) as transaction:
        untold, unheard = _reoffers._untold, _reoffers._unheard  # noqa: SLF001
        turned = turn(transaction, _names.PROFILES, key, untold)
        return turned + turn(transaction, _names.BUYER_FACTS, key, unheard)


def _page_of(connection: Connection, account: str, after: str | None) -> list[Json]:
    with reading(connection, [_names.CHECKPOINTS]) as transaction:
        page: list[Any] = _reads.page_under(
            transaction,
            _names.CHECKPOINTS,
            _names.BY_ACCOUNT,
            account,
            {"after": after, "limit": _checkpoints.PAGE},
            dict,
        )
    return [dict(_checkpoints._whole(each)) for each in page]  # noqa: SLF001 - the same reading of old records


def read_checkpoints(connection: Connection, scopes: list[tuple[str, str]]) -> Value:
    """Several checkpoints in one transaction; None where there is none."""
    with reading(connection, [_names.CHECKPOINTS]) as transaction:
        return [
            _checkpoints.read_checkpoint_in(transaction, *scope) for scope in scopes
        ]


def claimable(connection: Connection, account: str, conversation: str) -> Value:
    """The checkpoint when the conversation may be claimed now (OT-43); else None."""
    with reading(connection, [_names.CHECKPOINTS, _names.CANDIDATES]) as transaction:
        found: Value = _checkpoints.read_checkpoint_in(
            transaction, account, conversation
        )
        if found is None or not found["historyComplete"]:
            return None
        if found["phase"] != "uploading" or found["anchorState"] == "not_found":
            return None
        if found.get("isBehind") is True:
            return None
        return None if _is_pending(transaction, account, conversation) else found


def is_unknown(
    connection: Connection, account: str, conversation: str, message: str
) -> bool:
    """The message was never seen here."""
    key = _keys.message_key(account, conversation, message)
    with reading(connection, [_names.MESSAGES]) as transaction:
        store = transaction.object_store(_names.MESSAGES)
        return store.get_key(key).result is UNDEFINED


def complete(
    connection: Connection, account: str, conversation: str, latest_message_id: str
) -> Json | None:
    """The checkpoint completed by an anchor that proves what was claimed; else None."""
    stores = [_names.CHECKPOINTS, _names.CANDIDATES]
    with writing(connection, stores) as transaction:
        before: Value = _checkpoints.read_checkpoint_in(
            transaction, account, conversation
        )
        is_proof = (
            before is not None
            and before["phase"] == "uploading"
            and before["historyComplete"]
            and before["completionSent"]
            and before["latestMessageId"] == latest_message_id
        )
        if not is_proof or _is_pending(transaction, account, conversation):
            return None
        state = before["anchorState"]
        after: Json = {
            **before,
            "phase": "completed",
            "anchorMessageId": latest_message_id,
            "anchorState": "met" if before["syncMode"] == "incremental" else state,
            "result": None,
        }
        transaction.object_store(_names.CHECKPOINTS).put(after)
        return after


def _is_pending(transaction: Transaction, account: str, conversation: str) -> bool:
    return still_pending_in(transaction, account, conversation) > 0
