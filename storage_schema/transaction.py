"""Transactions: life cycle, "commit a transaction" and "abort a transaction".

A transaction's requests wait in its queue and run in order, as far as somebody asks for
a result, and the rest at its end. What they change is written down in an undo log.
"""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from storage_schema.conversions import to_text
from storage_schema.errors import (
    AbortError,
    DomError,
    InvalidStateError,
    NotFoundError,
    StillWaitingError,
    TransactionInactiveError,
    UnknownError,
)
from storage_schema.object_store import ObjectStore
from storage_schema.requests import PENDING, BulkRequest, Request, SchemaRequest
from storage_schema.store_records import StoreRecords, UndoLog

if TYPE_CHECKING:
    from storage_schema.connection import Connection

Mode: TypeAlias = Literal["readonly", "readwrite", "versionchange"]
State: TypeAlias = Literal["active", "committing", "finished"]
_GONE: Final = "the transaction was aborted"


class Transaction:
    """A transaction; as a context it commits at the end, or aborts on an exception."""

    __slots__ = (
        "_failure",
        "_handles",
        "_started",
        "connection",
        "error",
        "has_aborted",
        "mode",
        "queue",
        "ran",
        "scope",
        "state",
        "undo",
    )

    def __init__(
        self, connection: Connection, scope: dict[str, StoreRecords], mode: Mode
    ) -> None:
        """For ``Connection`` alone: ``scope`` are the stores in reach, by name."""
        self.connection = connection
        self.scope = scope
        self.mode: Mode = mode
        self.state: State = "active"
        self.error: DomError | None = None
        self.has_aborted = False
        self.undo: UndoLog = []
        self._failure: DomError | None = None
        self._handles: dict[StoreRecords, ObjectStore] = {}
        self.queue: deque[Request[Any]] = deque()
        self.ran = 0  # how many requests did, that being the number of the latest
        self._started = False

    def object_store(self, name: object) -> ObjectStore:
        """The store's handle in this transaction.

        Raises ``InvalidStateError`` after ``abort`` or ``commit``, ``NotFoundError``
        for a store that is not in scope.
        """
        text = to_text(name)
        if self.state != "active":
            raise InvalidStateError("the transaction is over")
        records = self.scope.get(text)
        if records is None:
            raise NotFoundError(f"there is no object store {name!r} in scope")
        handle = self._handles.get(records)
        if handle is None:
            handle = self._handles[records] = ObjectStore(self, records)
        return handle

    def check_active(self) -> None:
        """Raises ``TransactionInactiveError`` unless requests are taken."""
        if self.state != "active":
            raise TransactionInactiveError("the transaction takes no more requests")

    def add(self, request: Request[Any]) -> None:
        """Queue a request. For the handles alone."""
        self.queue.append(request)

    def run_to(self, request: Request[Any]) -> None:
        """Run what is queued up to this request. For requests alone."""
        self._start()
        queue = self.queue
        while queue:
            first = queue.popleft()
            self.ran += 1
            error = first.run()
            if error is not None:
                self._failed(first, error)
            if request.state != PENDING:
                return

    def abort(self) -> None:
        """Undo all that this transaction did; ``InvalidStateError`` if too late."""
        if self.state != "active":
            raise InvalidStateError("the transaction is over already")
        self.end_with(None)

    def commit(self) -> None:
        """Take no more requests and finish as soon as this transaction may.

        A request that fails from here on aborts the transaction when all have run.
        Raises ``InvalidStateError`` if the transaction is over; see ``error`` for
        whether it came through.
        """
        if self.state != "active":
            raise InvalidStateError("the transaction is over already")
        self.state = "committing"
        if self.connection.database.may_start(self):
            self.finish()

    def finish(self) -> None:
        """Run all requests and commit; ``error`` tells whether that worked.

        Raises ``StillWaitingError`` if it may not start; it will finish by itself then.
        """
        if self.state == "finished":
            return
        if not self._started and not self.connection.database.may_start(self):
            self.state = "committing"
        self._start()
        queue = self.queue
        while queue:
            first = queue.popleft()
            self.ran += 1
            error = first.run()
            if error is not None:
                self._failed(first, error)
        if self.is_finished:
            return
        self.state = "committing"
        failure = self._failure
        if failure is None and self.mode != "readonly":
            failure = self.connection.database.hooks.take_commit_failure()
        if failure is not None:
            self.end_with(failure)
            return
        self.state = "finished"
        self.undo.clear()
        self.connection.database.has_finished(self)

    @property
    def is_finished(self) -> bool:
        """Whether the transaction committed or aborted."""
        return self.state == "finished"

    def end_with(self, error: DomError | None) -> None:
        """Abort with this error. For the model alone."""
        if self.state == "finished":
            return
        self.state = "finished"
        self.error = error
        self.has_aborted = True
        for work, *arguments in reversed(self.undo):
            work(*arguments)
        self.undo.clear()
        while self.queue:
            lost = AbortError(_GONE)
            lost.__cause__ = error
            self.queue.popleft().fail(lost)
        self.connection.database.has_finished(self)

    def _failed(self, request: Request[Any], error: DomError) -> None:
        if self.state == "committing":
            known = self._failure
            if request.is_prevented:
                self._failure = known or _after_commit()
            elif known is None or isinstance(known, UnknownError):
                self._failure = error
        elif not request.is_prevented:
            if isinstance(request, SchemaRequest):
                self._fail_with_index(error)
            else:
                self.end_with(error)

    def _fail_with_index(self, failure: DomError) -> None:
        """As in Chromium: bulk reads behind an index that fails hear another error.

        They hear it first, too: what the first of them that is not prevented hears
        becomes the transaction's own error. If all of them are prevented, the program
        can issue something yet, until its next request hears of the abort.
        """
        reads = [one for one in self.queue if isinstance(one, BulkRequest)]
        for read in reads:
            error = InvalidStateError("an index before this read could not be filled")
            read.fail(error)
            self.queue.remove(read)
            if not read.is_prevented:
                self.end_with(error)
                return
        if reads:
            self.queue.appendleft(Request(self, _raise, failure))
        else:
            self.end_with(failure)

    def _start(self) -> None:
        if not self._started:
            if not self.connection.database.may_start(self):
                raise StillWaitingError(
                    "an earlier transaction with overlapping scope is not over yet"
                )
            self._started = True

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.end_with(None)
            return
        self.finish()
        if self.error is not None:
            raise self.error


def _raise(error: DomError) -> None:
    raise error


def _after_commit() -> DomError:
    """As in Chromium: behind ``commit()`` a caught failure aborts all the same."""
    return UnknownError("a request failed after commit() was called")
