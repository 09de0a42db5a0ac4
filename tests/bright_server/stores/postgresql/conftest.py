"""A real PostgreSQL for each worker, and a database of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from bright_server.authorization.embedded import issue_binding
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.postgresql.dump import dump
from bright_server.stores.postgresql.store import PostgresqlBackend, opened
from bright_server.testing.engines.postgresql import (
    GivenServer,
    PostgresqlServer,
    postgresql_databases,
)
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.group_suite.works import Records
from tests.bright_server.stores.postgresql.under_test import PostgresqlUnderTest


@pytest.fixture(scope="session")
def databases() -> Iterator[PostgresqlServer | GivenServer]:
    """One server for all tests that do not harm it."""
    with postgresql_databases() as server:
        yield server


@pytest.fixture
def stores(
    databases: PostgresqlServer | GivenServer,
) -> Iterator[PostgresqlUnderTest]:
    """An empty database of the shared server."""
    with databases.lent_database() as address:
        yield PostgresqlUnderTest(address)


@pytest.fixture
def settings(stores: PostgresqlUnderTest) -> Settings:
    return stores.settings()


@pytest.fixture
def records(settings: Settings) -> Records:
    """Returns the records of one kind that a dump gives."""

    async def of(kind: str) -> list[dict[str, Any]]:
        return [each async for each in dump(settings) if each["type"] == kind]

    return of


@pytest.fixture
def own_server() -> Iterator[PostgresqlServer]:
    """A server that a test may kill, and set up otherwise."""
    with PostgresqlServer() as server:
        yield server


@pytest.fixture
async def backend(
    settings: Settings, clock: ManualClock
) -> AsyncIterator[PostgresqlBackend]:
    async with opened(settings, clock) as backend:
        yield backend


@pytest.fixture
async def grant(backend: PostgresqlBackend, clock: ManualClock) -> Grant:
    """A valid grant for the account, its binding being in the store."""
    issued = await issue_binding(backend.bindings, [ACCOUNT], "test", clock.now_ms())
    binding = issued.binding
    return Grant(binding.binding_id, 1, frozenset(binding.accounts))
