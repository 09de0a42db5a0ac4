"""Power cuts while messages are sent; recovery finishes what was begun."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Sequence
from typing import Final

from bright_server.clock import SystemClock
from bright_server.commit.records import CommittedMessage
from tests.power.machine import ROOT, PowerSwitch
from tests.power.rigs import Rig
from tests.power.sending import (
    SENDERS,
    committing,
    conversation_of,
    places_of,
    request_of,
)

_ACKS_A_LIFE: Final = 40
_SECONDS: Final = 60.0

Ack = tuple[int, str, list[object]]


class SentCampaign:
    """Lives of one machine on which messages are sent, by a process `program`."""

    def __init__(
        self,
        power: PowerSwitch,
        rig: Rig,
        program: Sequence[str] = ("tests.power.sending",),
    ) -> None:
        self._power = power
        self._rig = rig
        self._random = random.Random(1)  # noqa: S311 - no secret
        self._program = program
        self._lives = 0
        self.acked: list[Ack] = []

    async def cut_and_compare(self, chance: float = 0) -> Sequence[Ack]:
        """Send until there are some ACKs more, cut the power; return what is lost.

        What was begun and not ACKed is finished by recovery alone; then no number of
        any conversation is missing.
        """
        await self._live_until_the_cut(chance)
        await self._power.restore()
        await self._rig.start()
        lost = []
        async with committing(self._rig.address) as (backend, committer):
            for sender, name, places in self.acked:
                request = request_of(sender, name)
                found = await backend.commits.load_commit_for_request(request)
                if not isinstance(found, CommittedMessage) or (
                    places_of(found) != places
                ):
                    lost.append((sender, name, places))
            later_ms = SystemClock().now_ms() + 60_000
            await committer.recover_due(later_ms, 1_000)
            assert not await backend.commits.scan_recoverable_commits(later_ms, 1)
        await self._assert_gapless()
        return lost

    async def _live_until_the_cut(self, chance: float) -> None:
        self._lives += 1
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            *self._program,
            self._rig.address,
            f"life-{self._lives}",
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        wanted = self._random.randint(_ACKS_A_LIFE, 2 * _ACKS_A_LIFE)
        async with asyncio.timeout(_SECONDS):
            for _ in range(wanted):
                line = await process.stdout.readline()
                assert line, "the sender ended by itself"
                self._note(line)
            await self._power.cut(chance, self._random.randrange(1 << 30))
            self._rig.kill()
            process.kill()
            # What it said before it was killed, it said.
            async for line in process.stdout:
                self._note(line)
            await process.wait()

    def _note(self, line: bytes) -> None:
        if line.endswith(b"\n"):
            sender, name, places = json.loads(line)
            self.acked.append((sender, name, places))

    async def _assert_gapless(self) -> None:
        names = [conversation_of(n).conversation_id for n in range(SENDERS)]
        stored = await self._rig.stored(*names)
        for name in names:
            places = [sequence for sequence, _ in stored[name]]
            assert places == list(range(1, len(places) + 1)), name
            assert len({one for _, one in stored[name]}) == len(places), name
