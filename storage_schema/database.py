"""A database as it is stored: its stores, its connections, its living transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from storage_schema.errors import ConstraintError, DomError
from storage_schema.reads import OnRead
from storage_schema.store_records import StoreRecords, UndoLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from storage_schema.connection import Connection
    from storage_schema.transaction import Transaction


class Hooks:
    """What a factory shares with its databases: who counts reads, what is to fail."""

    __slots__ = ("_commit_failure", "on_read")

    def __init__(self, on_read: OnRead | None) -> None:
        self.on_read = on_read
        self._commit_failure: DomError | None = None

    def fail_next_commit(self, error: DomError) -> None:
        """The next commit of a transaction that may write aborts with this error."""
        self._commit_failure = error

    def take_commit_failure(self) -> DomError | None:
        """The error that the commit asking for it aborts with."""
        failure, self._commit_failure = self._commit_failure, None
        return failure


class Database:
    """One database. ``version`` is 0 while it is being made."""

    __slots__ = (
        "_when_free",
        "committed_version",
        "connections",
        "hooks",
        "live",
        "name",
        "stores",
        "version",
    )

    def __init__(
        self, name: str, hooks: Hooks, when_free: Callable[[str], None]
    ) -> None:
        """``when_free`` hears the name whenever a connection has closed."""
        self.name = name
        self.version = 0
        self.committed_version = 0
        self.stores: dict[str, StoreRecords] = {}
        self.connections: list[Connection] = []
        self.live: list[Transaction] = []
        self.hooks = hooks
        self._when_free = when_free

    def move_to(self, hooks: Hooks, when_free: Callable[[str], None]) -> None:
        """Belong to another factory from now on."""
        self.hooks, self._when_free = hooks, when_free

    def may_start(self, transaction: Transaction) -> bool:
        """The algorithm "Transaction lifecycle": earlier ones that overlap first.

        Two that only read may overlap.
        """
        reads = transaction.mode == "readonly"
        for earlier in self.live:
            if earlier is transaction:
                return True
            if (reads and earlier.mode == "readonly") or earlier.is_finished:
                continue
            if not earlier.scope.keys().isdisjoint(transaction.scope.keys()):
                return False
        return True

    def has_finished(self, transaction: Transaction) -> None:
        """A transaction is over: start what waited for it, close what waited."""
        if transaction in self.live:
            self.live.remove(transaction)
        for waiting in list(self.live):
            if waiting.state == "committing" and self.may_start(waiting):
                waiting.finish()
        self.let_go()

    def let_go(self) -> None:
        """Drop the connections that are closed and have nothing left to do."""
        busy = {tx.connection for tx in self.live}
        open_ones = [c for c in self.connections if c.is_open or c in busy]
        if len(open_ones) < len(self.connections):
            self.connections = open_ones
            self._when_free(self.name)

    def terminate(self) -> None:
        """Close every connection by force."""
        for connection in list(self.connections):
            connection.terminate()

    def rename_store(self, records: StoreRecords, new: str, undo: UndoLog) -> None:
        """Rename a store; raises ``ConstraintError`` if the name is taken."""
        if new in self.stores:
            raise ConstraintError(f"there is an object store {new!r} already")
        old = records.name
        self.stores[new] = self.stores.pop(old)
        records.name = new
        undo.append((setattr, records, "name", old))
        undo.append((self.stores.__setitem__, old, records))
        undo.append((self.stores.pop, new))
