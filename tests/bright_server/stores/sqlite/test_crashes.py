"""Every fault point of a commit over the embedded store, by SIGKILL (MS-40)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bright_server.testing.crash.matrix import CrashMatrix
from tests.bright_server.stores.sqlite.under_test import SqliteUnderTest


class TestCrashes(CrashMatrix):
    @pytest.fixture
    def stores(self, tmp_path: Path) -> SqliteUnderTest:
        return SqliteUnderTest(tmp_path)
