"""Without the atomic step the inherited default keeps the contract (MS-24)."""

from __future__ import annotations

import pytest

from bright_server.testing.committer import CommitterContract
from bright_server.testing.message_store import MessageStoreContract
from bright_server.testing.two_step import TwoStepUnderTest
from tests.bright_server.stores.memory.under_test import MemoryUnderTest


class TestTwoStep(MessageStoreContract):
    @pytest.fixture
    def stores(self) -> TwoStepUnderTest:
        return TwoStepUnderTest(MemoryUnderTest())


class TestCommitterOverTwoStep(CommitterContract):
    @pytest.fixture
    def stores(self) -> TwoStepUnderTest:
        return TwoStepUnderTest(MemoryUnderTest())
