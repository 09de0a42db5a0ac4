"""The embedded store against the reference model, over random histories (MS-40)."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from bright_server.testing.state_machine import run_against_model
from tests.bright_server.stores.sqlite.under_test import SqliteUnderTest


def test_single_commits_behave_like_the_model(tmp_path: Path) -> None:
    numbers = count()

    def make() -> SqliteUnderTest:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return SqliteUnderTest(folder)

    run_against_model(make, examples=15, steps=25)
