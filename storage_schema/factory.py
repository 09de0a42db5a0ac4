"""One origin's databases: "open a database connection", "delete a database".

Requests for one database run one after another. One that has to wait for other
connections to close stops there and goes on as soon as the last of them has closed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from storage_schema.connection import Blocking, Connection, Terminated
from storage_schema.conversions import MAX_SAFE, enforce_range, to_text
from storage_schema.database import Database, Hooks
from storage_schema.errors import AbortError, DomError, JsTypeError, VersionError
from storage_schema.names import in_order
from storage_schema.opening import OpenRequest
from storage_schema.reads import OnRead
from storage_schema.upgrade import Upgrade, run_upgrade
from storage_schema.values import UNDEFINED

Blocked: TypeAlias = Callable[[int, int | None], object]
_KILLED: Final = "the browser was killed"


class Factory:
    """``indexedDB`` of one origin.

    ``on_read`` hears of every read request that ran. Nothing is shared between
    factories.
    """

    def __init__(self, on_read: OnRead | None = None) -> None:
        self._hooks = Hooks(on_read)
        self._databases: dict[str, Database] = {}
        self._jobs: dict[str, deque[tuple[OpenRequest[Any], Iterator[None]]]] = {}
        self._running: set[str] = set()

    def open(
        self,
        name: object,
        version: object = None,
        *,
        upgrade: Upgrade | None = None,
        blocked: Blocked | None = None,
        blocking: Blocking | None = None,
        terminated: Terminated | None = None,
    ) -> OpenRequest[Connection]:
        """Open a database, making or upgrading it to ``version``.

        ``upgrade(connection, transaction, old, new)`` runs in the upgrade's
        transaction; what it raises aborts the upgrade and is the cause of the
        ``AbortError``. ``blocked(old, new)`` hears that other connections stay open.
        Later, ``blocking(old, new)`` hears that somebody else wants to upgrade (or to
        delete: ``new`` is None) and may close the connection, ``terminated()`` that the
        browser closed it. Raises ``JsTypeError`` for a version that is none.
        """
        wanted = None
        if version is not None and version is not UNDEFINED:
            wanted = enforce_range(version, MAX_SAFE, "a version")
            if wanted == 0:
                raise JsTypeError("a version must be above 0")
        request: OpenRequest[Connection] = OpenRequest(to_text(name), opens=True)

        def connect(database: Database) -> Connection:
            return Connection(database, blocking, terminated)

        job = self._open(request, wanted, upgrade, blocked, connect)
        self._queue(request, job)
        return request

    def delete_database(
        self, name: object, *, blocked: Blocked | None = None
    ) -> OpenRequest[int]:
        """Delete a database; the result is its version, 0 if there was none."""
        request: OpenRequest[int] = OpenRequest(to_text(name))
        self._queue(request, self._delete(request, blocked))
        return request

    def databases(self) -> dict[str, int]:
        """The databases there are, in order of name, each with its version."""
        found = {
            name: database.committed_version
            for name, database in self._databases.items()
            if database.committed_version
        }
        return {name: found[name] for name in in_order(found)}

    def database(self, name: str) -> Database | None:
        """What is stored under a name. For the model alone."""
        return self._databases.get(name)

    def fail_next_commit(self, error: DomError) -> None:
        """The next commit of a transaction that may write aborts with this error."""
        self._hooks.fail_next_commit(error)

    def terminate(self, name: str) -> None:
        """Close all connections to a database by force, as a browser can."""
        database = self._databases.get(name)
        if database is not None:
            database.terminate()

    def clear_site_data(self) -> None:
        """What a browser does when the user clears this site: close all, delete all.

        Opens that wait fail with ``AbortError``: there is nothing left to open. One
        that a ``terminated`` handler begins makes the database anew.
        """
        for jobs in self._jobs.values():
            for request, _ in jobs:
                if request.opens:
                    request.fail(AbortError("the site's data were cleared"))
        databases, self._databases = self._databases, {}
        for database in databases.values():
            database.terminate()

    def crash(self) -> Factory:
        """Kill the browser: gives a factory with what was committed, nothing else.

        Open transactions and upgrades are undone; no handler hears of it. This factory
        is empty afterwards.
        """
        survivor = Factory(self._hooks.on_read)
        for jobs in self._jobs.values():
            for request, _ in jobs:
                request.fail(AbortError(_KILLED))
        self._jobs.clear()
        databases, self._databases = self._databases, {}
        for database in databases.values():
            survivor._adopt(database)
        return survivor

    def _adopt(self, database: Database) -> None:
        for connection in database.connections:
            connection.is_open = False
        for transaction in list(database.live):
            transaction.end_with(AbortError(_KILLED))
        database.connections = []
        database.move_to(self._hooks, self._go_on)
        if database.committed_version:
            self._databases[database.name] = database

    def _queue(self, request: OpenRequest[Any], job: Iterator[None]) -> None:
        self._jobs.setdefault(request.name, deque()).append((request, job))
        self._go_on(request.name)

    def _go_on(self, name: str) -> None:
        """Run the requests of a database until one has to wait."""
        jobs = self._jobs.get(name)
        if not jobs or name in self._running:
            return
        self._running.add(name)
        try:
            while jobs:
                waits = False
                try:
                    for _ in jobs[0][1]:
                        waits = True
                        break
                finally:
                    if not waits and jobs:
                        jobs.popleft()
                if waits:
                    return
        finally:
            self._running.discard(name)

    def _open(
        self,
        request: OpenRequest[Connection],
        wanted: int | None,
        upgrade: Upgrade | None,
        blocked: Blocked | None,
        connect: Callable[[Database], Connection],
    ) -> Iterator[None]:
        """The algorithm "Open a database connection"; yields while it has to wait."""
        if request.state == "failed":  # its turn comes after the data were cleared
            return
        name = request.name
        database = self._databases.get(name)
        if database is None:
            database = Database(name, self._hooks, self._go_on)
            self._databases[name] = database
        old = database.version
        version = wanted or old or 1
        if old > version:
            request.fail(
                VersionError(
                    f"{name!r} has version {old}, newer than {version}: "
                    "use a program that knows it"
                )
            )
            return
        if old < version:
            yield from self._make_free(request, database, version, blocked)
            if self._databases.get(name) is not database:  # cleared while it waited
                return
        connection = connect(database)
        database.connections.append(connection)
        error = None
        if old < version:
            error = run_upgrade(connection, version, upgrade)
        if not database.version and self._databases.get(name) is database:
            del self._databases[name]
        if error is None:
            request.succeed(connection)
        else:
            request.fail(error)

    def _delete(
        self, request: OpenRequest[int], blocked: Blocked | None
    ) -> Iterator[None]:
        """The algorithm "Delete a database"; yields while it has to wait."""
        database = self._databases.get(request.name)
        if database is None:
            request.succeed(0)
            return
        yield from self._make_free(request, database, None, blocked)
        if self._databases.get(request.name) is database:
            del self._databases[request.name]
        request.succeed(database.version)

    def _make_free(
        self,
        request: OpenRequest[Connection] | OpenRequest[int],
        database: Database,
        new: int | None,
        blocked: Blocked | None,
    ) -> Iterator[None]:
        """Ask the other connections to close; yields until they have."""
        for other in list(database.connections):
            other.hear_of_upgrade(database.version, new)
        if database.connections:
            request.state = "blocked"
            if blocked is not None:
                blocked(database.version, new)
        while database.connections:
            yield
