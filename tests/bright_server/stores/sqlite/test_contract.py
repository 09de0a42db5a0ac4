"""The embedded store keeps the contracts of stores and of commits over them (MS-40)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bright_server.testing.committer import CommitterContract
from bright_server.testing.message_store import MessageStoreContract
from tests.bright_server.stores.sqlite.under_test import SqliteUnderTest


@pytest.fixture
def stores(tmp_path: Path) -> SqliteUnderTest:
    return SqliteUnderTest(tmp_path)


class TestStore(MessageStoreContract):
    """The store itself."""


class TestCommitter(CommitterContract):
    """Commits over it."""
