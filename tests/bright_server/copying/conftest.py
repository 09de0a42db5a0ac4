"""Empty databases of every kind that a store can be copied from and into."""

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

Places: TypeAlias = Callable[[str], Settings]
"""Makes an empty database of a kind, and returns how it is reached."""


@pytest.fixture(scope="session")
def databases() -> Iterator[PostgresqlServer | GivenServer]:
    with postgresql_databases() as server:
        yield server


@pytest.fixture
def places(tmp_path: Path, request: pytest.FixtureRequest) -> Places:
    numbers = itertools.count()

    def empty(kind: str) -> Settings:
        if kind == "postgresql":
            database = request.getfixturevalue("databases").create_database()
            return Settings.model_validate({"database": database})
        assert kind == "sqlite"
        return Settings(database=tmp_path / f"{next(numbers)}.db", busy_timeout_ms=20)

    return empty
