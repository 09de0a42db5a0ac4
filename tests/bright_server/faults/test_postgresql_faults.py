"""Bright on PostgreSQL when disk, network or server fail: no false ACK, and well again.

Real servers throughout; the disk and the network are the tests' own.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

import psutil

from bright_server.testing.engines.postgresql import PostgresqlServer
from bright_server.testing.engines.processes import until
from tests.bright_server.faults.drill import (
    RECOVERY_SECONDS,
    drilled,
    drilling,
    swept,
)
from tests.bright_server.faults.proxy import Proxy, between
from tests.bright_server.frames import CONVERSATION
from tests.power.machine import PowerSwitch
from tests.power.rigs import PostgresqlRig

HASTY = {
    "database_statement_seconds": 1,
    "database_connect_seconds": 1,
    "database_transaction_seconds": 3,
}
"""For a server that never answers; what else fails is told at once."""


@asynccontextmanager
async def on_a_network() -> AsyncIterator[tuple[PostgresqlRig, Proxy]]:
    """Bright on a PostgreSQL that it reaches over a network of the test's own."""
    engine = PostgresqlServer()
    rig = PostgresqlRig(engine)
    try:
        await rig.start()
        async with between(lambda: engine.port) as proxy:
            rig.port = proxy.port
            yield rig, proxy
    finally:
        rig.close()


@asynccontextmanager
async def on_a_disk(disk: PowerSwitch) -> AsyncIterator[PostgresqlRig]:
    """Bright on a PostgreSQL whose files lie on a disk that fails on command."""
    rig = PostgresqlRig(PostgresqlServer(disk.disk / "postgresql"))
    try:
        await rig.start()
        await disk.sync()
        yield rig
    finally:
        rig.close()


@asynccontextmanager
async def with_a_standby() -> AsyncIterator[PostgresqlRig]:
    """Bright on a primary that waits for its standby; it knows the names of both."""
    primary = PostgresqlServer()
    standby: PostgresqlServer | None = None
    try:
        await asyncio.to_thread(primary.start)
        primary.create_database("bright")
        standby = await asyncio.to_thread(primary.standby)
        await asyncio.to_thread(standby.start)
        yield PostgresqlRig(primary, standby)
    finally:
        primary.close()
        if standby is not None:
            standby.close()


async def test_ms_27_and_25_a_connection_may_break_at_each_request_of_a_commit() -> (
    None
):
    async with on_a_network() as (rig, proxy):
        sweep = await swept(rig, await rig.bind(), proxy)

    assert sweep.breaks >= 4
    # The answer to a COMMIT was lost, and what it had done was found.
    assert sweep.done_unanswered >= 1


async def test_ms_15_and_27_a_network_that_carries_nothing_is_waited_for_and_told() -> (
    None
):
    async with on_a_network() as (rig, proxy):

        async def stall() -> None:
            proxy.stall()

        said = await drilled(rig, await rig.bind(), stall, proxy.heal, **HASTY)

    assert "no answer" in said


async def test_ms_15_and_27_a_server_that_refuses_everybody_is_found_again() -> None:
    async with on_a_network() as (rig, proxy):

        async def shut() -> None:
            proxy.shut()

        said = await drilled(rig, await rig.bind(), shut, proxy.heal, **HASTY)

    assert "onnection reset" in said or "closed the connection" in said, said


async def test_ms_27_one_failed_fsync_costs_a_crash_of_the_server_and_no_ack(
    disk: PowerSwitch,
) -> None:
    async with on_a_disk(disk) as rig:
        async with drilling(rig, await rig.bind()) as drill:
            await disk.fail("fsync", errno.EIO, paths="*/pg_wal/*", times=1)
            await drill.send_confirmed(RECOVERY_SECONDS)
            assert (await disk.counts())["fsync failed"] == 1
            assert "PANIC" in rig.engine.log
        # What the failed fsync has forsaken was not what anybody was told of.
        await disk.cut()
        rig.kill()
        await disk.restore()
        await rig.start()
        stored = await rig.stored(CONVERSATION)
        assert len(stored[CONVERSATION]) == drill.confirmed


async def test_ms_27_and_15_a_disk_that_syncs_nothing_is_red_until_it_does(
    disk: PowerSwitch,
) -> None:
    async with on_a_disk(disk) as rig:

        async def heal() -> None:
            await disk.heal()
            # The server gave up; what runs it starts it again.
            rig.kill()
            await rig.start()

        fail = partial(disk.fail, "fsync", errno.EIO)
        await drilled(rig, await rig.bind(), fail, heal, **HASTY)


