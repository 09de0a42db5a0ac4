"""A real Valkey for each worker, and a database of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bright_server.authorization.embedded import issue_binding
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.redis.store import RedisBackend, opened
from bright_server.testing.engines.valkey import (
    GivenServer,
    Valkey,
    ValkeyOptions,
    given_url,
    lent,
)
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock

DATABASES = 2_048


@pytest.fixture(scope="session")
def valkey(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Valkey | GivenServer]:
    """One server for all tests that do not harm it; the given one, if there is one."""
    url = given_url()
    if url is not None:
        with lent(url) as given:
            yield given
        return
    folder = tmp_path_factory.mktemp("valkey") / "data"
    options = ValkeyOptions(extra={"databases": str(DATABASES)})
    with Valkey(folder, options) as server:
        yield server


_numbers = itertools.count()


@pytest.fixture
def address(valkey: Valkey | GivenServer) -> Iterator[str]:
    """An empty database of the shared server; emptied again."""
    if isinstance(valkey, GivenServer):
        yield valkey.url
        valkey.empty(valkey.number)
        return
    number = next(_numbers) % DATABASES
    yield f"redis://127.0.0.1:{valkey.port}/{number}"
    valkey.empty(number)


@pytest.fixture
def settings(address: str) -> Settings:
    return Settings(database=address, redis_shards=8)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Valkey]:
    """A server that a test may kill, freeze and set up otherwise."""
    with Valkey(tmp_path / "valkey") as server:
        yield server


@pytest.fixture
async def store(settings: Settings, clock: ManualClock) -> AsyncIterator[RedisBackend]:
    async with opened(settings, clock) as backend:
        yield backend


@pytest.fixture
async def grant(settings: Settings, clock: ManualClock) -> Grant:
    """A valid grant for the account, its binding being in the store."""
    async with opened(settings, clock) as backend:
        issued = await issue_binding(
            backend.bindings, [ACCOUNT], "test", clock.now_ms()
        )
    binding = issued.binding
    return Grant(binding.binding_id, 1, frozenset(binding.accounts))
