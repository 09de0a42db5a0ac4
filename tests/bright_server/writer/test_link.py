"""The writer's process commits, dies, comes back and ends, and loses no work."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from bright_server.commit.group_committer import GroupReport
from bright_server.commit.groups import BatchCommitted, NotStored, ObservedBatch
from bright_server.database_address import SqliteFile
from bright_server.errors import (
    CommitterStopped,
    Overloaded,
    StoreInUse,
    StoreUnavailable,
)
from bright_server.messages import (
    ConversationKey,
    Grant,
    ObservedMessage,
    ObservedMessages,
)
from bright_server.settings import Settings
from bright_server.stores.sqlite import lock
from bright_server.writer.link import WriterLink, linked
from tests.bright_server.frames import ACCOUNT, CONVERSATION

DEADLINE_SECONDS = 20


class Reports:
    """Remembers every group that it is told of."""

    def __init__(self) -> None:
        self.groups: list[GroupReport] = []

    def group_committed(self, report: GroupReport) -> None:
        self.groups.append(report)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(database=tmp_path / "bright.db", writer_restart_seconds=0.01)


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
async def link(
    settings: Settings, reports: Reports, grant: Grant
) -> AsyncIterator[WriterLink]:
    with lock.held(settings.database_path) as descriptor:
        async with linked(settings, reports, descriptor) as link:
            yield link


def batch(grant: Grant, *numbers: int) -> ObservedBatch:
    messages = [
        ObservedMessage(
            str(number), "2", "inbound", number, "text", "hi",
            None, None, None, None,
        )
        for number in numbers
    ]  # fmt: skip
    key = ConversationKey(ACCOUNT, CONVERSATION)
    return ObservedBatch(grant, key, 1, ObservedMessages.of(messages))


def stored_ids(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT message_id FROM message ORDER BY position")
        return [row[0] for row in rows]


def writer() -> psutil.Process:
    children = psutil.Process().children()
    (process,) = [
        one for one in children if "bright_server.writer" in str(one.cmdline())
    ]
    return process


async def killed(link: WriterLink) -> None:
    """Kill the process, and wait until another one is ready."""
    writer().kill()
    async with asyncio.timeout(DEADLINE_SECONDS):
        while link.ready.is_set():  # noqa: ASYNC110 - an event tells only of being set
            await asyncio.sleep(0.01)
        await link.ready.wait()


@contextmanager
def no_files_left() -> Iterator[None]:
    """Let this process open no further file, so that it starts no other process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def write_locked(database: Path) -> Iterator[None]:
    """Hold SQLite's write lock, so that no group can be committed."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


async def test_what_has_its_outcome_is_on_disk(
    link: WriterLink, grant: Grant, settings: Settings, reports: Reports
) -> None:
    outcome = await link.submit(batch(grant, 1, 2, 1), 100)
    assert isinstance(outcome, BatchCommitted)
    assert (outcome.new, outcome.repeats) == (2, frozenset({2}))
    assert stored_ids(settings.database_path) == ["1", "2"]
    assert [report.messages for report in reports.groups] == [3]


async def test_work_that_waits_together_is_one_group(
    link: WriterLink, grant: Grant, settings: Settings, reports: Reports
) -> None:
    with write_locked(settings.database_path):
        first = link.submit(batch(grant, 1), 10)
        rest = [link.submit(batch(grant, number), 10) for number in range(2, 12)]
    await asyncio.gather(first, *rest)
    assert sum(report.items for report in reports.groups) == 11
    assert len(reports.groups) < 11


async def test_a_killed_process_is_followed_by_another_that_does_what_waited(
    link: WriterLink, grant: Grant, settings: Settings
) -> None:
    await link.submit(batch(grant, 1), 10)
    with write_locked(settings.database_path):
        waiting = [link.submit(batch(grant, number), 10) for number in (2, 3, 1)]
        await killed(link)
        assert not any(each.done() for each in waiting)
    outcomes = await asyncio.gather(*waiting)
    assert all(isinstance(each, BatchCommitted) for each in outcomes)
    assert stored_ids(settings.database_path) == ["1", "2", "3"]
    assert link.pending_bytes == 0


async def test_work_that_no_process_survives_is_given_back(
    link: WriterLink, grant: Grant, settings: Settings
) -> None:
    with write_locked(settings.database_path):
        outcome = link.submit(batch(grant, 1), 10)
        for _ in range(settings.max_writer_deaths):
            await killed(link)
        assert isinstance(await outcome, NotStored)
    assert isinstance(await link.submit(batch(grant, 2), 10), BatchCommitted)


async def test_a_process_that_cannot_be_started_now_is_started_later(
    link: WriterLink, grant: Grant
) -> None:
    process = writer().pid
    with no_files_left():
        os.kill(process, signal.SIGKILL)
        async with asyncio.timeout(DEADLINE_SECONDS):
            while link.ready.is_set():  # noqa: ASYNC110 - an event tells of being set
                await asyncio.sleep(0.01)
            assert isinstance(await link.submit(batch(grant, 1), 10), NotStored)
    async with asyncio.timeout(DEADLINE_SECONDS):
        await link.ready.wait()
        assert isinstance(await link.submit(batch(grant, 1), 10), BatchCommitted)


async def test_a_process_whose_server_died_before_its_first_word_ends() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bright_server.writer.process",
            str(theirs.fileno()), pass_fds=(theirs.fileno(),),
        )  # fmt: skip
    ours.close()
    try:
        assert await asyncio.wait_for(process.wait(), DEADLINE_SECONDS) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_more_than_may_wait_is_refused(
    link: WriterLink, grant: Grant, settings: Settings
) -> None:
    with write_locked(settings.database_path):
        waiting = link.submit(batch(grant, 1), settings.max_pending_bytes)
        with pytest.raises(Overloaded):
            link.submit(batch(grant, 2), 1)
    await waiting


async def test_after_draining_everything_is_answered_and_no_more_is_taken(
    link: WriterLink, grant: Grant
) -> None:
    outcome = link.submit(batch(grant, 1), 10)
    await link.drain()
    assert outcome.done()
    with pytest.raises(CommitterStopped):
        link.submit(batch(grant, 2), 10)


async def test_the_process_ends_with_the_link(
    settings: Settings, reports: Reports, grant: Grant
) -> None:
    with lock.held(settings.database_path) as descriptor:
        async with linked(settings, reports, descriptor) as link:
            process = writer()
            await link.submit(batch(grant, 1), 10)
        assert not process.is_running()


@pytest.mark.parametrize("steps", range(4))
async def test_a_link_that_ends_as_its_process_falls_silent_reaps_it(
    settings: Settings, reports: Reports, grant: Grant, steps: int
) -> None:
    with lock.held(settings.database_path) as descriptor:
        async with linked(settings, reports, descriptor) as link:
            process = writer()
            _hang_up(link)
            async with asyncio.timeout(DEADLINE_SECONDS):
                while link.ready.is_set():  # noqa: ASYNC110 - tells only of being set
                    await asyncio.sleep(0)
            for _ in range(steps):  # turns of the loop, into the waiting for its end
                await asyncio.sleep(0)
        assert not process.is_running()


def _hang_up(link: WriterLink) -> None:
    """Close the stream to the process, which then ends by itself."""
    assert link._transport is not None
    link._transport.abort()


async def test_the_database_is_held_as_long_as_the_process_lives(
    settings: Settings, reports: Reports, grant: Grant
) -> None:
    with lock.held(settings.database_path) as descriptor:
        running = linked(settings, reports, descriptor)
        await running.__aenter__()
    with pytest.raises(StoreInUse), lock.held(settings.database_path):
        pass
    await running.__aexit__(None, None, None)
    with lock.held(settings.database_path):
        pass


async def test_a_process_that_does_not_come_up_is_an_error_in_words(
    settings: Settings, reports: Reports, tmp_path: Path
) -> None:
    (tmp_path / "no").write_text("not a database, and long enough to be looked at")
    broken = settings.model_copy(
        update={"database": SqliteFile(tmp_path / "no"), "writer_start_seconds": 2.0}
    )
    with (
        lock.held(settings.database_path) as descriptor,
        pytest.raises(StoreUnavailable, match="writer process"),
    ):
        async with linked(broken, reports, descriptor):
            pass
