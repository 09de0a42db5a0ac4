"""An ACK of Bright on Valkey survives a power cut (MS-27, MS-15)."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bright_server.processes import Server
from tests.power.campaign import CUTS, Campaign
from tests.power.machine import PowerSwitch
from tests.power.rigs import ValkeyRig
from tests.power.sent_campaign import SentCampaign


@pytest.fixture
async def rig(power: PowerSwitch, tmp_path: Path) -> AsyncIterator[ValkeyRig]:
    """Bright on a Valkey that was started long ago."""
    rig = ValkeyRig(power.disk, tmp_path / "valkey.log")
    try:
        await rig.start()
        await power.sync()
        yield rig
    finally:
        rig.close()


@pytest.mark.timeout(60 + 10 * CUTS)
async def test_ms_27_every_ack_survives_each_power_cut(
    power: PowerSwitch, rig: ValkeyRig
) -> None:
    campaign = Campaign(power, rig, await rig.bind())

    for _ in range(CUTS):
        loss = await campaign.cut_and_compare()
        assert loss.messages == []
    assert loss.acked >= 40 * CUTS


@pytest.mark.timeout(60 + 15 * CUTS)
async def test_ms_27_and_21_sent_messages_survive_and_recovery_alone_finishes_the_rest(
    power: PowerSwitch, rig: ValkeyRig
) -> None:
    await rig.bind()
    campaign = SentCampaign(power, rig)

    for _ in range(CUTS):
        assert await campaign.cut_and_compare() == []
    assert len(campaign.acked) >= 40 * CUTS


@pytest.mark.parametrize("fsync", ["everysec", "no"])
async def test_a_cut_loses_acks_of_whoever_does_not_ask_for_appendfsync(
    power: PowerSwitch, tmp_path: Path, fsync: str
) -> None:
    """The tests above can fail. Bright itself gives no ACK then: it asks."""
    careless = (sys.executable, "-m", "tests.power.careless_redis", "bright_server")
    rig = ValkeyRig(power.disk, tmp_path / "valkey.log", command=careless)
    try:
        await rig.start()
        await power.sync()
        token = await rig.bind()

        async def loosen(_: Server) -> None:
            rig.engine.ask("CONFIG", "SET", "appendfsync", fsync)

        loss = await Campaign(power, rig, token).cut_and_compare(meddle=loosen)
        assert loss.messages
    finally:
        rig.close()
