"""A committer over a backend under test, with doubles that a test can reach."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bright_server.commit.admission import (
    EmbeddedContentRule,
    SendAdmission,
    TokenBucketQuota,
)
from bright_server.commit.backend import Backend
from bright_server.commit.committer import DurableCommitter
from bright_server.commit.contract import MessageStore
from bright_server.commit.fault_points import NO_FAULTS, FaultPoints
from bright_server.commit.records import (
    AuthenticatedSend,
    CommittedMessage,
    FrozenDelivery,
    ReserveCandidate,
)
from bright_server.fanout.contract import OutboxPublisher
from bright_server.settings import Settings
from bright_server.testing.flaky_store import FlakyPublisher, FlakyStore, SlowStore
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.sends import (
    DELIVERY,
    Everybody,
    candidate_of,
    changed_settings,
)
from bright_server.testing.under_test import StoreUnderTest


@dataclass(frozen=True, slots=True)
class Committing:
    """A committer, and everything around it."""

    backend: Backend
    store: FlakyStore
    log: FlakyPublisher
    members: Everybody
    clock: ManualClock
    committer: DurableCommitter

    async def commit(self, request: AuthenticatedSend) -> CommittedMessage:
        """Commit a request."""
        return await self.committer.commit(request, *self.given(request))

    @staticmethod
    def given(request: AuthenticatedSend) -> tuple[FrozenDelivery, ReserveCandidate]:
        """Return what goes with a request."""
        return DELIVERY, candidate_of(request)


@asynccontextmanager
async def committing(
    stores: StoreUnderTest,
    faults: FaultPoints = NO_FAULTS,
    clock: ManualClock | None = None,
    **changes: object,
) -> AsyncIterator[Committing]:
    """Open the store under test and put a committer over it, which never pauses."""
    clock = clock or ManualClock()
    members = Everybody()
    settings = changed_settings(commit_retry_seconds=0, **changes)
    async with stores.opened(clock, members) as backend:
        # Slow, so that others come between any two steps, over a store in memory too.
        store = FlakyStore(SlowStore(backend.commits, seconds=0))
        log = FlakyPublisher(backend.publisher)
        committer = committer_over(store, log, members, settings, clock, faults)
        yield Committing(backend, store, log, members, clock, committer)


def committer_over(
    store: MessageStore,
    log: OutboxPublisher,
    members: Everybody,
    settings: Settings,
    clock: ManualClock,
    faults: FaultPoints = NO_FAULTS,
) -> DurableCommitter:
    """Return a committer with the embedded checks."""
    admission = SendAdmission(
        members,
        EmbeddedContentRule(settings),
        TokenBucketQuota(settings, clock),
        settings,
    )
    return DurableCommitter(store, log, admission, settings, faults)
