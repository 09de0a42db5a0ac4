"""An event loop without a clock, a selector or a thread of its own.

Bright's coroutines run on it unchanged. It does nothing by itself: whoever holds it
lets what is ready run, and tells it what time it is. So a run is a function of the
order in which the holder resolves what the coroutines wait for.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import count
from typing import Any, TypeVar

from extension_harness.simulation.errors import SimulationFaultError

T = TypeVar("T")

_MOST_CALLBACKS = 100_000


class VirtualLoop(asyncio.AbstractEventLoop):
    """The part of an event loop that tasks, futures and timers need."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = count()
        self.faults: list[dict[str, Any]] = []
        """What would have been logged as an exception that nobody took."""

    # For the holder.

    def run_ready(self, now_ms: int) -> None:
        """Run everything that can run at `now_ms`, and what follows from it.

        Raises:
            SimulationFaultError: it does not come to rest.
        """
        self._now_ms = now_ms
        before = events._get_running_loop()  # noqa: SLF001 - the loops' own interface
        events._set_running_loop(self)  # noqa: SLF001 - same
        try:
            self._wake_timers()
            for _ in range(_MOST_CALLBACKS):
                if not self._ready:
                    return
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()  # noqa: SLF001 - as every loop runs a handle
        finally:
            events._set_running_loop(before)  # noqa: SLF001 - same
        raise SimulationFaultError("Bright's tasks do not come to rest")

    def due_ms(self) -> float | None:
        """Return when the next timer is due, None without one."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _wake_timers(self) -> None:
        while self._timers and self._timers[0][0] <= self._now_ms:
            handle = heapq.heappop(self._timers)[2]
            if not handle.cancelled():
                self._ready.append(handle)

    # For asyncio.

    def time(self) -> float:
        """Return the simulated time in seconds."""
        return self._now_ms / 1000

    def get_debug(self) -> bool:
        """Say that nothing is to be watched."""
        return False

    def is_running(self) -> bool:
        """Say that it runs: it lives only while it is used."""
        return True

    def is_closed(self) -> bool:
        """Say that it is usable."""
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep an exception that nobody took."""
        self.faults.append(context)

    def call_soon(  # type: ignore[override]
        self,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401 - as asyncio has it
        context: Context | None = None,
    ) -> asyncio.Handle:
        """See `asyncio.AbstractEventLoop.call_soon`."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401 - as asyncio has it
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """See `asyncio.AbstractEventLoop.call_later`."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401 - as asyncio has it
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """See `asyncio.AbstractEventLoop.call_at`."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (round(when * 1000), next(self._order), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: a cancelled timer is passed over when it is due."""

    def create_future(self) -> asyncio.Future[Any]:
        """See `asyncio.AbstractEventLoop.create_future`."""
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """See `asyncio.AbstractEventLoop.create_task`."""
        return asyncio.Task(coro, loop=self, name=name, context=context)


def virtual_loop(now_ms: int) -> VirtualLoop:
    """Make a loop; what Bright's tasks never use of one, it does not have."""
    return VirtualLoop(now_ms)  # type: ignore[abstract]
