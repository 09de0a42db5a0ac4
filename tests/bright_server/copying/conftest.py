"""Empty databases of every kind that a store can be copied from and into."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from bright_server.settings import Settings

Places: TypeAlias = Callable[[str], Settings]
"""Makes an empty database of a kind, and returns how it is reached."""


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    numbers = itertools.count()

    def empty(kind: str) -> Settings:
        assert kind == "sqlite"
        return Settings(database=tmp_path / f"{next(numbers)}.db", busy_timeout_ms=20)

    yield empty
