"""Lost replies over the store in memory; it has no process to outlive (MS-40)."""

from __future__ import annotations

import pytest

from bright_server.testing.crash.matrix import CrashMatrix
from tests.bright_server.stores.memory.under_test import MemoryUnderTest


class TestCrashes(CrashMatrix):
    kills = False

    @pytest.fixture
    def stores(self) -> MemoryUnderTest:
        return MemoryUnderTest()
