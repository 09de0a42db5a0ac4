"""The group committer: one writer for all connections.

While one group is on its way to the disk, whatever the connections ask for gathers;
then all of it becomes the next group. So the price of a durable commit is shared by
everybody who waits, and nobody waits for a timer. What may gather is bounded; over the
bound, work is refused and not queued.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from bright_server.clock import Clock
from bright_server.commit.groups import (
    Claim,
    Discovery,
    NotStored,
    ObservationStore,
    ObservedBatch,
    ObservedProfiles,
    Outcome,
    RenderedCards,
    Work,
)
from bright_server.errors import CommitterStopped, Overloaded, StoreUnavailable
from bright_server.messages import ConversationKey
from bright_server.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One group, for whoever watches: how much it was, and how long it took."""

    items: int
    messages: int
    seconds: float
    outcomes: tuple[Outcome, ...]


class CommitWatch(Protocol):
    """Is told of every group, after its outcomes were given away."""

    def group_committed(self, report: GroupReport) -> None:
        """Take note; must not raise and must not wait."""
        ...


class Committer(Protocol):
    """Takes work from everybody and has it committed, in groups and in order."""

    @property
    def pending_items(self) -> int:
        """Return how much work waits."""
        ...

    @property
    def pending_bytes(self) -> int:
        """Return what the waiting work holds in memory."""
        ...

    def submit(self, work: Work, size_bytes: int) -> asyncio.Future[Outcome]:
        """Take work; its outcome comes when it is on disk, or was not stored.

        `size_bytes` is what the work holds in memory while it waits. The future never
        fails: what goes wrong is an outcome.

        Raises:
            Overloaded: too much waits already.
            CommitterStopped: the server is going down.
        """
        ...

    async def drain(self) -> None:
        """Take no more work, and wait until all that was taken has its outcome."""
        ...

    def abandon(self) -> None:
        """Answer what is left without storing it: the server cannot wait longer."""
        ...


@dataclass(slots=True)
class Pending:
    """Work that waits for its outcome, and what it holds in memory meanwhile."""

    work: Work
    size_bytes: int
    outcome: asyncio.Future[Outcome]

    @property
    def messages(self) -> int:
        """Return how many messages it is; other work than batches is none."""
        return len(self.work.messages) if isinstance(self.work, ObservedBatch) else 0

    @property
    def rows(self) -> int:
        """Return how much of a group it takes: its messages, profiles, cards, rows."""
        if isinstance(self.work, ObservedProfiles):
            return len(self.work.profiles)
        if isinstance(self.work, RenderedCards):
            return len(self.work.cards)
        if isinstance(self.work, Discovery):
            return len(self.work.conversations)
        return self.messages


class GroupCommitter:
    """Takes work from everybody, and has it stored group by group."""

    def __init__(
        self,
        store: ObservationStore,
        settings: Settings,
        clock: Clock,
        watch: CommitWatch,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._watch = watch
        self._pending: deque[Pending] = deque()
        self._batches_of: Counter[ConversationKey] = Counter()
        self._arrived = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopped = False
        self.pending_bytes = 0

    @property
    def pending_items(self) -> int:
        """Return how much work waits, the group under way not counted."""
        return len(self._pending)

    def submit(self, work: Work, size_bytes: int) -> asyncio.Future[Outcome]:
        """See `Committer.submit`."""
        if self._stopped:
            raise CommitterStopped
        limit = self._settings.max_pending_bytes
        # Work under way counts too; a lone piece of work is never too big.
        if self.pending_bytes and self.pending_bytes + size_bytes > limit:
            raise Overloaded(self.pending_bytes, limit)
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._enqueue(Pending(work, size_bytes, outcome))
        return outcome

    async def run(self) -> None:
        """Commit groups until cancelled."""
        while True:
            await self._arrived.wait()
            group = self._take_group()
            if group:
                await self._commit(group)
            if not self._pending:
                self._arrived.clear()
                self._idle.set()

    async def drain(self) -> None:
        """Take no more work, and wait until all that was taken has its outcome."""
        self._stopped = True
        await self._idle.wait()

    def abandon(self) -> None:
        """Answer what is left without storing it: the server cannot wait longer."""
        while self._pending:
            self._settle(self._pending.popleft(), NotStored("the server is stopping"))

    def _enqueue(self, pending: Pending) -> None:
        self._pending.append(pending)
        self.pending_bytes += pending.size_bytes
        if isinstance(pending.work, ObservedBatch):
            self._batches_of[pending.work.conversation] += 1
        self._arrived.set()
        self._idle.clear()

    def _take_group(self) -> list[Pending]:
        group: list[Pending] = []
        rows = 0
        while self._pending and len(group) < self._settings.max_group_items:
            rows += self._pending[0].rows
            if group and rows > self._settings.max_group_messages:
                break
            group.append(self._pending.popleft())
        return self._without_early_claims(group)

    def _without_early_claims(self, group: list[Pending]) -> list[Pending]:
        """Put claims back whose conversation has batches that are not in this group.

        A claim is proven only when nothing of its conversation is pending (OT-50).
        """
        in_group = Counter(
            each.work.conversation
            for each in group
            if isinstance(each.work, ObservedBatch)
        )
        taken = []
        for each in group:
            work = each.work
            if isinstance(work, Claim) and (
                self._batches_of[work.conversation] > in_group[work.conversation]
            ):
                self._pending.append(each)
            else:
                taken.append(each)
        return taken

    async def _commit(self, group: list[Pending]) -> None:
        began = self._clock.steady_seconds()
        outcomes: Iterable[Outcome]
        try:
            outcomes = await self._store.commit_group([each.work for each in group])
        except StoreUnavailable as error:
            logger.warning("a group of %d was not stored: %s", len(group), error)
            outcomes = [NotStored(error.reason)] * len(group)
        except asyncio.CancelledError:
            for each in group:
                self._settle(each, NotStored("the server is stopping"))
            raise
        except Exception:
            # A fault of this program: the work is told so, the writer lives on.
            logger.exception("a group of %d failed", len(group))
            outcomes = [NotStored("internal error")] * len(group)
        given = tuple(outcomes)
        for each, outcome in zip(group, given, strict=True):
            self._settle(each, outcome)
        self._watch.group_committed(
            GroupReport(
                len(group),
                sum(each.messages for each in group),
                self._clock.steady_seconds() - began,
                given,
            )
        )

    def _settle(self, pending: Pending, outcome: Outcome) -> None:
        self.pending_bytes -= pending.size_bytes
        if isinstance(pending.work, ObservedBatch):
            key = pending.work.conversation
            self._batches_of[key] -= 1
            if not self._batches_of[key]:
                del self._batches_of[key]
        if not pending.outcome.done():
            pending.outcome.set_result(outcome)
