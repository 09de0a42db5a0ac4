"""Processes killed at every fault point, on a PostgreSQL that lives on (MS-40)."""

from __future__ import annotations

from bright_server.testing.crash.matrix import CrashMatrix


class TestCrashes(CrashMatrix):
    """See the suite; the fixture `stores` is in conftest."""
