"""Room for a probe is no room for messages (MS-15).

SQLite's own bound of a file's pages is a disk that is full for all that needs a new
page, and has room for what is written over itself.
"""

from __future__ import annotations

import sqlite3

import pytest

from bright_server.commit.groups import BatchCommitted, NotStored, Probe, ProbeStored
from bright_server.errors import StoreUnavailable
from bright_server.messages import Grant
from bright_server.stores.sqlite.store import SqliteStore
from tests.bright_server.stores.sqlite.works import batch, observed


async def bound(store: SqliteStore, more_pages: int) -> None:
    """Let the file grow by so many pages and no more."""

    def pragma(database: sqlite3.Connection) -> None:
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count={pages + more_pages}")

    await store._writer.do(pragma)


async def test_ms_15_after_a_write_found_no_room_a_probe_has_to_find_some(
    store: SqliteStore, grant: Grant
) -> None:
    assert await store.commit_group([Probe(1)]) == [ProbeStored()]
    await store.commits.readiness()
    await bound(store, 20)
    with pytest.raises(StoreUnavailable, match="full"):
        await store.commit_group([batch(grant, observed(1, text="x" * 500_000))])

    # A small message may still be stored; the probe says what is in doubt.
    small, probe = await store.commit_group([batch(grant, observed(2)), Probe(2)])
    assert isinstance(small, BatchCommitted)
    assert isinstance(probe, NotStored)
    assert "full" in probe.reason
    with pytest.raises(StoreUnavailable, match="full"):
        await store.commits.readiness()

    await bound(store, 100_000)
    assert await store.commit_group([Probe(3)]) == [ProbeStored()]
    await store.commits.readiness()


async def test_ms_15_a_server_that_has_just_started_has_proven_no_room(
    store: SqliteStore,
) -> None:
    await bound(store, 20)
    [probe] = await store.commit_group([Probe(1)])
    assert isinstance(probe, NotStored)
    with pytest.raises(StoreUnavailable, match="full"):
        await store.commits.readiness()
