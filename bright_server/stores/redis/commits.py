"""Single commits in Redis: the `MessageStore`.

The key of a commit lies in its sender's shard, its sequence in its conversation's. So a
reservation is two steps: the key is claimed, with everything frozen, and then the place
is reserved under the same key. A claim that was left alone is taken up by whoever meets
it: the same request again, a read of the commit, or the scan for recovery (MS-21).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bright_server.clock import Clock
from bright_server.commit.contract import Membership, MessageStore
from bright_server.commit.encoding import encode_frozen, record_of
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
    PublicationConflict,
    WrongCommitState,
)
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey
from bright_server.settings import Settings
from bright_server.stores.redis.claims import Claims
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.durability import prove_durable
from bright_server.stores.redis.intents import KeptCommit
from bright_server.stores.redis.keys import Layout, lease
from bright_server.stores.redis.members import of_record
from bright_server.stores.redis.reader import RedisHistory
from bright_server.stores.redis.recovery import scan
from bright_server.stores.redis.scripts import Call, call
from bright_server.stores.storable import check_storable, storable

_READING: Final = "read a commit"


class RedisMessageStore(MessageStore):
    """See `MessageStore`."""

    def __init__(
        self,
        link: RedisLink,
        layout: Layout,
        membership: Membership,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._link = link
        self._layout = layout
        self._claims = Claims(link, layout)
        self._history = RedisHistory(link, layout, membership, settings, clock)

    async def reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        """See `MessageStore.reserve`."""
        with storable("reserve a message"):
            return await self._reserve(request, delivery, candidate)

    async def _reserve(
        self,
        request: AuthenticatedSend,
        delivery: FrozenDelivery,
        candidate: ReserveCandidate,
    ) -> ReserveResult:
        check_storable(request, delivery, candidate)
        grouped = await self._claims.grouped_elsewhere(request)
        if grouped is not None:
            raise IdentityConflict(request.key.client_message_id)
        record = record_of(request, candidate)
        frozen = encode_frozen(request.key, record, delivery)
        claim = await self._claims.take(
            request, identity_digest(request), frozen, candidate.created_at_ms
        )
        if claim.conversation != request.conversation:
            raise IdentityConflict(request.key.client_message_id)
        # Placed before it is compared: a claim that was left alone may have been
        # overtaken by a group, and then what the group has committed is the first.
        return _of_request(request, await self._claims.place(request.key, claim))

    async def put_record(self, intent: CommitIntent) -> None:
        """See `MessageStore.put_record`."""
        keys, name = self._layout.commit(intent.key, intent.coordinates.conversation)
        before, _ = await self._link.talk(
            "write a message's record",
            [
                call(
                    "record",
                    (keys.shard.commit(name), keys.history),
                    (of_record(intent.record),),
                ),
                # Its place is reserved, for sure: the claim can be let go of.
                self._claims.settling(intent.key),
            ],
            durable=True,
        )
        if not before:
            await self._known_otherwise(intent)

    async def mark_outbox_published(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> None:
        """See `MessageStore.mark_outbox_published`."""
        await self._advance("publish", intent, publication)

    async def mark_published_and_committed(
        self, intent: CommitIntent, publication: OutboxPublication
    ) -> CommittedMessage:
        """See `MessageStore.mark_published_and_committed`: one script (MS-23)."""
        return await self._advance("both", intent, publication)

    async def mark_committed(self, intent: CommitIntent) -> CommittedMessage:
        """See `MessageStore.mark_committed`."""
        return await self._advance("commit", intent, None)

    async def load_commit(
        self, key: CommitKey, conversation: ConversationKey
    ) -> LoadedCommit | None:
        """See `MessageStore.load_commit`; what was claimed alone gets its place."""
        with storable(_READING):
            kept = await self._claims.load(key, conversation)
        return None if kept is None else kept.commit

    async def conversation_of(self, key: CommitKey) -> ConversationKey | None:
        """See `MessageStore.conversation_of`."""
        with storable(_READING):
            return await self._claims.conversation_of(key)

    async def load_commit_for_request(
        self, request: AuthenticatedSend
    ) -> LoadedCommit | None:
        """See `MessageStore.load_commit_for_request`."""
        conversation = await self.conversation_of(request.key)
        if conversation is None:
            return None
        if conversation != request.conversation:
            raise IdentityConflict(request.key.client_message_id)
        kept = await self._claims.load(request.key, conversation)
        return None if kept is None else _of_request(request, kept)

    async def scan_recoverable_commits(
        self, older_than_ms: int, max_items: int
    ) -> Sequence[CommitIntent]:
        """See `MessageStore.scan_recoverable_commits`; claims left alone are placed.

        On its way, history lets go of messages whose time is over, within a bound.
        """
        shards = self._layout.every_shard()
        await self._history.sweep(shards, max_items)
        return await scan(self._link, shards, self._claims, older_than_ms, max_items)

    async def hold_lease(self, name: str, holder: str, ttl_ms: int) -> bool:
        """See `MessageStore.hold_lease`."""
        held = await self._link.run(
            "take a lease", call("lease", (lease(name),), (holder, ttl_ms))
        )
        return bool(held)

    async def history_page(self, query: HistoryQuery) -> HistoryPage:
        """See `MessageStore.history_page`."""
        return await self._history.page(query)

    async def readiness(self) -> None:
        """See `MessageStore.readiness`."""
        await prove_durable(self._link)

    async def _advance(
        self, step: str, intent: CommitIntent, publication: OutboxPublication | None
    ) -> CommittedMessage:
        reply = await self._link.run(
            "move a commit on", self._advancing(step, intent, publication)
        )
        word, *rest = reply
        needed = CommitState.OUTBOXED if step == "commit" else CommitState.RECORDED
        client_message_id = intent.key.client_message_id
        match word:
            case b"unknown":
                return await self._known_otherwise(intent)
            case b"state":
                found = CommitState(int(rest[0])).name
                raise WrongCommitState(client_message_id, needed.name, found)
            case b"other":
                raise PublicationConflict(client_message_id)
            case b"published":
                # Nobody looks at it: the commit is only published.
                return CommittedMessage(
                    intent.key, intent.coordinates, publication or _nowhere()
                )
        _, message_id, sequence, partition, offset = rest
        return CommittedMessage(
            intent.key,
            Coordinates(
                intent.coordinates.conversation, message_id.decode(), int(sequence)
            ),
            OutboxPublication(LogPosition(partition.decode(), int(offset))),
        )

    def _advancing(
        self, step: str, intent: CommitIntent, publication: OutboxPublication | None
    ) -> Call:
        place = intent.coordinates
        keys, name = self._layout.commit(intent.key, place.conversation)
        position = (publication or _nowhere()).position
        expires_at_ms = intent.record.history_expires_at_ms
        return call(
            "advance",
            (
                keys.shard.commit(name),
                keys.shard.due,
                keys.shard.expiry,
                keys.open,
            ),
            (
                step,
                position.partition,
                position.offset,
                name,
                place.message_id,
                "" if expires_at_ms is None else expires_at_ms,
                f"{keys.ref} {place.sequence}",
            ),
        )

    async def _known_otherwise(self, intent: CommitIntent) -> CommittedMessage:
        kept = await self._claims.load(intent.key, intent.coordinates.conversation)
        if kept is None or not isinstance(kept.commit, CommittedMessage):
            raise CommitUnknown(intent.key.client_message_id)
        return kept.commit


def _of_request(request: AuthenticatedSend, kept: KeptCommit) -> LoadedCommit:
    with storable("compare a request"):
        is_same = is_identity_of(kept.identity, request)
    if not is_same:
        raise IdentityConflict(request.key.client_message_id)
    return kept.commit


def _nowhere() -> OutboxPublication:
    return OutboxPublication(LogPosition("", 0))
