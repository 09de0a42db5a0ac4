"""Observed groups in Redis have the outcomes that the embedded store has.

The very tests of that store run here, over a real server; those that are about a file
of SQLite are named, each with its reason.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from hypothesis import strategies as st

from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.redis.bindings import RedisBindings
from bright_server.stores.redis.dump import dump
from bright_server.stores.redis.store import RedisBackend, opened
from bright_server.testing.engines.valkey import Valkey
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite import (
    test_ledgers_model,
    test_store,
    test_store_conversations,
    test_store_ledgers,
    test_store_model,
)

NOT_HERE = {
    "test_a_store_that_cannot_be_written_says_so_and_a_locked_one_is_let_be": "a file",
    "test_bug_49_a_log_that_a_reader_has_pinned_is_cut_back_when_it_ends": "a file",
    "test_bug_20_another_writer_is_waited_for": "a file's lock",
    "test_waiting_for_another_writer_has_its_bound": "a file's lock",
    "test_bug_63_every_connection_is_power_safe": "a file's pragmas",
    "test_ms_15_a_probe_is_written_and_read_and_does_not_grow_the_file": "a file",
}
MODULES: list[ModuleType] = [test_store, test_store_conversations, test_store_ledgers]


class AsIfAFile(Settings):
    """Lets tests hand the address on where they hand on a file's path."""

    @property
    def database_path(self) -> Path:
        return cast("Path", self)


class Door:
    """One object with the doors of the embedded store."""

    def __init__(self, backend: RedisBackend) -> None:
        self.commit_group = backend.observations.commit_group
        self.read_probe = backend.observations.read_probe
        self.store_id = backend.observations.store_id
        self.bindings = backend.bindings
        self.messages = backend.messages


@asynccontextmanager
async def door_opened(settings: Settings, clock: ManualClock) -> AsyncIterator[Door]:
    async with opened(settings, clock) as backend:
        yield Door(backend)


@asynccontextmanager
async def bindings_opened(
    settings: Settings, clock: ManualClock
) -> AsyncIterator[RedisBindings]:
    async with opened(settings, clock) as backend:
        yield backend.bindings


def dumped(settings: Settings) -> list[dict[str, Any]]:
    """Every record, from within a running loop too."""

    async def collected() -> list[dict[str, Any]]:
        return [each async for each in dump(settings)]

    with ThreadPoolExecutor(1) as other:
        found = other.submit(asyncio.run, collected()).result()
    # They come conversation by conversation.
    return sorted(found, key=lambda each: each.get("position", 0))


def records(settings: Settings, kind: str) -> list[dict[str, Any]]:
    return [each for each in dumped(settings) if each["type"] == kind]


def the_tests() -> Iterator[Any]:
    for module in MODULES:
        for name, test in vars(module).items():
            if name.startswith("test_") and name not in NOT_HERE:
                for mark in getattr(test, "pytestmark", []):
                    (parameter, values) = mark.args
                    for value in values:
                        yield pytest.param(
                            test, {parameter: value}, id=f"{name}-{value}"
                        )
                if not getattr(test, "pytestmark", []):
                    yield pytest.param(test, {}, id=name)


@pytest.fixture
def settings(address: str) -> Settings:
    # One shard: positions are those of one log, as in a file.
    return AsIfAFile(database=address, redis_shards=1)


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [*MODULES, test_store_model, test_ledgers_model]:
        for name, value in (
            ("records", records),
            ("opened", door_opened),
            ("bindings_opened", bindings_opened),
            ("dump", dumped),
        ):
            monkeypatch.setattr(module, name, value, raising=False)


@pytest.mark.usefixtures("patched")
@pytest.mark.parametrize(("test", "given_values"), list(the_tests()))
async def test_like_the_embedded_store(
    test: Callable[..., Any],
    given_values: dict[str, Any],
    store: RedisBackend,
    grant: Grant,
    settings: Settings,
    clock: ManualClock,
) -> None:
    known: dict[str, Any] = {"store": Door(store), "grant": grant}
    known |= {"settings": settings, "clock": clock}
    wanted = inspect.signature(test).parameters
    await test(**{n: (known | given_values)[n] for n in wanted})


@pytest.mark.parametrize("module", [test_store_model, test_ledgers_model])
def test_ot_01_ot_81_and_ot_90_the_store_is_the_model(
    module: ModuleType, valkey: Valkey, patched: None, address: str
) -> None:
    """OT-01, OT-81, OT-90: over random groups, reopened in between."""
    shapes = getattr(module, "groups", None)
    if shapes is None:
        shapes = st.lists(module.work_lists, min_size=1, max_size=5)
    number = int(address.rpartition("/")[2])

    @given(shapes)
    @trying(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    def run(groups: list[list[object]]) -> None:
        valkey.empty(number)
        asyncio.run(module.check(AsIfAFile(database=address, redis_shards=1), groups))

    run()
