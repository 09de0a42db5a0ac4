"""Bright's disk: a server may die at every instant of a transaction."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import pytest

from bright_server.stores.sqlite.queries import SQL
from extension_harness.simulation.server.disk import PowerCutError, ServerDisk
from extension_harness.simulation.server.loop import VirtualLoop, virtual_loop


@pytest.fixture
def loop() -> VirtualLoop:
    return virtual_loop(0)


@pytest.fixture
def disk() -> ServerDisk:
    return ServerDisk("store-0")


def probe(disk: ServerDisk) -> int:
    (value,) = disk.database.execute(SQL["read_probe"]).fetchone()
    return int(value)


def wanted(disk: ServerDisk, loop: VirtualLoop, value: int) -> asyncio.Task[Any]:
    """Ask for a transaction that stores a probe, as the store does."""

    def work(database: sqlite3.Connection) -> str:
        database.execute(SQL["begin"])
        database.execute(SQL["write_probe"], (value,))
        database.execute(SQL["commit"])
        return "done"

    task = loop.create_task(disk.writer(loop).do(work))
    loop.run_ready(0)
    return task


def test_nothing_is_written_before_the_scheduler_lets_it(
    disk: ServerDisk, loop: VirtualLoop
) -> None:
    task = wanted(disk, loop, 7)

    assert probe(disk) == 0
    assert not task.done()


def test_what_is_committed_is_told_only_when_the_scheduler_lets_it(
    disk: ServerDisk, loop: VirtualLoop
) -> None:
    task = wanted(disk, loop, 7)

    disk.write()
    loop.run_ready(0)
    assert probe(disk) == 7
    assert not task.done()

    disk.tell()
    loop.run_ready(0)
    assert task.result() == "done"


@pytest.mark.parametrize("statement", [1, 2, 3])
def test_a_server_that_dies_in_a_transaction_leaves_nothing_of_it(
    disk: ServerDisk, loop: VirtualLoop, statement: int
) -> None:
    wanted(disk, loop, 7)

    with pytest.raises(PowerCutError):
        disk.write(dies_at=statement)

    assert probe(disk) == 0
    assert not disk.database.in_transaction


def test_a_server_that_dies_after_the_commit_has_committed(
    disk: ServerDisk, loop: VirtualLoop
) -> None:
    wanted(disk, loop, 7)

    disk.write(dies_at=4)
    disk.forget_jobs()

    assert probe(disk) == 7


def test_an_older_copy_is_another_store(disk: ServerDisk, loop: VirtualLoop) -> None:
    copy = disk.copy()
    wanted(disk, loop, 7)
    disk.write()

    disk.restore(copy, "store-1")

    assert probe(disk) == 0
    (store_id,) = disk.database.execute("SELECT store_id FROM store").fetchone()
    assert store_id == "store-1"


def test_reads_are_held_while_nobody_answers(
    disk: ServerDisk, loop: VirtualLoop
) -> None:
    disk.reach(is_reachable=False)
    task = loop.create_task(disk.reader(loop).execute_fetchall(SQL["all_bindings"]))
    loop.run_ready(0)
    assert not task.done()

    disk.reach(is_reachable=True)
    loop.run_ready(0)

    assert task.result() == []
