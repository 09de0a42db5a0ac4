"""The embedded store keeps every contract of a back end (MS-40)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bright_server.testing.committer import CommitterContract
from bright_server.testing.message_store import MessageStoreContract
from bright_server.testing.observation_store import ObservationContract
from tests.bright_server.stores.sqlite.under_test import SqliteUnderTest


@pytest.fixture
def stores(tmp_path: Path) -> SqliteUnderTest:
    return SqliteUnderTest(tmp_path)


class TestStore(MessageStoreContract):
    """Single commits, step by step."""


class TestCommitter(CommitterContract):
    """The committer over them."""


class TestObservations(ObservationContract):
    """Groups, ledgers and bindings."""
