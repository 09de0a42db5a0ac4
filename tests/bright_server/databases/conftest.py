"""Empty databases of every kind, on real servers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from bright_server.settings import Settings
from bright_server.testing.engines.postgresql import (
    GivenServer,
    PostgresqlServer,
    postgresql_databases,
)
from bright_server.testing.engines.valkey import Valkey, ValkeyOptions

DATABASES = 512

Places: TypeAlias = Callable[[str], Settings]
"""Makes an empty database of a kind, and returns how it is reached."""


@pytest.fixture(scope="session")
def databases() -> Iterator[PostgresqlServer | GivenServer]:
    with postgresql_databases() as server:
        yield server


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    folder = tmp_path_factory.mktemp("valkey") / "data"
    options = ValkeyOptions(extra={"databases": str(DATABASES)})
    with Valkey(folder, options) as server:
        yield server


_numbers = itertools.count()


@pytest.fixture
def places(tmp_path: Path, request: pytest.FixtureRequest) -> Places:
    def empty(kind: str) -> Settings:
        number = next(_numbers)
        if kind == "postgresql":
            database = request.getfixturevalue("databases").create_database()
            return Settings.model_validate({"database": database})
        if kind == "redis":
            port = request.getfixturevalue("valkey").port
            database = f"redis://127.0.0.1:{port}/{number % DATABASES}"
            return Settings.model_validate({"database": database})
        assert kind == "sqlite"
        return Settings(database=tmp_path / f"{number}.db", busy_timeout_ms=20)

    return empty
