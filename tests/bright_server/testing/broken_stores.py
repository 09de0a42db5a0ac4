"""Stores with one fault each, which the contract suites must notice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from bright_server.clock import Clock
from bright_server.commit.contract import Membership
from bright_server.commit.encoding import envelope_of
from bright_server.commit.groups import ObservedBatch
from bright_server.commit.identity import identity_digest
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommittedMessage,
    FrozenDelivery,
    HistoryPage,
    HistoryQuery,
    LoadedCommit,
    OutboxPublication,
    ReserveCandidate,
    ReserveResult,
)
from bright_server.errors import StoreUnavailable
from bright_server.fanout.contract import CommittedEnvelope, LogPosition
from bright_server.messages import ObservedMessage
from bright_server.stores.memory.commits import MemoryMessageStore
from bright_server.stores.memory.state import Conversation
from bright_server.stores.memory.store import MemoryBackend, MemoryDatabase
from tests.bright_server.stores.memory.under_test import MemoryUnderTest


class TakesANumberForARepeat(MemoryMessageStore):
    async def reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        if self._commits.of_key(request.key) is not None:
            self._commits.conversations[request.conversation].last_sequence += 1
        return await super().reserve(request, delivery, candidate)


class FreezesAgain(MemoryMessageStore):
    async def reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        there = await super().reserve(request, delivery, candidate)
        if isinstance(there, CommitIntent):
            there = replace(there, delivery=delivery)
            self._commits.intents[request.key] = there
        return there


class ComparesNothing(MemoryMessageStore):
    def _of_request(self, request: AuthenticatedSend) -> LoadedCommit | None:
        return self._commits.of_key(request.key)


class ComparesNothingOnceCommitted(MemoryMessageStore):
    def _of_request(self, request: AuthenticatedSend) -> LoadedCommit | None:
        there = self._commits.of_key(request.key)
        if isinstance(there, CommittedMessage):
            return there
        return super()._of_request(request)


class BelievesItsCaller(MemoryMessageStore):
    def _known(self, intent: CommitIntent) -> LoadedCommit:
        there = super()._known(intent)
        if isinstance(there, CommitIntent) and intent.publication is not None:
            return intent
        return there


class CommitsWithoutARecord(MemoryMessageStore):
    async def mark_published_and_committed(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        there = self._known(intent)
        if isinstance(there, CommittedMessage):
            return there
        return self._commits.commit(there, publication)


class WritesHalf(MemoryMessageStore):
    async def mark_published_and_committed(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        there = self._known(intent)
        if isinstance(there, CommitIntent):
            self._commits.outbox(there, publication)
        return await super().mark_published_and_committed(intent, publication)


class TakesTheLastPublication(MemoryMessageStore):
    def _publishable(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> LoadedCommit:
        there = self._known(intent)
        if isinstance(there, CommitIntent) and there.publication is not None:
            return replace(there, publication=publication)
        return super()._publishable(intent, publication)


class RecoversTheYoungestFirst(MemoryMessageStore):
    async def scan_recoverable_commits(
        self, older_than_ms: int, max_items: int
    ) -> Sequence[CommitIntent]:
        due = await super().scan_recoverable_commits(older_than_ms, 10**6)
        return list(reversed(due))[:max_items]


class RecoversWhatIsReservedOnly(MemoryMessageStore):
    async def scan_recoverable_commits(
        self, older_than_ms: int, max_items: int
    ) -> Sequence[CommitIntent]:
        due = await super().scan_recoverable_commits(older_than_ms, max_items)
        return [each for each in due if each.state == 1]


class GivesTheLeaseToAll(MemoryMessageStore):
    async def hold_lease(self, name: str, holder: str, ttl_ms: int) -> bool:
        return True


class NeverEndsALease(MemoryMessageStore):
    async def hold_lease(self, name: str, holder: str, ttl_ms: int) -> bool:
        return await super().hold_lease(name, holder, ttl_ms * 10**9)


class TrustsALeaseForAnHour(MemoryMessageStore):
    async def hold_lease(self, name: str, holder: str, ttl_ms: int) -> bool:
        held, until_ms = self._leases.get(name, (holder, 0))
        if held != holder and 0 < until_ms - self._clock.now_ms() <= 3_600_000:
            return False
        return await super().hold_lease(name, holder, ttl_ms)


class ShowsHistoryToStrangers(MemoryMessageStore):
    async def history_page(self, query: HistoryQuery) -> HistoryPage:
        return await super().history_page(replace(query, actor="seller-1"))


class ForgetsTheByteCap(MemoryMessageStore):
    async def history_page(self, query: HistoryQuery) -> HistoryPage:
        most = self._settings.max_history_bytes
        if 1 <= query.max_bytes <= most:
            query = replace(query, max_bytes=most)
        return await super().history_page(query)


class NeverForgetsHistory(MemoryMessageStore):
    async def history_page(self, query: HistoryQuery) -> HistoryPage:
        for conversation in self._commits.conversations.values():
            conversation.expiries.clear()
        return await super().history_page(query)


class PublishesWhenItRecords(MemoryMessageStore):
    async def put_record(self, intent: CommitIntent) -> None:
        await super().put_record(intent)
        self._commits.log.append(envelope_of(intent))


class LetsErrorsOfPythonThrough(MemoryMessageStore):
    async def reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        identity_digest(request)
        return await super().reserve(request, delivery, candidate)


class TalksOfItsTables(MemoryMessageStore):
    async def reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        try:
            return await super().reserve(request, delivery, candidate)
        except StoreUnavailable as error:
            said = 'a row of the relation "single_commit" is not UTF8'
            raise StoreUnavailable("reserve", said) from error


class BrokenUnderTest(MemoryUnderTest):
    """The store in memory with one of the stores above in it."""

    def __init__(self, broken: type[MemoryMessageStore]) -> None:
        super().__init__()
        self._broken = broken

    @asynccontextmanager
    async def opened(
        self, clock: Clock, membership: Membership, **changes: object
    ) -> AsyncIterator[MemoryBackend]:
        async with super().opened(clock, membership, **changes) as backend:
            sound = backend.commits
            backend.commits = self._broken(
                sound._commits, sound._leases, membership, sound._settings, clock
            )
            self._break(backend)
            yield backend

    def _break(self, backend: MemoryBackend) -> None:
        """Break another part than the store of single commits."""


class ForgetsAtARestart(BrokenUnderTest):
    def __init__(self) -> None:
        super().__init__(MemoryMessageStore)

    @asynccontextmanager
    async def opened(
        self, clock: Clock, membership: Membership, **changes: object
    ) -> AsyncIterator[MemoryBackend]:
        async with super().opened(clock, membership, **changes) as backend:
            yield backend
        self.database = MemoryDatabase()


class PublishesEachTimeAgain(BrokenUnderTest):
    def __init__(self) -> None:
        super().__init__(MemoryMessageStore)

    def _break(self, backend: MemoryBackend) -> None:
        log = backend.publisher

        async def publish(envelope: CommittedEnvelope) -> LogPosition:
            log._positions.pop(envelope.key, None)
            return log.append(envelope)

        log.publish = publish  # type: ignore[method-assign]


class ReadsPastAnOpenPlace(BrokenUnderTest):
    def __init__(self) -> None:
        super().__init__(MemoryMessageStore)

    def _break(self, backend: MemoryBackend) -> None:
        self.database.commits.conversations.default_factory = lambda: Conversation(
            open_sequences=_Nothing()
        )


class _Nothing(set[int]):
    def add(self, element: int) -> None:
        """Forget it."""


class GroupsAcknowledgeWhatIsOpen(BrokenUnderTest):
    def __init__(self) -> None:
        super().__init__(MemoryMessageStore)

    def _break(self, backend: MemoryBackend) -> None:
        def finish(batch: ObservedBatch, message: ObservedMessage) -> None:
            """Leave it open."""

        backend.observations._finish = finish  # type: ignore[method-assign]
