"""A store in a process that does nothing but write: it works on the loop's thread."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest

from bright_server.clock import SystemClock
from bright_server.messages import Grant
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import opened
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.works import batch, observed, told


@pytest.mark.parametrize("holds_loop", [True, False])
async def test_the_writer_works_on_the_thread_that_was_asked_for(
    settings: Settings,
    holds_loop: bool,
) -> None:
    async with opened(settings, ManualClock(), holds_loop=holds_loop) as store:
        thread = await store._writer.do(lambda _: threading.get_ident())
    assert (thread == threading.get_ident()) is holds_loop


async def test_between_two_tries_at_a_locked_database_the_loop_goes_on(
    settings: Settings, grant: Grant
) -> None:
    brief = settings.model_copy(
        update={"busy_timeout_ms": 1, "commit_patience_seconds": 5}
    )
    async with opened(brief, SystemClock(), holds_loop=True) as store:
        with closing(
            sqlite3.connect(settings.database_path, isolation_level=None)
        ) as other:
            other.execute("BEGIN IMMEDIATE")
            committing = asyncio.create_task(
                store.commit_group([batch(grant, observed(1))])
            )
            # Were the loop held from try to try, patience would end first.
            for _ in range(5):
                await asyncio.sleep(0)
            assert not committing.done()
            other.execute("ROLLBACK")
        (outcome,) = await committing
    assert told(outcome) == [("new", 1)]
