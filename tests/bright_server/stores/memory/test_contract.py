"""The store in memory keeps the whole contract (MS-40)."""

from __future__ import annotations

import pytest

from bright_server.testing.committer import CommitterContract
from bright_server.testing.message_store import MessageStoreContract
from bright_server.testing.observation_store import ObservationContract
from tests.bright_server.stores.memory.under_test import MemoryUnderTest


class TestMemory(MessageStoreContract):
    @pytest.fixture
    def stores(self) -> MemoryUnderTest:
        return MemoryUnderTest()


class TestCommitterOverMemory(CommitterContract):
    @pytest.fixture
    def stores(self) -> MemoryUnderTest:
        return MemoryUnderTest()


class TestObservationsInMemory(ObservationContract):
    @pytest.fixture
    def stores(self) -> MemoryUnderTest:
        return MemoryUnderTest()
