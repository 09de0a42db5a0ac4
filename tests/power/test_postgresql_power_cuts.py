"""An ACK of Bright on PostgreSQL survives a power cut (MS-27, MS-15)."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bright_server.testing.engines.postgresql import PostgresqlServer
from tests.bright_server.processes import Server
from tests.power.campaign import CUTS, Campaign
from tests.power.machine import PowerSwitch
from tests.power.rigs import PostgresqlRig
from tests.power.sent_campaign import SentCampaign


@asynccontextmanager
async def made_long_ago(
    power: PowerSwitch, rig: PostgresqlRig
) -> AsyncIterator[PostgresqlRig]:
    try:
        await rig.start()
        await power.sync()
        yield rig
    finally:
        rig.close()


@pytest.fixture
async def rig(power: PowerSwitch) -> AsyncIterator[PostgresqlRig]:
    """Bright on a PostgreSQL that was made long ago."""
    engine = PostgresqlServer(power.disk / "postgresql")
    async with made_long_ago(power, PostgresqlRig(engine)) as rig:
        yield rig


@pytest.fixture
async def careless(power: PowerSwitch) -> AsyncIterator[PostgresqlRig]:
    """The same, of a Bright that gives an ACK however PostgreSQL is set up."""
    engine = PostgresqlServer(power.disk / "postgresql")
    command = (sys.executable, "-m", "tests.power.careless_postgresql", "bright_server")
    async with made_long_ago(power, PostgresqlRig(engine, command=command)) as rig:
        yield rig


@pytest.mark.timeout(60 + 15 * CUTS)
async def test_ms_27_every_ack_survives_each_power_cut(
    power: PowerSwitch, rig: PostgresqlRig
) -> None:
    campaign = Campaign(power, rig, await rig.bind())

    for cut in range(CUTS):
        # By turns all that was not synced is lost, or a part of it, in any order.
        loss = await campaign.cut_and_compare(chance=cut % 2 / 2)
        assert loss.messages == []
    assert loss.acked >= 40 * CUTS


@pytest.mark.timeout(60 + 15 * CUTS)
async def test_ms_27_and_21_sent_messages_survive_and_recovery_alone_finishes_the_rest(
    power: PowerSwitch, rig: PostgresqlRig
) -> None:
    await rig.bind()
    campaign = SentCampaign(power, rig)

    for cut in range(CUTS):
        assert await campaign.cut_and_compare(chance=cut % 2 / 2) == []
    assert len(campaign.acked) >= 40 * CUTS


async def test_ms_15_without_fsync_readiness_is_red_and_the_same_cut_loses_acks(
    power: PowerSwitch, careless: PostgresqlRig
) -> None:
    """Which proves the test above: the disk forgets what nobody had it keep."""
    token = await careless.bind()

    async def forget_fsync(server: Server) -> None:
        assert (await server.get("/readyz"))[0] == 200
        careless.engine.execute("ALTER SYSTEM SET fsync = off")
        careless.engine.execute("SELECT pg_reload_conf()")
        status, said = await server.get("/readyz")
        assert status == 503
        assert "fsync" in said

    campaign = Campaign(power, careless, token)
    loss = await campaign.cut_and_compare(meddle=forget_fsync)

    assert loss.messages
