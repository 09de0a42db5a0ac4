"""Both authorities behind one face, for tests of what every authority promises."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Protocol

from bright_server.authorization.contract import Authority
from bright_server.authorization.embedded import EmbeddedAuthority, issue_binding
from bright_server.clock import SystemClock
from bright_server.messages import BindingId
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import bindings_opened
from tests.bright_server.authorization.services import (
    Service,
    asking_it,
    service_running,
)


class Operator(Protocol):
    """Who says which bindings there are; never the one that is asked."""

    async def issue(self, *accounts: str) -> tuple[str, str]:
        """Make a binding; return its token and its id."""
        ...

    async def revoke(self, binding_id: str) -> None: ...

    async def raise_version(self, binding_id: str) -> None:
        """Let the authorization of a binding be another one."""
        ...


class DatabaseOperator:
    """Bindings in Bright's database, changed beside a running server."""

    def __init__(self, database: Path) -> None:
        self._database = database

    async def issue(self, *accounts: str) -> tuple[str, str]:
        async with bindings_opened(self._database, SystemClock()) as ledger:
            issued = await issue_binding(ledger, accounts, "test", 1)
        return issued.token, issued.binding.binding_id

    async def revoke(self, binding_id: str) -> None:
        async with bindings_opened(self._database, SystemClock()) as ledger:
            await ledger.revoke(BindingId(binding_id), 2)

    async def raise_version(self, binding_id: str) -> None:
        with closing(sqlite3.connect(self._database)) as database, database:
            database.execute(
                "UPDATE binding SET authorization_version = authorization_version + 1"
                " WHERE binding_id = ?",
                (binding_id,),
            )


class ServiceOperator:
    """Bindings of the service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def issue(self, *accounts: str) -> tuple[str, str]:
        return self._service.issue(*accounts)

    async def revoke(self, binding_id: str) -> None:
        self._service.revoke(binding_id)

    async def raise_version(self, binding_id: str) -> None:
        self._service.change(binding_id, authorizationVersion=2)


@asynccontextmanager
async def embedded(settings: Settings) -> AsyncIterator[tuple[Authority, Operator]]:
    async with bindings_opened(settings.database_path, SystemClock()) as ledger:
        yield EmbeddedAuthority(ledger, 2), DatabaseOperator(settings.database_path)


@asynccontextmanager
async def remote(settings: Settings) -> AsyncIterator[tuple[Authority, Operator]]:
    async with (
        service_running(settings.database_path.parent / "service") as service,
        asking_it(service) as authority,
    ):
        yield authority, ServiceOperator(service)


BACK_ENDS = {"embedded": embedded, "remote": remote}
