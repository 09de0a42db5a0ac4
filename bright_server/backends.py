"""Chooses the back end that the database's address names, and loads that one alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    aclosing,
    asynccontextmanager,
    closing,
    contextmanager,
)
from importlib import import_module
from types import ModuleType
from typing import Final

from bright_server.authorization.contract import BindingLedger
from bright_server.clock import Clock
from bright_server.commit.admission import AccountMembership
from bright_server.commit.backend import Backend
from bright_server.commit.groups import ObservationStore
from bright_server.commit.schema_steps import SchemaState
from bright_server.commit.transfer import StoreExport, StoreImport
from bright_server.database_address import (
    DatabaseAddress,
    InMemory,
    PostgresqlServer,
    RedisServer,
    SqliteFile,
)
from bright_server.errors import (
    ConfigurationError,
    CopyRefused,
    StoreMissing,
    StoreUnavailable,
)
from bright_server.messages import ConversationKey
from bright_server.settings import Settings

_FOLDERS: Final[dict[type[DatabaseAddress], str]] = {
    SqliteFile: "sqlite",
    InMemory: "memory",
    PostgresqlServer: "postgresql",
    RedisServer: "redis",
}
# Those whose driver comes with an extra of the same name.
_EXTRAS: Final = frozenset({"postgresql", "redis"})


@asynccontextmanager
async def opened(settings: Settings, clock: Clock) -> AsyncIterator[Backend]:
    """Hold the database of these settings open; see `BackendOpener`.

    Who is a member of a conversation is said by the bindings in the same database.

    Raises:
        MessageStoreError: it cannot be opened, and what to do.
        ConfigurationError: its driver is not installed.
    """
    membership = _OwnBindings()
    opening: AbstractAsyncContextManager[Backend] = _module(settings, "store").opened(
        settings, clock, membership
    )
    async with opening as backend:
        membership.bindings = backend.bindings
        yield backend


@asynccontextmanager
async def observations_opened(
    settings: Settings, clock: Clock, store_id: str | None
) -> AsyncIterator[ObservationStore]:
    """Hold only the door of observed groups open, in a process that has nothing else.

    The store may let the event loop stand still while it works. A file has to be the
    one that the server opened which started this process; another database has to have
    the store of this id, and none is made. Without an id it may be any, and is made.

    Raises:
        StoreMissing: there is none, and none is made.
        StoreUnavailable: it is another store by now.
        MessageStoreError: the database cannot be opened, and what to do.
        ConfigurationError: its driver is not installed.
    """
    if isinstance(settings.database, SqliteFile):
        alone = _module(settings, "store").opened
        # It may start again while the server runs: into no other file than before, and
        # none is made. Looked at again once it is open.
        refuse_exchanged = _module(settings, "lock").refuse_exchanged
        refuse_exchanged(settings.database_path)
        async with alone(settings, clock, holds_loop=True) as store:
            refuse_exchanged(settings.database_path)
            yield store.observations
        return
    if store_id is not None and not (await schema_state(settings)).version:
        raise StoreMissing(str(settings.database))
    async with opened(settings, clock) as backend:
        if store_id not in {None, backend.observations.store_id}:
            raise StoreUnavailable(
                f"open {settings.database}",
                "the database there is not the one that was opened: put it back, or"
                " start Bright again with the one that is there",
            )
        yield backend.observations


class _OwnBindings:
    """See `Membership`: by bindings that are there once the database is open."""

    bindings: BindingLedger | None = None

    async def is_member(self, actor: str, conversation: ConversationKey) -> bool:
        if self.bindings is None:
            return False
        return await AccountMembership(self.bindings).is_member(actor, conversation)


@asynccontextmanager
async def bindings_opened(
    settings: Settings, clock: Clock, *, make: bool = True
) -> AsyncIterator[BindingLedger]:
    """Open only the bindings, beside running servers or without one.

    Without `make` no database is made on a server that has none there; a file is made
    in any case.

    Raises:
        StoreMissing: there is none, and none is made.
        MessageStoreError: the database cannot be opened.
        ConfigurationError: it ends with this process, or its driver is not installed.
    """
    refuse_unshared(settings)
    if isinstance(settings.database, SqliteFile):
        only = _module(settings, "store").bindings_opened
        async with only(settings.database_path, clock) as bindings:
            yield bindings
        return
    if not make and not (await schema_state(settings)).version:
        raise StoreMissing(str(settings.database))
    async with opened(settings, clock) as backend:
        yield backend.bindings


@contextmanager
def held(settings: Settings) -> Iterator[int | None]:
    """Hold the database for this server alone, where it can have one server only.

    Yields the descriptor of a lock that a child may inherit; None: any number of
    servers may share the database.

    Raises:
        StoreInUse: another server has it, and did not let go in time.
        StoreUnavailable: it cannot be locked.
    """
    if not isinstance(settings.database, SqliteFile):
        yield None
        return
    database = settings.database_path
    make_room(settings)
    patience = settings.lock_patience_seconds
    with _module(settings, "lock").held(database, patience) as descriptor:
        yield descriptor


def make_room(settings: Settings) -> bool:
    """Make the folder of a database's file; say whether the file is yet to be made.

    Raises:
        StoreUnavailable: it cannot be made.
    """
    if not isinstance(settings.database, SqliteFile):
        return False
    database = settings.database_path
    is_new = not database.exists()
    _module(settings, "connection").make_folder(database)
    return is_new


def refuse_foreign(settings: Settings) -> None:
    """Refuse a file that is plainly no database, before anything is put beside it.

    Raises:
        SchemaRefused: it is such a file.
        StoreUnavailable: it cannot be read.
    """
    if isinstance(settings.database, SqliteFile):
        _module(settings, "connection").refuse_foreign(settings.database_path)


async def dump(settings: Settings) -> AsyncGenerator[dict[str, object], None]:
    """Yield every record of the store, its own first; changes nothing.

    Raises:
        StoreMissing: there is none.
        SchemaRefused: it is not for this Bright, or is a copy that is not finished.
        StoreUnavailable: it could not be read.
        ConfigurationError: it ends with this process, or its driver is not installed.
    """
    refuse_unshared(settings)
    # Closed here, whoever leaves in the middle: not some time later, by nobody.
    if isinstance(settings.database, SqliteFile):
        with closing(_module(settings, "dump").dump(settings.database_path)) as records:
            for record in records:
                yield record
        return
    async with aclosing(_module(settings, "dump").dump(settings)) as found:
        async for record in found:
            yield record


async def schema_state(settings: Settings) -> SchemaState:
    """See `SchemaSteps.schema_state`."""
    refuse_unshared(settings)
    state: SchemaState = await _module(settings, "schema").schema_state(settings)
    return state


async def step_forward(settings: Settings, clock: Clock) -> SchemaState:
    """See `SchemaSteps.step_forward`."""
    refuse_unshared(settings)
    schema = _module(settings, "schema")
    state: SchemaState = await schema.step_forward(settings, clock)
    return state


@asynccontextmanager
async def exporting(settings: Settings, clock: Clock) -> AsyncIterator[StoreExport]:
    """See `Exporter`.

    A store that an older Bright may open is not copied by it all the same: what it does
    not know would be left out, and not be missed as both are compared.

    Raises:
        CopyRefused: its schema is newer than what this Bright knows.
    """
    state = await schema_state(settings)
    known = int(_module(settings, "schema").SCHEMA_VERSION)
    if state.version > known:
        raise CopyRefused(
            "another store",
            f"{settings.database} has schema {state.version}, this Bright knows"
            f" {known} and would leave out what came since: copy it with a newer one",
        )
    export: AbstractAsyncContextManager[StoreExport] = _module(
        settings, "transfer"
    ).exporting(settings, clock)
    async with export as opened_export:
        yield opened_export


def can_be_held(settings: Settings) -> bool:
    """Say whether servers are kept off, or seen, while this database is read whole."""
    if isinstance(settings.database, SqliteFile):
        can: bool = _module(settings, "lock").can_be_held(settings.database_path)
        return can
    return isinstance(settings.database, PostgresqlServer)


def importing(
    settings: Settings, clock: Clock
) -> AbstractAsyncContextManager[StoreImport]:
    """See `Importer`."""
    refuse_unshared(settings)
    target: AbstractAsyncContextManager[StoreImport] = _module(
        settings, "transfer"
    ).importing(settings, clock)
    return target


def refuse_unshared(settings: Settings) -> None:
    """Refuse a database that no other process could see.

    Raises:
        ConfigurationError: it is such a one.
    """
    if isinstance(settings.database, InMemory):
        raise ConfigurationError(
            "memory: is a database of `bright serve` alone and ends with it: give"
            " another --database (or BRIGHT_DATABASE)"
        )


def _module(settings: Settings, name: str) -> ModuleType:
    """Return a module of the back end; what each has is in the contracts named above.

    Raises:
        ConfigurationError: its driver is not installed.
    """
    folder = _FOLDERS[type(settings.database)]
    try:
        return import_module(f"bright_server.stores.{folder}.{name}")
    except ModuleNotFoundError as error:
        if folder not in _EXTRAS or (error.name or "").startswith("bright_server"):
            raise
        raise ConfigurationError(
            f"{folder} needs the extra `{folder}`:"
            f" pip install 'bright-sync[{folder}]' ({error})"
        ) from error
