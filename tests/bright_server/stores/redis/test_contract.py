"""Redis keeps the contract of message stores and of the committer (MS-40)."""

from __future__ import annotations

import pytest

from bright_server.testing.committer import CommitterContract
from bright_server.testing.crash.matrix import CrashMatrix
from bright_server.testing.engines.valkey import Valkey
from bright_server.testing.message_store import MessageStoreContract
from bright_server.testing.observation_store import ObservationContract
from bright_server.testing.state_machine import run_against_model
from tests.bright_server.stores.redis.under_test import RedisUnderTest


class TestContract(MessageStoreContract):
    @pytest.fixture
    def stores(self, address: str) -> RedisUnderTest:
        return RedisUnderTest(address)


class TestObservations(ObservationContract):
    @pytest.fixture
    def stores(self, address: str) -> RedisUnderTest:
        return RedisUnderTest(address)


class TestCommitter(CommitterContract):
    @pytest.fixture
    def stores(self, address: str) -> RedisUnderTest:
        return RedisUnderTest(address)


class TestCrashes(CrashMatrix):
    @pytest.fixture
    def stores(self, address: str) -> RedisUnderTest:
        return RedisUnderTest(address)


def test_ms_40_it_is_the_reference_model(valkey: Valkey, address: str) -> None:
    """MS-40: whatever is done to it in whatever order."""
    number = int(address.rpartition("/")[2])

    def make() -> RedisUnderTest:
        valkey.empty(number)
        return RedisUnderTest(address)

    run_against_model(make, examples=5, steps=25)
