"""An ACK of Bright on SQLite survives a power cut (MS-27, MS-15)."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from bright_server.clock import SystemClock
from bright_server.errors import StoreUnavailable
from bright_server.messages import ConversationKey
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import opened
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.processes import BRIGHT, Server, create_binding, serving
from tests.power.campaign import CUTS, Campaign, Stored
from tests.power.machine import PowerSwitch


class SqliteRig:
    """Bright on a file, in a folder that it makes itself."""

    def __init__(self, disk: Path, command: Sequence[str] = BRIGHT) -> None:
        self.database = disk / "var" / "bright.db"
        self._command = command

    async def start(self) -> None:
        """There is no engine."""

    def kill(self) -> None:
        """There is no engine."""

    def serving(self) -> AbstractAsyncContextManager[Server]:
        return serving(
            self.database, command=self._command, writer_process=self._command is BRIGHT
        )

    async def stored(self, conversations: Sequence[str]) -> Stored:
        settings = Settings(database=self.database)
        found = {}
        async with opened(settings, SystemClock()) as store:
            for each in conversations:
                messages, _ = await store.messages.messages_after(
                    ConversationKey(ACCOUNT, each), 0, 1_000_000
                )
                found[each] = [
                    (stored.sequence, stored.message.message_id) for stored in messages
                ]
        return found


async def bound(rig: SqliteRig) -> str:
    """Have the database made, and a binding in it by an operator's command."""
    async with rig.serving():
        return str((await create_binding(rig.database))["token"])


@pytest.mark.timeout(60 + 10 * CUTS)
async def test_ms_27_every_ack_survives_each_power_cut(power: PowerSwitch) -> None:
    rig = SqliteRig(power.disk)
    campaign = Campaign(power, rig, await bound(rig))

    for cut in range(CUTS):
        # By turns all that was not synced is lost, or a part of it, in any order.
        loss = await campaign.cut_and_compare(chance=cut % 2 / 2)
        assert loss.messages == []
    assert loss.acked >= 40 * CUTS


@pytest.mark.parametrize("level", ["NORMAL", "OFF"])
async def test_with_another_synchronous_the_same_cut_loses_acked_messages(
    power: PowerSwitch, level: str
) -> None:
    careless = (sys.executable, "-m", "tests.power.careless", level)
    rig = SqliteRig(power.disk, careless)
    token = await bound(rig)
    await power.sync()

    loss = await Campaign(power, rig, token).cut_and_compare()

    assert loss.messages


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
