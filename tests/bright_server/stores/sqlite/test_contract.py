"""The embedded store keeps the contract of message stores (MS-40)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bright_server.testing.message_store import MessageStoreContract
from tests.bright_server.stores.sqlite.under_test import SqliteUnderTest


class TestContract(MessageStoreContract):
    @pytest.fixture
    def stores(self, tmp_path: Path) -> SqliteUnderTest:
        return SqliteUnderTest(tmp_path)