async def test_ms_27_and_15_a_full_disk_acks_nothing_and_is_red_until_there_is_room(
    disk: PowerSwitch,
) -> None:
    async with (
        on_a_disk(disk) as rig,
        drilling(rig, await rig.bind(), size=100_000) as drill,
    ):
        await disk.leave_room(0)
        await drill.refuse_and_turn_red()
        # Not by the row that the probe overwrites: it has its room. It stays so.
        assert "No space left on device" in drill.said_when_red
        assert (await drill.server.get("/readyz"))[0] == 503
        assert "No space left on device" in rig.engine.log
        await disk.heal()
        await drill.recover()


async def test_ms_15_a_server_that_became_read_only_is_red_until_it_is_not() -> None:
    async with on_a_network() as (rig, _):

        async def set_read_only(value: str) -> None:
            rig.engine.execute(
                f"ALTER SYSTEM SET default_transaction_read_only = {value}"
            )
            rig.engine.execute("SELECT pg_reload_conf()")

        said = await drilled(
            rig,
            await rig.bind(),
            partial(set_read_only, "on"),
            partial(set_read_only, "off"),
        )

    assert "read_only" in said or "read-only" in said


async def test_ms_27_and_15_a_server_that_is_made_unsafe_acks_nothing_meanwhile() -> (
    None
):
    async with on_a_network() as (rig, _):

        async def set_fsync(value: str) -> None:
            rig.engine.execute(f"ALTER SYSTEM SET fsync = {value}")
            rig.engine.execute("SELECT pg_reload_conf()")
            # Before a new session has it, the others were told.
            until(lambda: rig.engine.execute("SHOW fsync") == [(value,)], "it is set")

        said = await drilled(
            rig, await rig.bind(), partial(set_fsync, "off"), partial(set_fsync, "on")
        )

    assert "set fsync = on" in said


async def test_ms_27_and_15_another_database_in_its_place_acks_nothing_meanwhile() -> (
    None
):
    async with on_a_network() as (rig, _):
        token = await rig.bind()
        # It has the binding too, as a copy under an id of its own would.
        rename(rig.engine, "bright", "kept")
        rig.engine.execute("CREATE DATABASE other TEMPLATE kept OWNER bright")
        rename(rig.engine, "kept", "bright")
        rig.engine.execute("UPDATE store SET store_id = 'another'", "other")

        async def replace() -> None:
            rename(rig.engine, "bright", "kept")
            rename(rig.engine, "other", "bright")
            # Its writer opens what is there now.
            killed = 0
            for each in psutil.Process().children(recursive=True):
                # Many of PostgreSQL's own come and go.
                with suppress(psutil.NoSuchProcess):
                    if "bright_server.writer.process" in each.cmdline():
                        each.kill()
                        killed += 1
            assert killed == 1

        async def put_back() -> None:
            rename(rig.engine, "bright", "other")
            rename(rig.engine, "kept", "bright")

        said = await drilled(rig, token, replace, put_back)

    assert "not the one that was opened" in said


async def test_ms_27_and_15_without_its_standby_nothing_is_acked_and_all_is_kept() -> (
    None
):
    async with with_a_standby() as rig:
        token = await rig.bind()
        wait_for_standby(rig.engine)
        standby = rig.engines[1]

        async def lose_it() -> None:
            standby.kill()

        async def have_it_back() -> None:
            await asyncio.to_thread(standby.start)

        await drilled(rig, token, lose_it, have_it_back, **HASTY)


async def test_ms_27_and_15_a_fail_over_keeps_every_ack_and_needs_no_hands() -> None:
    async with with_a_standby() as rig:
        token = await rig.bind()
        wait_for_standby(rig.engine)
        primary, standby = rig.engines

        async def lose_the_primary() -> None:
            primary.kill()

        async def promote() -> None:
            await asyncio.to_thread(standby.promote)

        # `drilled` reads everything back at its end, from the one that is left.
        await drilled(rig, token, lose_the_primary, promote, **HASTY)


def rename(engine: PostgresqlServer, name: str, new_name: str) -> None:
    """Give a database another name, ending all its sessions."""
    engine.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    engine.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        f" WHERE datname = '{name}'"
    )
    engine.execute(f"ALTER DATABASE {name} RENAME TO {new_name}")
    engine.execute(f"ALTER DATABASE {new_name} ALLOW_CONNECTIONS true")


def wait_for_standby(primary: PostgresqlServer) -> None:
    """Have the primary answer no commit that the standby has not on disk."""
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
    primary.execute("SELECT pg_reload_conf()")
