"""A store that hands everything on to another: what the doubles are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from bright_server.commit.contract import MessageStore
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommittedMessage,
    FrozenDelivery,
    HistoryPage,
    HistoryQuery,
    LoadedCommit,
    OutboxPublication,
    ReserveCandidate,
    ReserveResult,
)
from bright_server.messages import ConversationKey

T = TypeVar("T")


class DelegatingStore(MessageStore):
    """See `MessageStore`: hands on each call, but leaves the atomic step alone."""

    def __init__(self, inner: MessageStore) -> None:
        self._inner = inner

    async def _through(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        """Make one call of the inner store; a double puts its behaviour here."""
        del name
        return await call()

    async def reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        """See `MessageStore.reserve`."""
        call = partial(self._inner.reserve, request, delivery, candidate)
        return await self._through("reserve", call)

    async def put_record(self, intent: CommitIntent) -> None:
        """See `MessageStore.put_record`."""
        call = partial(self._inner.put_record, intent)
        await self._through("put_record", call)

    async def mark_outbox_published(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> None:
        """See `MessageStore.mark_outbox_published`."""
        call = partial(self._inner.mark_outbox_published, intent, publication)
        await self._through("mark_outbox_published", call)

    async def mark_committed(self, intent: CommitIntent) -> CommittedMessage:
        """See `MessageStore.mark_committed`."""
        call = partial(self._inner.mark_committed, intent)
        return await self._through("mark_committed", call)

    async def load_commit(
        self, key: CommitKey, conversation: ConversationKey
    ) -> LoadedCommit | None:
        """See `MessageStore.load_commit`."""
        call = partial(self._inner.load_commit, key, conversation)
        return await self._through("load_commit", call)

    async def conversation_of(self, key: CommitKey) -> ConversationKey | None:
        """See `MessageStore.conversation_of`."""
        call = partial(self._inner.conversation_of, key)
        return await self._through("conversation_of", call)

    async def load_commit_for_request(
        self, request: AuthenticatedSend
    ) -> LoadedCommit | None:
        """See `MessageStore.load_commit_for_request`."""
        call = partial(self._inner.load_commit_for_request, request)
        return await self._through("load_commit_for_request", call)

    async def scan_recoverable_commits(
        self, older_than_ms: int, max_items: int
    ) -> Sequence[CommitIntent]:
        """See `MessageStore.scan_recoverable_commits`."""
        call = partial(self._inner.scan_recoverable_commits, older_than_ms, max_items)
        return await self._through("scan_recoverable_commits", call)

    async def hold_lease(self, name: str, holder: str, ttl_ms: int) -> bool:
        """See `MessageStore.hold_lease`."""
        call = partial(self._inner.hold_lease, name, holder, ttl_ms)
        return await self._through("hold_lease", call)

    async def history_page(self, query: HistoryQuery) -> HistoryPage:
        """See `MessageStore.history_page`."""
        return await self._through(
            "history_page", partial(self._inner.history_page, query)
        )

    async def readiness(self) -> None:
        """See `MessageStore.readiness`."""
        await self._through("readiness", self._inner.readiness)


class AtomicDelegatingStore(DelegatingStore):
    """Hands on the atomic step too."""

    async def mark_published_and_committed(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        """See `MessageStore.mark_published_and_committed`."""
        call = partial(self._inner.mark_published_and_committed, intent, publication)
        return await self._through("mark_published_and_committed", call)
