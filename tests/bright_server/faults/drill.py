"""One drill for every fault of a database: no false ACK, red, and well again by itself.

While the fault lasts, messages are asked to be committed and are not confirmed, and
`/readyz` is red and says of what. After it, with nobody's help, the same connection
gets its ACKs; the places are those that there would have been without the fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from tests.bright_server.frames import CONVERSATION, Frame, batch, heartbeat, message
from tests.bright_server.processes import Extension, Server
from tests.power.rigs import Rig

RECOVERY_SECONDS: Final = 60.0

Step = Callable[[], Awaitable[None]]

PATIENT_FOR_A_MOMENT: Final = {
    "commit_patience_seconds": 1,
    "readiness_deadline_seconds": 5,
}


class Drill:
    """A server, an extension that is connected, and what both have seen."""

    def __init__(self, server: Server, extension: Extension) -> None:
        self.server = server
        self.extension = extension
        self.said_when_red = ""
        self._next = 1

    async def send_confirmed(self) -> None:
        """Send three new messages; they are ACKed, each in its place."""
        await self._confirm_until(asyncio.get_running_loop().time())

    async def refuse_and_turn_red(self) -> None:
        """Send messages that cannot be stored: none is ACKed, and readiness is red."""
        answer = await self.extension.ask(self._batch())
        assert [each["status"] for each in answer["results"]] == ["retry"] * 3
        status, self.said_when_red = await self.server.get("/readyz")
        assert status == 503, self.said_when_red
        assert "Traceback" not in self.said_when_red
        assert (await self.server.get("/livez"))[0] == 200

    async def recover(self) -> None:
        """Have the same messages ACKed after a while, and readiness green."""
        deadline = asyncio.get_running_loop().time() + RECOVERY_SECONDS
        await self._confirm_until(deadline)
        while (red := await self.server.get("/readyz"))[0] != 200:
            assert asyncio.get_running_loop().time() < deadline, red[1]
            await asyncio.sleep(0.1)
        assert (await self.extension.ask(heartbeat()))["type"] == "heartbeat.ack"

    async def _confirm_until(self, deadline: float) -> None:
        numbers = list(range(self._next, self._next + 3))
        while True:
            results = (await self.extension.ask(self._batch()))["results"]
            if all(each["status"] == "confirmed" for each in results):
                break
            assert asyncio.get_running_loop().time() < deadline, results
            await asyncio.sleep(0.1)
        assert [each["sequence"] for each in results] == numbers
        self._next += 3

    def _batch(self) -> Frame:
        return batch(*(message(self._next + n) for n in range(3)))


async def drilled(
    rig: Rig, token: str, break_it: Step, heal_it: Step, **settings: object
) -> str:
    """Drill one fault; return what `/readyz` said while it lasted."""
    async with (
        rig.serving(**(PATIENT_FOR_A_MOMENT | settings)) as server,
        server.extension() as extension,
    ):
        assert (await extension.greet(token))["type"] == "welcome"
        drill = Drill(server, extension)
        await drill.send_confirmed()
        await break_it()
        await drill.refuse_and_turn_red()
        await heal_it()
        await drill.recover()
        await drill.send_confirmed()
        status, said = await server.end()
        assert status == 0
        assert "Traceback" not in said
    places = (await rig.stored(CONVERSATION))[CONVERSATION]
    assert [sequence for sequence, _ in places] == list(range(1, 10))
    return drill.said_when_red
