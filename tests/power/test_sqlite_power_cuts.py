"""An ACK of Bright on SQLite survives a power cut (MS-27, MS-15)."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest

from bright_server.clock import SystemClock
from bright_server.errors import StoreUnavailable
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import opened
from tests.power.campaign import CUTS, Campaign
from tests.power.machine import PowerSwitch
from tests.power.rigs import SqliteRig
from tests.power.sent_campaign import SentCampaign


@pytest.mark.timeout(60 + 10 * CUTS)
async def test_ms_27_every_ack_survives_each_power_cut(power: PowerSwitch) -> None:
    rig = SqliteRig(power.disk)
    campaign = Campaign(power, rig, await rig.bind())

    for cut in range(CUTS):
        # By turns all that was not synced is lost, or a part of it, in any order.
        loss = await campaign.cut_and_compare(chance=cut % 2 / 2)
        assert loss.messages == []
    assert loss.acked >= 40 * CUTS


@pytest.mark.timeout(60 + 10 * CUTS)
async def test_ms_27_and_21_sent_messages_survive_and_recovery_alone_finishes_the_rest(
    power: PowerSwitch,
) -> None:
    rig = SqliteRig(power.disk)
    await rig.bind()
    campaign = SentCampaign(power, rig)

    for cut in range(CUTS):
        assert await campaign.cut_and_compare(chance=cut % 2 / 2) == []
    assert len(campaign.acked) >= 40 * CUTS


@pytest.mark.parametrize("level", ["NORMAL", "OFF"])
async def test_with_another_synchronous_the_same_cut_loses_acked_messages(
    power: PowerSwitch, level: str
) -> None:
    careless = ("tests.power.careless", level)
    rig = SqliteRig(power.disk, (sys.executable, "-m", *careless, "bright_server"))
    token = await rig.bind()
    await power.sync()

    loss = await Campaign(power, rig, token).cut_and_compare()
    assert loss.messages

    sent = SentCampaign(power, rig, (*careless, "tests.power.sending"))
    assert await sent.cut_and_compare()


async def test_ms_15_a_file_that_sqlite_would_not_sync_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deaf(sqlite3.Connection):
        """A SQLite that takes no order to sync, as one may be built."""

        def execute(self, sql: str, *arguments: object) -> sqlite3.Cursor:
            if sql == "PRAGMA synchronous=FULL":
                sql = "PRAGMA synchronous=OFF"
            return super().execute(sql, *arguments)  # type: ignore[arg-type]

    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3,
        "connect",
        lambda *arguments, **options: connect(*arguments, factory=Deaf, **options),
    )

    with pytest.raises(StoreUnavailable, match=r"durably.*synchronous=0"):
        async with opened(Settings(database=tmp_path / "bright.db"), SystemClock()):
            pass
