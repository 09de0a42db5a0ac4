"""The door of single commits: the contract in its shortest form."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from bright_server.clock import Clock
from bright_server.commit.contract import Membership, MessageStore
from bright_server.commit.encoding import record_of
from bright_server.commit.identity import identity_digest, is_identity_of
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    Coordinates,
    FrozenDelivery,
    HistoryPage,
    HistoryQuery,
    LoadedCommit,
    OutboxPublication,
    ReserveCandidate,
    ReserveResult,
)
from bright_server.errors import (
    CommitUnknown,
    IdentityConflict,
    NotAMember,
    PublicationConflict,
    WrongCommitState,
)
from bright_server.messages import ConversationKey
from bright_server.settings import Settings
from bright_server.stores.history_pages import check_query, cut
from bright_server.stores.memory.state import Commits
from bright_server.stores.storable import check_storable, storable


class MemoryMessageStore(MessageStore):
    """See `MessageStore`."""

    def __init__(
        self,
        commits: Commits,
        leases: dict[str, tuple[str, int]],
        membership: Membership,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._commits = commits
        self._leases = leases
        self._membership = membership
        self._settings = settings
        self._clock = clock

    async def reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        """See `MessageStore.reserve`."""
        there = self._of_request(request)
        if there is not None:
            return there
        check_storable(request, delivery, candidate)
        with storable("reserve a message"):
            identity = identity_digest(request)
        conversation = self._commits.conversations[request.conversation]
        place = Coordinates(
            request.conversation, candidate.message_id, conversation.take_sequence()
        )
        intent = CommitIntent(
            request.key,
            identity,
            place,
            record_of(request, candidate),
            delivery,
            CommitState.RESERVED,
        )
        self._commits.reserve(intent)
        return intent

    async def put_record(self, intent: CommitIntent) -> None:
        """See `MessageStore.put_record`."""
        there = self._known(intent)
        if isinstance(there, CommitIntent) and there.state is CommitState.RESERVED:
            self._commits.record(there)

    async def mark_outbox_published(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> None:
        """See `MessageStore.mark_outbox_published`."""
        there = self._publishable(intent, publication)
        if isinstance(there, CommitIntent):
            self._commits.outbox(there, publication)

    async def mark_published_and_committed(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        """See `MessageStore.mark_published_and_committed`: one atomic step (MS-23)."""
        there = self._publishable(intent, publication)
        if isinstance(there, CommittedMessage):
            return there
        return self._commits.commit(there, publication)

    async def mark_committed(self, intent: CommitIntent) -> CommittedMessage:
        """See `MessageStore.mark_committed`."""
        there = self._known(intent)
        if isinstance(there, CommittedMessage):
            return there
        if there.publication is None:
            raise _wrong_state(there, CommitState.OUTBOXED)
        return self._commits.commit(there, there.publication)

    async def load_commit(
        self, key: CommitKey, conversation: ConversationKey
    ) -> LoadedCommit | None:
        """See `MessageStore.load_commit`."""
        there = self._commits.of_key(key)
        if there is None or there.coordinates.conversation != conversation:
            return None
        return there

    async def conversation_of(self, key: CommitKey) -> ConversationKey | None:
        """See `MessageStore.conversation_of`."""
        there = self._commits.of_key(key)
        return None if there is None else there.coordinates.conversation

    async def load_commit_for_request(
        self, request: AuthenticatedSend
    ) -> LoadedCommit | None:
        """See `MessageStore.load_commit_for_request`."""
        return self._of_request(request)

    async def scan_recoverable_commits(
        self, older_than_ms: int, max_items: int
    ) -> Sequence[CommitIntent]:
        """See `MessageStore.scan_recoverable_commits`."""
        due = (
            intent
            for intent in self._commits.intents.values()
            if intent.record.created_at_ms < older_than_ms
        )
        oldest = sorted(due, key=lambda intent: intent.record.created_at_ms)
        return list(islice(oldest, max_items))

    async def hold_lease(self, name: str, holder: str, ttl_ms: int) -> bool:
        """See `MessageStore.hold_lease`."""
        now_ms = self._clock.now_ms()
        holding, until_ms = self._leases.get(name, (holder, 0))
        # One that ends later was taken while the clock ran ahead: it is none.
        if holding != holder and now_ms < until_ms <= now_ms + 2 * ttl_ms:
            return False
        self._leases[name] = (holder, now_ms + ttl_ms)
        return True

    async def history_page(self, query: HistoryQuery) -> HistoryPage:
        """See `MessageStore.history_page`."""
        if not await self._membership.is_member(query.actor, query.conversation):
            raise NotAMember(query.actor)
        check_query(query, self._settings)
        found = self._commits.conversations.get(query.conversation)
        if found is None:
            return HistoryPage((), None, None, None)
        now_ms = self._clock.now_ms()
        seen = [each for each in found.sequences if not found.is_over(each, now_ms)]
        if not seen:
            return HistoryPage((), None, None, None)
        reading = found.newer if query.direction == "newer" else found.older
        items = (
            item
            for item in reading(query.anchor)
            if not found.is_over(item.sequence, now_ms)
        )
        return cut(items, query, seen[0], seen[-1])

    async def readiness(self) -> None:
        """See `MessageStore.readiness`: takes and gives back a lease, a real write."""
        name, holder = "readiness", "readiness"
        self._leases[name] = (holder, self._clock.now_ms())
        del self._leases[name]

    def _of_request(self, request: AuthenticatedSend) -> LoadedCommit | None:
        there = self._commits.of_key(request.key)
        if there is None:
            return None
        if isinstance(there, CommitIntent):
            identity = there.identity
        else:
            identity = self._commits.committed[request.key].identity
        with storable("compare a request"):
            is_same = is_identity_of(identity, request)
        if not is_same:
            raise IdentityConflict(request.key.client_message_id)
        return there

    def _known(self, intent: CommitIntent) -> LoadedCommit:
        there = self._commits.of_key(intent.key)
        if there is None:
            raise CommitUnknown(intent.key.client_message_id)
        return there

    def _publishable(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> LoadedCommit:
        there = self._known(intent)
        if isinstance(there, CommitIntent) and there.state is CommitState.RESERVED:
            raise _wrong_state(there, CommitState.RECORDED)
        if there.publication not in {None, publication}:
            raise PublicationConflict(intent.key.client_message_id)
        return there


def _wrong_state(there: CommitIntent, needed: CommitState) -> WrongCommitState:
    return WrongCommitState(there.key.client_message_id, needed.name, there.state.name)
