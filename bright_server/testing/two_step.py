"""Any back end without its atomic step: the proof of the inherited default (MS-24)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from bright_server.authorization.contract import BindingLedger
from bright_server.clock import Clock
from bright_server.commit.backend import Backend
from bright_server.commit.contract import Membership, MessageStore
from bright_server.commit.fault_points import NO_FAULTS, FaultPoint, FaultPoints
from bright_server.commit.groups import ObservationStore
from bright_server.commit.reading import MessageReader
from bright_server.commit.records import CommitIntent, CommitKey, OutboxPublication
from bright_server.fanout.contract import OutboxPublisher
from bright_server.testing.delegating_store import DelegatingStore
from bright_server.testing.under_test import Capabilities, StoreUnderTest


class TwoStepStore(DelegatingStore):
    """A store without the atomic step, made of any other (MS-24).

    It inherits the contract's default, and says when it stands between its two steps.
    """

    def __init__(self, inner: MessageStore, faults: FaultPoints = NO_FAULTS) -> None:
        super().__init__(inner)
        self._faults = faults

    async def mark_outbox_published(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> None:
        """See `MessageStore.mark_outbox_published`."""
        await super().mark_outbox_published(intent, publication)
        await self._faults.reach(FaultPoint.BETWEEN_TWO_STEPS)


@dataclass(frozen=True, slots=True)
class TwoStepBackend:
    """See `Backend`: another one's doors, but for the crippled one."""

    commits: MessageStore
    observations: ObservationStore
    publisher: OutboxPublisher
    bindings: BindingLedger
    messages: MessageReader
    whole: Backend

    async def prove_writable(self) -> None:
        """See `Backend.prove_writable`."""
        await self.whole.prove_writable()


def crippled(backend: Backend, faults: FaultPoints = NO_FAULTS) -> TwoStepBackend:
    """Return a back end without its atomic step."""
    return TwoStepBackend(
        TwoStepStore(backend.commits, faults),
        backend.observations,
        backend.publisher,
        backend.bindings,
        backend.messages,
        backend,
    )


class TwoStepUnderTest:
    """See `StoreUnderTest`: another one, crippled."""

    spec = None

    def __init__(self, inner: StoreUnderTest) -> None:
        self._inner = inner

    @property
    def can(self) -> Capabilities:
        """See `StoreUnderTest.can`."""
        return replace(self._inner.can, atomic_step=False)

    @asynccontextmanager
    async def opened(
        self, clock: Clock, membership: Membership, **changes: object
    ) -> AsyncIterator[TwoStepBackend]:
        """See `StoreUnderTest.opened`."""
        async with self._inner.opened(clock, membership, **changes) as backend:
            yield crippled(backend)

    async def published(self, backend: Backend) -> Sequence[str]:
        """See `StoreUnderTest.published`."""
        return await self._inner.published(_whole(backend))

    async def replace_identity(
        self, backend: Backend, key: CommitKey, identity: bytes
    ) -> None:
        """See `StoreUnderTest.replace_identity`."""
        await self._inner.replace_identity(_whole(backend), key, identity)

    async def replace_frozen(
        self, backend: Backend, key: CommitKey, frozen: bytes
    ) -> bytes:
        """See `StoreUnderTest.replace_frozen`."""
        return await self._inner.replace_frozen(_whole(backend), key, frozen)


def _whole(backend: Backend) -> Backend:
    return backend.whole if isinstance(backend, TwoStepBackend) else backend
