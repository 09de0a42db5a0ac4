"""What the browser keeps whatever becomes of a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from extension_harness.model.errors import StoreError
from extension_harness.model.small_storage import SmallStorage
from extension_harness.model.steps import Json, Value
from migrations.onetalk import StoreNewerError, UpgradeFailedError, open_store
from storage_schema import Connection, DomError, Factory, StillBlockedError
from storage_schema.onetalk import DATABASE_NAME, OneTalkStoreError

Closed = Callable[[str], object]
"""Told why a connection was closed under its worker: `newer`, `deleted`, …"""


class Disk(SmallStorage):
    """The IndexedDB of the extension, and what the browser keeps beside it."""

    def __init__(
        self,
        local: Mapping[str, Any] | None = None,
        factory: Factory | None = None,
    ) -> None:
        super().__init__(local)
        self.factory = factory or Factory()
        self._connection: Connection | None = None
        self._closed: Closed | None = None

    def killed_browser(self) -> Disk:
        """What a killed browser leaves: committed records and the small storage."""
        return Disk(self.local, self.factory.crash())

    def begin_life(self, closed: Closed) -> None:
        """Another worker begins: the connection of the one before is gone with it."""
        self._closed = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._closed = closed

    @property
    def is_open(self) -> bool:
        """Whether the present worker has the store open."""
        return self._connection is not None

    def connection(self) -> Connection:
        """The present worker's connection, opened where it is not.

        Raises:
            StoreError: `store_newer`, `upgrade_failed`, `store_blocked`,
                `store_unavailable`.
        """
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def run(self, call: Callable[[Connection], Any]) -> Value:
        """One verb on the present worker's connection.

        Raises:
            StoreError: with the code that the extension gives it.
        """
        connection = self.connection()
        try:
            return call(connection)
        except OneTalkStoreError as cause:
            raise StoreError(cause.code, str(cause)) from cause

    def records(self, store: str) -> list[Json]:
        """All that a store holds, for whoever judges; none where there is no store."""
        if DATABASE_NAME not in self.factory.databases():
            return []
        connection = self.factory.open(DATABASE_NAME).result
        try:
            if store not in connection.object_store_names:
                return []
            with connection.transaction([store], "readonly") as transaction:
                found: Value = transaction.object_store(store).get_all().result
                return list(found)
        finally:
            connection.close()

    def _open(self) -> Connection:
        life = self._closed

        def lost(why: str) -> None:
            if self._closed is life and self._connection is not None:
                self._connection = None
                if life is not None:
                    life(why)

        def blocking(_old: int, new: int | None) -> None:
            connection = self._connection
            lost("deleted" if new is None else "newer")
            if connection is not None:
                connection.close()

        try:
            return open_store(
                self.factory, blocking=blocking, terminated=lambda: lost("terminated")
            )
        except StoreNewerError as cause:
            raise StoreError("store_newer", str(cause)) from cause
        except UpgradeFailedError as cause:
            raise StoreError("upgrade_failed", str(cause)) from cause
        except StillBlockedError as cause:
            raise StoreError("store_blocked", str(cause)) from cause
        except DomError as cause:
            code = "store_full" if _is_full(cause) else "store_unavailable"
            raise StoreError(code, str(cause)) from cause


def _is_full(error: DomError) -> bool:
    cause = error.__cause__
    return any(
        isinstance(each, DomError) and each.name == "QuotaExceededError"
        for each in (error, cause)
    )
