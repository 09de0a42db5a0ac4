"""Stores and logs that misbehave on purpose: lost calls, lost replies, slow ones."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from bright_server.commit.contract import MessageStore
from bright_server.errors import (
    BrightError,
    PublicationNotDurable,
    StoreUnavailable,
)
from bright_server.fanout.contract import (
    CommittedEnvelope,
    LogPosition,
    OutboxPublisher,
)
from bright_server.testing.delegating_store import AtomicDelegatingStore

T = TypeVar("T")

When = Literal["before", "after"]
"""Whether the work was not done, or was done and its reply is lost."""


@dataclass(slots=True)
class Losses:
    """What is still to be lost, by the call's name, and what was called how often."""

    calls: Counter[str] = field(default_factory=Counter)
    _due: dict[str, deque[tuple[When, BrightError]]] = field(default_factory=dict)

    def add(self, name: str, when: When, error: BrightError, times: int) -> None:
        """Have the next so many calls of this name lost."""
        self._due.setdefault(name, deque()).extend([(when, error)] * times)

    @property
    def is_due(self) -> bool:
        """Say whether something is still to be lost."""
        return any(self._due.values())

    def forget(self) -> None:
        """Lose nothing more of what was to be lost."""
        self._due.clear()

    async def around(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call, or lose it, or lose its reply."""
        self.calls[name] += 1
        due = self._due.get(name)
        if not due:
            return await call()
        when, error = due.popleft()
        if when == "after":
            await call()
        raise error


class FlakyStore(AtomicDelegatingStore):
    """A store that loses what it is told to lose, and is sound otherwise."""

    def __init__(self, inner: MessageStore) -> None:
        super().__init__(inner)
        self._losses = Losses()

    @property
    def calls(self) -> Counter[str]:
        """Return how often each method was called."""
        return self._losses.calls

    def lose(
        self, name: str, when: When, times: int = 1, error: BrightError | None = None
    ) -> None:
        """Lose the next calls of a method, or only their replies."""
        fault = error or StoreUnavailable(name, f"lost {when} it was done")
        self._losses.add(name, when, fault, times)

    @property
    def is_losing(self) -> bool:
        """Say whether something is still to be lost."""
        return self._losses.is_due

    def recover(self) -> None:
        """Be sound from now on."""
        self._losses.forget()

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        return await self._losses.around(name, call)


class FlakyPublisher:
    """A log that loses what it is told to lose."""

    def __init__(self, inner: OutboxPublisher) -> None:
        self._inner = inner
        self._losses = Losses()

    @property
    def calls(self) -> Counter[str]:
        """Return how often each method was called."""
        return self._losses.calls

    def lose(self, name: str, when: When, times: int = 1) -> None:
        """Lose the next calls of a method, or only their replies."""
        fault = PublicationNotDurable(f"lost {when} it was done")
        self._losses.add(name, when, fault, times)

    async def publish(self, envelope: CommittedEnvelope) -> LogPosition:
        """See `OutboxPublisher.publish`."""
        return await self._losses.around(
            "publish", lambda: self._inner.publish(envelope)
        )

    async def readiness(self) -> None:
        """See `OutboxPublisher.readiness`."""
        await self._losses.around("readiness", self._inner.readiness)


class ForgetfulPublisher:
    """A log that knows no keys: each call appends again, at another place (CL-10)."""

    def __init__(self, partition: str = "forgetful") -> None:
        self._partition = partition
        self.envelopes: list[CommittedEnvelope] = []

    async def publish(self, envelope: CommittedEnvelope) -> LogPosition:
        """See `OutboxPublisher.publish`."""
        self.envelopes.append(envelope)
        position = LogPosition(self._partition, len(self.envelopes))
        await asyncio.sleep(0)  # others come between, as over a network
        return position

    async def readiness(self) -> None:
        """See `OutboxPublisher.readiness`."""


class SlowStore(AtomicDelegatingStore):
    """A store whose every call waits, before and after, until it is let through.

    `turns` is a semaphore: a test releases it once for each half of a call. Given
    `seconds` instead, each half takes so long.
    """

    def __init__(self, inner: MessageStore, seconds: float | None = None) -> None:
        super().__init__(inner)
        self._seconds = seconds
        self.turns = asyncio.Semaphore(0)
        self._held = asyncio.Event()

    async def until_held(self) -> None:
        """Wait until a call stands and all turns were taken."""
        await self._held.wait()

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        await self._wait()
        result = await call()
        await self._wait()
        return result

    async def _wait(self) -> None:
        if self._seconds is not None:
            await asyncio.sleep(self._seconds)
            return
        if self.turns.locked():
            self._held.set()
        await self.turns.acquire()
