"""A file that is taken away under its store: nothing is told to be stored any more.

The connections notice nothing of it. What they write is gone when they are closed.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bright_server.commit.groups import Probe, ProbeStored
from bright_server.errors import PublicationNotDurable, StoreUnavailable
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import SqliteStore, opened
from bright_server.testing.sends import Everybody, sending
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.works import batch, observed, records

FOUND = "is not the one that was opened"


def removed(database: Path) -> None:
    database.unlink()


def replaced(database: Path) -> None:
    """By a whole copy of it, even."""
    copy = database.with_name("copy.db")
    shutil.copyfile(database, copy)
    copy.replace(database)


def turned(database: Path) -> None:
    """Its path is a link, which leads elsewhere now."""
    other = database.with_name("other.db")
    shutil.copyfile(database, other)
    link = database.with_name("link")
    link.symlink_to(other)
    link.replace(database)


def log_of(database: Path) -> Path:
    real = database.resolve()
    return real.with_name(real.name + "-wal")


def log_removed(database: Path) -> None:
    log_of(database).unlink()


def log_replaced(database: Path) -> None:
    replaced(log_of(database))


ways = pytest.mark.parametrize(
    "take_away", [removed, replaced, turned, log_removed, log_replaced]
)


def open_without_a_name(database: Path) -> Iterator[tuple[Path, str]]:
    """What this process holds open of a database that was removed: file and log."""
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found = str(descriptor.readlink())
            for ending in ("", "-wal"):
                if found == f"{database}{ending} (deleted)":
                    yield descriptor, ending


@ways
@pytest.mark.parametrize("holds_loop", [True, False])
async def test_ms_27_nothing_is_acked_that_went_into_a_file_without_a_name(
    take_away: Callable[[Path], None],
    holds_loop: bool,
    settings: Settings,
    grant: Grant,
    clock: ManualClock,
) -> None:
    """MS-15, MS-27: no group, no single step, and what was there is not read as it."""
    if take_away is turned:
        real = settings.database_path.with_name("real.db")
        settings.database_path.rename(real)
        settings.database_path.symlink_to(real)
    async with opened(settings, clock, Everybody(), holds_loop=holds_loop) as store:
        await store.commit_group([batch(grant, observed(1)), Probe(1)])
        await store.commits.readiness()
        take_away(settings.database_path)

        for work in (batch(grant, observed(2)), Probe(2)):
            with pytest.raises(StoreUnavailable, match=FOUND) as told:
                await store.commit_group([work])
            assert "docs/operate.md" in told.value.reason
        with pytest.raises(StoreUnavailable, match=FOUND):
            await store.commits.readiness()
        with pytest.raises(StoreUnavailable, match=FOUND):
            await store.commits.load_commit_for_request(sending())
        with pytest.raises(StoreUnavailable, match=FOUND):
            await store.read_probe()
        with pytest.raises(PublicationNotDurable, match=FOUND):
            await store.publisher.readiness()


async def test_ms_27_what_is_taken_away_before_the_answer_is_found_too(
    settings: Settings, store: SqliteStore
) -> None:
    def step(database: sqlite3.Connection) -> str:
        settings.database_path.unlink()
        return "done"

    with pytest.raises(StoreUnavailable, match=FOUND):
        await store._steps(step)


async def test_ms_15_one_that_is_put_back_is_trusted_by_the_next_start_only(
    settings: Settings, grant: Grant, clock: ManualClock
) -> None:
    """Nobody knows what was written into it meanwhile."""
    database = settings.database_path
    away = database.with_name("away.db")
    async with opened(settings, clock) as store:
        database.rename(away)
        with pytest.raises(StoreUnavailable, match=FOUND):
            await store.commit_group([Probe(1)])
        away.rename(database)
        with pytest.raises(StoreUnavailable, match=FOUND):
            await store.commit_group([Probe(1)])

    async with opened(settings, clock) as store:
        assert await store.commit_group([Probe(1)]) == [ProbeStored()]


async def test_the_way_out_saves_what_only_the_server_holds(
    settings: Settings, grant: Grant, clock: ManualClock, tmp_path: Path
) -> None:
    """As docs/operate.md tells it: both files are copied from the open descriptors."""
    database = settings.database_path
    saved = tmp_path / "saved.db"
    async with opened(settings, clock) as store:
        await store.commit_group([batch(grant, observed(1), observed(2))])
        for path in (database, log_of(database)):
            path.unlink()
        for descriptor, ending in open_without_a_name(database):
            shutil.copyfile(descriptor, f"{saved}{ending}")

    assert len(records(Settings(database=saved), "message")) == 2
