"""Bounded reads through an index; none reads a whole store (OT-17).

``kind`` names the record that the store holds. It is for the type checker, which cannot
tell from a store's name; nothing is checked when it runs, since records of another
version may lack fields.
"""

from __future__ import annotations

from typing import TypeVar, cast

from storage_schema import Index, KeyRange, Transaction, compare
from storage_schema.onetalk.arguments import Page
from storage_schema.onetalk.errors import IndexMissingError, ScopeMissingError
from storage_schema.onetalk.javascript import text_of

R = TypeVar("R")

Scope = str | list[str]
"""One index key: an account, or an account with what follows it."""


def only_under(key: Scope) -> KeyRange:
    """The range of one index key, whose first part is an account.

    Every read goes through it: without an account it would be one over all of them, or
    over nothing (OT-17).

    Raises:
        ScopeMissingError: the account is empty or not text.
    """
    _require_account(key[0] if isinstance(key, list) else key)
    return KeyRange.only(key)


def account_prefix(account: str) -> KeyRange:
    """The range of every index key that begins with an account (OT-19).

    Numbers, dates, texts and binary after the account come before `[account, []]`.

    Raises:
        ScopeMissingError: the account is empty or not text.
    """
    _require_account(account)
    return KeyRange.bound([account], [account, []])


def _require_account(account: object) -> None:
    if not isinstance(account, str) or account == "":
        raise ScopeMissingError(account)


def index_of(transaction: Transaction, store: str, index: str) -> Index:
    """An index that has to be there.

    Raises:
        IndexMissingError: a read without its index fails, it never scans.
    """
    opened = transaction.object_store(store)
    if index not in opened.index_names:
        raise IndexMissingError(store, index)
    return opened.index(index)


def first_under(
    transaction: Transaction,
    store: str,
    index: str,
    key: Scope,
    limit: int,
    kind: type[R],
) -> list[R]:
    """The first records under one index key, in primary-key order."""
    opened = index_of(transaction, store, index)
    return cast("list[R]", opened.get_all(only_under(key), limit).result)


def first_of_account(
    transaction: Transaction,
    store: str,
    index: str,
    account: str,
    limit: int,
    kind: type[R],
) -> list[R]:
    """The first records whose index key begins with an account, in index order."""
    opened = index_of(transaction, store, index)
    return cast("list[R]", opened.get_all(account_prefix(account), limit).result)


def count_under(transaction: Transaction, store: str, index: str, key: Scope) -> int:
    """How many entries one index key has."""
    opened = index_of(transaction, store, index)
    return opened.count(only_under(key)).result


def keys_under(
    transaction: Transaction, store: str, index: str, key: Scope
) -> list[object]:
    """The primary keys of all records under one index key (OT-20)."""
    opened = index_of(transaction, store, index)
    return list(opened.get_all_keys(only_under(key)).result)


def page_under(
    transaction: Transaction,
    store: str,
    index: str,
    key: Scope,
    page: Page,
    kind: type[R],
) -> list[R]:
    """Up to `limit` records under one index key with a primary key after `after`."""
    found: list[R] = []
    after = page["after"]
    opened = index_of(transaction, store, index)
    cursor = opened.open_cursor(only_under(key)).result
    if cursor is not None and after is not None:
        if compare(cursor.primary_key, after) < 0:
            cursor = cursor.continue_primary_key(key, after).result
        while cursor is not None and compare(cursor.primary_key, after) <= 0:
            cursor = cursor.continue_().result
    while cursor is not None:
        found.append(cast("R", cursor.value))
        if len(found) >= page["limit"]:
            break
        cursor = cursor.continue_().result
    return found


def distinct_accounts(
    transaction: Transaction, store: str, index: str, at_most: int
) -> list[str]:
    """The first accounts of an index by account: a step of a key cursor each."""
    accounts: list[str] = []
    opened = index_of(transaction, store, index)
    while len(accounts) < at_most:
        last = accounts[-1] if accounts else ""
        beyond = KeyRange.lower_bound(last, open=True)
        cursor = opened.open_key_cursor(beyond).result
        if cursor is None:
            break
        accounts.append(text_of(cursor.key))
    return accounts
