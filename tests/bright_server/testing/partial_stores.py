"""Stores that keep a rule in part: what is left out must be noticed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal, cast

from bright_server.clock import Clock
from bright_server.commit.backend import Backend
from bright_server.commit.contract import Membership, MessageStore
from bright_server.commit.encoding import record_of
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommittedMessage,
    FrozenDelivery,
    LoadedCommit,
    MessageContent,
    OutboxPublication,
    ReserveCandidate,
    ReserveResult,
)
from bright_server.stores.memory.commits import MemoryMessageStore
from bright_server.testing.delegating_store import AtomicDelegatingStore
from tests.bright_server.stores.sqlite.under_test import SqliteUnderTest

PARTS = (*(part.name for part in fields(MessageContent)), "device", "mentions",
         "reply_to")  # fmt: skip


def overlooking(part: str) -> type[MemoryMessageStore]:
    """Return a store whose digests leave out one part of what was sent."""

    class Overlooks(MemoryMessageStore):
        async def reserve(
            self,
            request: AuthenticatedSend,
            delivery: FrozenDelivery,
            candidate: ReserveCandidate,
        ) -> ReserveResult:
            is_first = self._commits.of_key(request.key) is None
            there = await super().reserve(_without(part, request), delivery, candidate)
            if is_first and isinstance(there, CommitIntent):
                # It is the digest alone that leaves it out, not the record.
                there = replace(there, record=record_of(request, candidate))
                self._commits.intents[request.key] = there
            return there

        def _of_request(self, request: AuthenticatedSend) -> LoadedCommit | None:
            return super()._of_request(_without(part, request))

    return Overlooks


def _without(part: str, request: AuthenticatedSend) -> AuthenticatedSend:
    if request.key.origin == "observed":
        return request  # a group has written its whole identity
    if part == "mentions":
        return replace(request, mentions=())
    if part == "device":
        return replace(request, device=None)
    if part == "reply_to":
        return replace(request, reply_to=None)
    blank: object = "nothing" if part in {"author_id", "direction", "kind"} else None
    changed = cast("dict[str, Any]", {part: blank})
    return replace(request, content=replace(request.content, **changed))


class TakesTwoSteps(MemoryMessageStore):
    """Claims the atomic step, and lets others in between its two."""

    async def mark_published_and_committed(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        await self.mark_outbox_published(intent, publication)
        await asyncio.sleep(0)
        return await self.mark_committed(intent)


class TwoDurableSteps(AtomicDelegatingStore):
    """Claims the atomic step over a real file, and makes two transactions of it."""

    async def mark_published_and_committed(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        await self.mark_outbox_published(intent, publication)
        return await self.mark_committed(intent)


class _Part:
    """One of a back end's doors, with something of it replaced."""

    def __init__(self, whole: object, **replaced: object) -> None:
        self._whole = whole
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> object:
        return getattr(self._whole, name)


async def _says_yes() -> None:
    """Write nothing, and be content."""


Fault = Literal[
    "none", "two steps", "store says yes", "log says yes", "back end says yes"
]


class PartialUnderTest(SqliteUnderTest):
    """The embedded store, a real file, with one fault."""

    def __init__(self, folder: Path, fault: Fault) -> None:
        super().__init__(folder)
        self.fault = fault

    @property
    def spec(self) -> str:
        return f"{__name__}:under_test {self.fault}|{self.folder}"

    @asynccontextmanager
    async def opened(  # type: ignore[override]
        self, clock: Clock, membership: Membership, **changes: object
    ) -> AsyncIterator[Backend]:
        async with super().opened(clock, membership, **changes) as whole:
            commits: MessageStore = whole.commits
            replaced: dict[str, object] = {}
            if self.fault == "two steps":
                replaced["commits"] = TwoDurableSteps(commits)
            elif self.fault == "store says yes":
                replaced["commits"] = _Part(commits, readiness=_says_yes)
            elif self.fault == "log says yes":
                replaced["publisher"] = _Part(whole.publisher, readiness=_says_yes)
            elif self.fault == "back end says yes":
                replaced["prove_writable"] = _says_yes
            yield cast("Backend", _Part(whole, **replaced))


def under_test(argument: str) -> PartialUnderTest:
    fault, _, folder = argument.partition("|")
    return PartialUnderTest(Path(folder), cast("Fault", fault))
