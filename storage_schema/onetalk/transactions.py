"""One verb, one transaction, and the database's errors in the store's own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from storage_schema import Connection, DomError, QuotaExceededError, Transaction
from storage_schema.onetalk.errors import (
    StoreFullError,
    StoreReadFailedError,
    StoreWriteFailedError,
)


@contextmanager
def reading(connection: Connection, stores: Sequence[str]) -> Iterator[Transaction]:
    """One readonly transaction over `stores`.

    Raises:
        StoreReadFailedError: the database failed; the cause says how.
    """
    try:
        with connection.transaction(list(stores), "readonly") as transaction:
            yield transaction
    except DomError as cause:
        msg = f"The message store was not read: {cause}"
        raise StoreReadFailedError(msg) from cause


@contextmanager
def writing(connection: Connection, stores: Sequence[str]) -> Iterator[Transaction]:
    """One readwrite transaction over `stores`; after the block all of it is kept.

    Raises:
        StoreFullError: the quota was used up; nothing is kept.
        StoreWriteFailedError: the transaction was aborted; nothing is kept (OT-31).
    """
    try:
        with connection.transaction(list(stores), "readwrite") as transaction:
            yield transaction
    except QuotaExceededError as cause:
        msg = f"Nothing was recorded: the disk quota is used up ({cause}). Free space."
        raise StoreFullError(msg) from cause
    except DomError as cause:
        msg = f"Nothing was recorded: {cause}"
        raise StoreWriteFailedError(msg) from cause
