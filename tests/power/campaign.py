"""Power cuts under load: real servers on a disk that forgets, and who has the ACKs.

In every life of the machine some extensions send as fast as they are answered; then the
power goes, in the middle of it.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import psutil
from websockets.exceptions import ConnectionClosed

from tests.bright_server.frames import Frame, batch, message
from tests.bright_server.processes import Server
from tests.power.machine import PowerSwitch
from tests.power.rigs import Rig, Stored

CUTS: Final = int(os.environ.get("BRIGHT_CUTS", "2"))
"""How often the power goes in each test of an engine."""

_SOURCES: Final = 4
_ACKS_A_LIFE: Final = 40
_ACK_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.02

Meddle = Callable[[Server], Awaitable[None]]


@dataclass(slots=True)
class Source:
    """An extension that sends one conversation, life after life."""

    number: int
    acked: dict[str, int] = field(default_factory=dict)
    """The sequence that the ACK of each message named."""
    _next: int = 0

    @property
    def conversation(self) -> str:
        """Return the conversation's id."""
        return f"conversation-{self.number}"

    async def run(self, server: Server, token: str, size: int) -> None:
        """Send batch after batch until the connection breaks."""
        with suppress(ConnectionClosed, OSError):
            async with server.extension() as extension:
                await extension.greet(token, deviceId=f"device-{self.number}")
                while True:
                    if not self._note(await extension.ask(self._batch(size))):
                        await asyncio.sleep(_PAUSE_SECONDS)

    def _batch(self, size: int) -> Frame:
        change = {"conversationId": self.conversation}
        numbers = range(self._next, self._next + size)
        return batch(*(message(number, **change) for number in numbers), **change)

    def _note(self, answer: Frame) -> bool:
        results = answer.get("results", [])
        for result in results:
            if result["status"] == "confirmed":
                before = self.acked.setdefault(result["messageId"], result["sequence"])
                assert before == result["sequence"], "a message has two places"
        done = all(result["status"] == "confirmed" for result in results)
        if done:
            self._next += len(results)
        return done


@dataclass(frozen=True, slots=True)
class Loss:
    """What was ACKed and is not in its place, and how many ACKs there were."""

    messages: Sequence[str]
    acked: int


class Campaign:
    """Lives of one machine, on one disk."""

    def __init__(self, power: PowerSwitch, rig: Rig, token: str, seed: int = 1) -> None:
        self._power = power
        self._rig = rig
        self._token = token
        self._random = random.Random(seed)  # noqa: S311 - no secret
        self.sources = [Source(number) for number in range(_SOURCES)]

    async def cut_and_compare(
        self, chance: float = 0, meddle: Meddle | None = None
    ) -> Loss:
        """Live until there are some ACKs more, cut the power, and look what is left.

        What is not durable survives by chance, page by page. `meddle` is done to the
        running server before the load.
        """
        await self._live_until_the_cut(chance, meddle)
        await self._power.restore()
        await self._rig.start()
        stored = await self._rig.stored(*(each.conversation for each in self.sources))
        return self._compared(stored)

    async def _live_until_the_cut(self, chance: float, meddle: Meddle | None) -> None:
        wanted = self._acked() + self._random.randint(_ACKS_A_LIFE, 3 * _ACKS_A_LIFE)
        size = self._random.choice((1, 3, 10))
        async with self._rig.serving() as server:
            if meddle is not None:
                await meddle(server)
            running = [
                asyncio.create_task(each.run(server, self._token, size))
                for each in self.sources
            ]
            async with asyncio.timeout(_ACK_SECONDS):
                while self._acked() < wanted:
                    over = [each for each in running if each.done()]
                    assert not over, f"a source ended by itself: {over}"
                    await asyncio.sleep(self._random.random() / 100)
            processes = _tree(server.process.pid)
            await self._power.cut(chance, self._random.randrange(1 << 30))
            self._rig.kill()
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            async with asyncio.timeout(_ACK_SECONDS):
                await asyncio.gather(*running)

    def _acked(self) -> int:
        return sum(len(each.acked) for each in self.sources)

    def _compared(self, stored: Stored) -> Loss:
        lost: list[str] = []
        for source in self.sources:
            places = stored[source.conversation]
            assert [sequence for sequence, _ in places] == list(
                range(1, len(places) + 1)
            ), "a gap or a repeat in the sequence"
            ids = {message_id: sequence for sequence, message_id in places}
            assert len(ids) == len(places), "a message is there twice"
            lost += [
                message_id
                for message_id, sequence in source.acked.items()
                if ids.get(message_id) != sequence
            ]
        return Loss(lost, self._acked())


def _tree(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []
