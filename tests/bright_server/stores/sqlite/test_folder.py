"""The folder of a new database is made so that a power cut does not take it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bright_server.stores.sqlite.connection import make_folder


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The inodes of the folders that were really synced."""
    inodes: set[int] = set()
    sync = os.fsync

    def noted(descriptor: int) -> None:
        inodes.add(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return inodes


def test_every_folder_that_got_a_new_one_is_synced(
    tmp_path: Path, synced: set[int]
) -> None:
    """OT-30: a name that is not on disk takes the database, and each ACK in it."""
    make_folder(tmp_path / "new" / "newer" / "bright.db")
    assert {tmp_path.stat().st_ino, (tmp_path / "new").stat().st_ino} <= synced


def test_folders_that_are_there_are_left_alone(
    tmp_path: Path, synced: set[int]
) -> None:
    make_folder(tmp_path / "bright.db")
    assert synced == set()
