"""Many callers' commands on few connections, sent together: one sync for all.

While some are on their way, whatever else is asked for gathers; then all of it goes at
once. Nobody waits for a timer. Whoever is cancelled meanwhile has asked all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bright_server.stores.redis.scripts import Call

Word: TypeAlias = str | bytes | int
Command: TypeAlias = tuple[Word, ...] | Call
Reply: TypeAlias = Any
"""What the server's protocol has: bytes, int, None, lists of these, and error replies
as `ResponseError`. Each caller knows what its command answers."""

_COMMANDS_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of commands that were sent together.

    `fault` says why the replies of those that are to be durable are none.
    """

    replies: Sequence[Reply]
    fault: str | None


Carry: TypeAlias = Callable[[Sequence[Command], bool], Awaitable[Carried]]


@dataclass(frozen=True, slots=True)
class _Parcel:
    commands: Sequence[Command]
    durable: bool
    carried: asyncio.Future[Carried]


class Conveyor:
    """Sends what is asked for on so many lanes; each carries one load at a time."""

    def __init__(self, carry: Carry, lanes: int) -> None:
        self._carry = carry
        self._lanes = lanes
        self._waiting: list[_Parcel] = []
        self._busy: set[asyncio.Task[None]] = set()

    async def send(self, commands: Sequence[Command], *, durable: bool) -> Carried:
        """Return the replies; commands of one caller stay together, in their order.

        Raises:
            Exception: what the lane failed with; the outcome is unknown.
        """
        carried: asyncio.Future[Carried] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Parcel(commands, durable, carried))
        if len(self._busy) < self._lanes:
            self._busy.add(asyncio.create_task(self._run()))
        return await carried

    async def close(self) -> None:
        """End all lanes; who still waits is told."""
        lanes = list(self._busy)
        for lane in lanes:
            lane.cancel()
        for lane in lanes:
            with suppress(asyncio.CancelledError):
                await lane
        load, self._waiting = self._waiting, []
        _fail(load, ConnectionError("it was closed"))

    async def _run(self) -> None:
        try:
            await self._carry_on()
        finally:
            # In the same turn in which nothing was waiting any more: what comes in the
            # next one must find that this lane is free.
            lane = asyncio.current_task()
            self._busy = {each for each in self._busy if each is not lane}

    async def _carry_on(self) -> None:
        while self._waiting:
            load = self._next_load()
            commands = [command for each in load for command in each.commands]
            try:
                carried = await self._carry(commands, any(e.durable for e in load))
            except asyncio.CancelledError:
                _fail(load, ConnectionError("it was closed"))
                raise
            except Exception as error:  # noqa: BLE001 - told to whoever waits for it
                _fail(load, error)
            else:
                _deliver(load, carried)

    def _next_load(self) -> list[_Parcel]:
        load: list[_Parcel] = []
        size = 0
        for parcel in self._waiting:
            size += len(parcel.commands)
            if load and size > _COMMANDS_AT_ONCE:
                break
            load.append(parcel)
        del self._waiting[: len(load)]
        return load


def _deliver(load: Sequence[_Parcel], carried: Carried) -> None:
    start = 0
    for parcel in load:
        end = start + len(parcel.commands)
        fault = carried.fault if parcel.durable else None
        if not parcel.carried.done():
            parcel.carried.set_result(Carried(carried.replies[start:end], fault))
        start = end


def _fail(load: Sequence[_Parcel], error: Exception) -> None:
    for parcel in load:
        if not parcel.carried.done():
            parcel.carried.set_exception(error)
