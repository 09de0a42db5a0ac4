"""One store at version 10, and the reads that verbs made in it."""

from __future__ import annotations

import pytest

from migrations.onetalk import open_store
from storage_schema import Connection, Factory, Read


@pytest.fixture
def reads() -> list[Read]:
    """Every read request that ran, in order."""
    return []


@pytest.fixture
def factory(reads: list[Read]) -> Factory:
    return Factory(on_read=reads.append)


@pytest.fixture
def connection(factory: Factory, reads: list[Read]) -> Connection:
    opened = open_store(factory)
    reads.clear()
    return opened
