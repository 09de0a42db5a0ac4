"""Fixtures of the server's tests: settings, a store on a real file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bright_server.authorization.embedded import issue_binding
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import SqliteStore, bindings_opened, opened
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.processes import create_binding


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where a test's database will be."""
    return tmp_path / "bright.db"


@pytest.fixture
async def token(database: Path) -> str:
    """The token of a binding in `database`, which is made for it."""
    return str((await create_binding(database))["token"])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(database=tmp_path / "bright.db", busy_timeout_ms=20)


@pytest.fixture
async def store(settings: Settings, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    async with opened(settings, clock) as store:
        yield store


@pytest.fixture
async def grant(settings: Settings, clock: ManualClock) -> Grant:
    """A valid grant for the account, its binding being in the store."""
    async with bindings_opened(settings.database_path, clock) as bindings:
        issued = await issue_binding(bindings, [ACCOUNT], "test", clock.now_ms())
    binding = issued.binding
    return Grant(binding.binding_id, 1, frozenset(binding.accounts))
