"""One drill for every fault of a database: no false ACK, red, and well again by itself.

While the fault lasts, messages are asked to be committed and are not confirmed, and
`/readyz` is red and says of what. After it, with nobody's help, the extension gets
its ACKs; the places are those that there would have been without the fault.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from websockets.exceptions import ConnectionClosed

from tests.bright_server.faults.proxy import Proxy
from tests.bright_server.frames import CONVERSATION, Frame, batch, message
from tests.bright_server.processes import Extension, Server
from tests.power.rigs import Rig

RECOVERY_SECONDS: Final = 60.0

_BATCH: Final = 3
_NOBODY_CAN_TELL: Final = 4503

Step = Callable[[], Awaitable[None]]

PATIENT_FOR_A_MOMENT: Final = {
    "commit_patience_seconds": 1,
    "readiness_deadline_seconds": 5,
}


@dataclass(slots=True)
class Sweep:
    """How often a connection was broken, and how often the work had been done."""

    breaks: int = 0
    done_unanswered: int = 0


class Drill:
    """A server, an extension that comes again when it is sent away, and what both saw.

    It is sent away, with 4503, while nobody can tell whether its binding stands.
    """

    def __init__(self, server: Server, token: str, size: int = 0) -> None:
        self.server = server
        self.said_when_red = ""
        self.repeats = 0
        """How often a batch was there already that had not been ACKed."""
        self._token = token
        self._size = size
        self._texts: dict[int, str] = {}
        self._next = 1
        self._extension: Extension | None = None
        self._holding = AsyncExitStack()

    async def close(self) -> None:
        """End the connection."""
        await self._holding.aclose()

    @property
    def confirmed(self) -> int:
        """Return how many messages were ACKed."""
        return self._next - 1

    def next_id(self) -> str:
        """Return the id of the message that is sent next."""
        return str(message(self._next)["messageId"])

    async def send_confirmed(self, seconds: float = 0) -> None:
        """Have three new messages ACKed, each in its place, at once or before long."""
        deadline = asyncio.get_running_loop().time() + seconds
        numbers = list(range(self._next, self._next + _BATCH))
        while True:
            results = await self._ask()
            if results and all(each["status"] == "confirmed" for each in results):
                break
            assert {each["status"] for each in results} <= {"retry"}, results
            assert asyncio.get_running_loop().time() < deadline, results
            await asyncio.sleep(0.1)
        assert [each["sequence"] for each in results] == numbers
        self.repeats += all(each["duplicate"] for each in results)
        self._next += _BATCH

    async def is_taken(self) -> bool:
        """Send messages that may still be stored; say whether they were ACKed."""
        results = await self._ask()
        if {each["status"] for each in results} != {"confirmed"}:
            return False
        self._next += _BATCH
        return True

    async def be_refused(self) -> None:
        """Send messages that cannot be stored: none is ACKed."""
        results = await self._ask()
        assert {each["status"] for each in results} <= {"retry"}, results

    async def refuse_and_turn_red(self) -> None:
        """Send messages that cannot be stored: none is ACKed, and readiness is red."""
        await self.be_refused()
        status, self.said_when_red = await self.server.get("/readyz")
        assert status == 503, self.said_when_red
        assert "Traceback" not in self.said_when_red
        assert (await self.server.get("/livez"))[0] == 200

    async def recover(self) -> None:
        """Have the same messages ACKed after a while, and readiness green."""
        deadline = asyncio.get_running_loop().time() + RECOVERY_SECONDS
        await self.send_confirmed(RECOVERY_SECONDS)
        while (red := await self.server.get("/readyz"))[0] != 200:
            assert asyncio.get_running_loop().time() < deadline, red[1]
            await asyncio.sleep(0.1)

    async def _ask(self) -> list[Frame]:
        """Return what is said of each message; nothing when it was sent away."""
        try:
            if self._extension is None:
                self._extension = await self._holding.enter_async_context(
                    self.server.extension()
                )
                welcome = await self._extension.greet(self._token)
                assert welcome["type"] == "welcome", welcome
            results: list[Frame] = (await self._extension.ask(self._batch()))["results"]
        except ConnectionClosed as closed:
            if closed.rcvd is None or closed.rcvd.code != _NOBODY_CAN_TELL:
                raise
            self._extension = None
            await self._holding.aclose()
            return []
        return results

    def _batch(self) -> Frame:
        # Text that no compression makes small.
        text = secrets.token_hex(self._size // 2)
        self._texts.setdefault(self._next, text)
        return batch(
            *(
                message(self._next + n, text=f"{n} {self._texts[self._next]}")
                for n in range(_BATCH)
            )
        )


@asynccontextmanager
async def drilling(
    rig: Rig, token: str, *, size: int = 0, **settings: object
) -> AsyncIterator[Drill]:
    """Hold a server and an extension; at the end everything is in its place.

    The server ends in good order. `size` is how many characters a message has.
    """
    async with rig.serving(**(PATIENT_FOR_A_MOMENT | settings)) as server:
        drill = Drill(server, token, size)
        try:
            await drill.send_confirmed()
            yield drill
            await drill.send_confirmed()
        finally:
            await drill.close()
        status, said = await server.end()
        assert status == 0
        assert "Traceback" not in said
    places = (await rig.stored(CONVERSATION))[CONVERSATION]
    assert [sequence for sequence, _ in places] == list(range(1, drill.confirmed + 1))


async def drilled(
    rig: Rig,
    token: str,
    break_it: Step,
    heal_it: Step,
    **settings: Any,  # noqa: ANN401 - goes to the server's environment
) -> str:
    """Drill one fault; return what `/readyz` said while it lasted."""
    async with drilling(rig, token, **settings) as drill:
        await break_it()
        await drill.refuse_and_turn_red()
        await heal_it()
        await drill.recover()
    return drill.said_when_red


async def swept(rig: Rig, token: str, proxy: Proxy) -> Sweep:
    """Break the connection at every request of a commit, unheard and unanswered.

    Whatever is broken, nothing is ACKed that is not there, and what is sent again has
    the place that it would have had.
    """
    sweep = Sweep()
    async with drilling(rig, token) as drill:
        for arrives in (False, True):
            for after in count():
                mark = drill.next_id().encode()
                proxy.break_once(mark, after=after, arrives=arrives)
                before = drill.repeats
                await drill.send_confirmed(RECOVERY_SECONDS)
                if not proxy.struck.is_set():
                    break
                sweep.breaks += 1
                sweep.done_unanswered += drill.repeats - before
            await proxy.heal()
    return sweep
