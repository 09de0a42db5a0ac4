"""What the OneTalk store refuses, with the codes that the extension uses for the same.

    StorageModelError
    └── OneTalkStoreError          `code`: stable, snake_case
        ├── IndexMissingError      a read whose index is not there never scans (OT-17)
        ├── ScopeMissingError      a read of a scope without an account (OT-17)
        ├── StoreFullError         the quota was used up; nothing of the write is kept
        ├── StoreWriteFailedError  a write ended otherwise; nothing of it is kept
        └── StoreReadFailedError   a read ended in an error of the database

The cause, where there is one, is the model's `DomError`.
"""

from __future__ import annotations

from typing import ClassVar

from storage_schema.errors import StorageModelError


class OneTalkStoreError(StorageModelError):
    """A verb of the store failed; what it would have written is not there (OT-31)."""

    code: ClassVar[str] = "store_failed"


class IndexMissingError(OneTalkStoreError):
    """The index of a bounded read does not exist: the database was not upgraded."""

    code = "index_missing"

    def __init__(self, store: str, index: str) -> None:
        super().__init__(
            f"{store} has no index {index}. Open the database through its upgrades; "
            "a read never falls back to the whole store."
        )
        self.store = store
        self.index = index


class ScopeMissingError(OneTalkStoreError):
    """A bounded read named no account: it must be text and not empty."""

    code = "scope_missing"

    def __init__(self, account: object) -> None:
        super().__init__(
            f"A read of the message store names no account (it has {account!r}). "
            "Pass the account's id."
        )
        self.account = account


class StoreFullError(OneTalkStoreError):
    """The quota was used up as the transaction committed."""

    code = "store_full"


class StoreWriteFailedError(OneTalkStoreError):
    """A readwrite transaction was aborted by an error of the database."""

    code = "store_write_failed"


class StoreReadFailedError(OneTalkStoreError):
    """A readonly transaction ended in an error of the database."""

    code = "store_read_failed"
