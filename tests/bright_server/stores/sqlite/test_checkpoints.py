"""The log is moved into the database beside the writer, and is bounded."""

from __future__ import annotations

import asyncio
import sqlite3

from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.sqlite.checkpoints import ROWS
from bright_server.stores.sqlite.store import SqliteStore
from tests.bright_server.stores.sqlite.works import batch, observed

DEADLINE_SECONDS = 30


async def test_what_is_committed_comes_into_the_database_while_the_writer_goes_on(
    store: SqliteStore, grant: Grant, settings: Settings
) -> None:
    file = settings.database_path
    began = file.stat().st_size
    half = ROWS // 2
    for first in (0, half):
        messages = [observed(first + number) for number in range(half)]
        assert file.stat().st_size == began, "it waits until there is something"
        await store.commit_group([batch(grant, *messages)])
    async with asyncio.timeout(DEADLINE_SECONDS):
        while file.stat().st_size < began + ROWS * 50:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.01)


async def test_the_writers_own_checkpoint_bounds_the_log(store: SqliteStore) -> None:
    def bound(database: sqlite3.Connection) -> int:
        (pages,) = database.execute("PRAGMA wal_autocheckpoint").fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(size)

    assert await store._writer.do(bound) == 67_108_864
