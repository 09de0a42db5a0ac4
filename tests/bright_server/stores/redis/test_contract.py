"""Redis keeps the contract of message stores and of the committer (MS-40)."""

from __future__ import annotations

import pytest

from bright_server.testing.committer import CommitterContract
from bright_server.testing.message_store import MessageStoreContract
from tests.bright_server.stores.redis.under_test import RedisUnderTest


class TestContract(MessageStoreContract):
    @pytest.fixture
    def stores(self, address: str) -> RedisUnderTest:
        return RedisUnderTest(address)


class TestCommitter(CommitterContract):
    @pytest.fixture
    def stores(self, address: str) -> RedisUnderTest:
        return RedisUnderTest(address)
