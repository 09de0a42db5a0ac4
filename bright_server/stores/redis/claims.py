"""Claimed keys, and the places that are reserved under them: two shards, two steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bright_server.commit.encoding import decode_intent
from bright_server.commit.identity import identity_digest, is_identity_of
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitKey,
    CommitState,
    FrozenDelivery,
    MessageRecord,
)
from bright_server.errors import StoreUnavailable
from bright_server.messages import ConversationKey
from bright_server.stores.observed_commits import request_of
from bright_server.stores.redis.connection import RedisLink
from bright_server.stores.redis.intents import (
    INCOMPARABLE,
    KeptCommit,
    content_digest,
    grouped_commit,
    kept_commit,
)
from bright_server.stores.redis.keys import Layout
from bright_server.stores.redis.members import exact, observed_said
from bright_server.stores.redis.scripts import Call, call

_CLAIM_FIELDS: Final = ("d", "a", "c", "f")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed key. Once its place is reserved, only the conversation stays."""

    conversation: ConversationKey
    identity: bytes | None
    frozen: bytes | None


class Claims:
    """Takes claims, reserves places under them, and reads both."""

    def __init__(self, link: RedisLink, layout: Layout) -> None:
        self._link = link
        self._layout = layout

    async def take(
        self,
        request: AuthenticatedSend,
        identity: bytes,
        frozen: bytes,
        created_at_ms: int,
    ) -> Claim:
        """Claim a key, or find the claim of it that was first (MS-11)."""
        shard, name = self._layout.claim(request.key)
        conversation = request.conversation
        reply = await self._link.run(
            "claim a message's key",
            call(
                "claim",
                (shard.claim(name), shard.claims),
                (
                    identity, conversation.channel_account_id,
                    conversation.conversation_id, frozen, exact(created_at_ms), name,
                    request.key.origin, request.key.tenant, request.key.sender,
                    request.key.client_message_id,
                ),
            ),
        )  # fmt: skip
        return _claim(reply)

    async def place(self, key: CommitKey, claim: Claim) -> KeptCommit:
        """Reserve the place of a claimed message, or find it.

        Raises:
            StoreUnavailable: also where the claim is settled and the commit not there.
        """
        if claim.identity is None or claim.frozen is None:
            kept = await self._placed(key, claim.conversation)
            if kept is None:
                raise StoreUnavailable(
                    "find a commit",
                    "its key is claimed and its place is gone: the server has lost"
                    " writes, restore it",
                )
            return kept
        reply = await self._link.run(
            "reserve a message's place", self._reserving(key, claim.conversation, claim)
        )
        if reply[0] == b"commit":
            return kept_commit(key, claim.conversation, reply[1])
        await self._unclaim(key)
        return self._grouped(key, claim.conversation, *reply[1:])

    async def load(
        self, key: CommitKey, conversation: ConversationKey
    ) -> KeptCommit | None:
        """Return what stands under a key in a conversation."""
        kept = await self._placed(key, conversation)
        if kept is not None:
            return kept
        claim = await self._claim_of(key)
        if claim is None or claim.conversation != conversation:
            return None
        return await self.place(key, claim)

    async def conversation_of(self, key: CommitKey) -> ConversationKey | None:
        """Return where a key was claimed, or where a group has committed it."""
        claim = await self._claim_of(key)
        if claim is not None:
            return claim.conversation
        if key.origin != "observed":
            return None
        home = ConversationKey(key.tenant, key.sender)
        return None if await self._placed(key, home) is None else home

    async def grouped_elsewhere(self, request: AuthenticatedSend) -> KeptCommit | None:
        """Return what a group has under this key, if the request is of elsewhere."""
        key = request.key
        home = ConversationKey(key.tenant, key.sender)
        if key.origin != "observed" or home == request.conversation:
            return None
        return await self._placed(key, home)

    async def of_name(self, shard_number: int, name: str) -> KeptCommit | None:
        """Return what a claim has come to that lies under this name, placed now."""
        shard = self._layout.every_shard()[shard_number]
        reply = await self._link.run(
            "read a claim", ("HMGET", shard.claim(name), *_CLAIM_FIELDS)
        )
        if reply[3] is None:
            return None
        claim = _claim(reply)
        key, _, _ = _thawed(claim)
        kept = await self.place(key, claim)
        await self._link.run("settle a claim", self.settling(key))
        return kept

    def settling(self, key: CommitKey) -> Call:
        """Return the command that shortens a claim; its place is surely reserved."""
        shard, name = self._layout.claim(key)
        return call("settle", (shard.claim(name), shard.claims), (name,))

    async def _unclaim(self, key: CommitKey) -> None:
        shard, name = self._layout.claim(key)
        await self._link.run(
            "drop a claim", call("unclaim", (shard.claim(name), shard.claims), (name,))
        )

    async def _claim_of(self, key: CommitKey) -> Claim | None:
        shard, name = self._layout.claim(key)
        # A claim is no ground for an ACK: the place is, which is read after it.
        reply = await self._link.run(
            "read a claim",
            ("HMGET", shard.claim(name), *_CLAIM_FIELDS),
            durable=False,
        )
        return None if reply[1] is None else _claim(reply)

    async def _placed(
        self, key: CommitKey, conversation: ConversationKey
    ) -> KeptCommit | None:
        keys, name = self._layout.commit(key, conversation)
        read_commit = ("HGETALL", keys.shard.commit(name))
        if not is_at_home(key, conversation):
            found = await self._link.run("read a commit", read_commit)
            return kept_commit(key, conversation, found) if found else None
        found, entry = await self._link.talk(
            "read a commit",
            [read_commit, ("HGET", keys.ids, key.client_message_id)],
            durable=True,
        )
        if found:
            return kept_commit(key, conversation, found)
        # The third part is there of a message that was reserved by itself.
        if entry is None or entry.count(b",") > 1:
            return None
        sequence = entry.partition(b",")[0]
        members = await self._link.run(
            "read a message", ("ZRANGEBYSCORE", keys.history, sequence, sequence)
        )
        if not members:
            return None
        _, sent, _, _, said = members[0].split(b" ", 4)
        return self._grouped(key, conversation, entry, said, sent)

    def _grouped(
        self,
        key: CommitKey,
        conversation: ConversationKey,
        entry: bytes,
        said: bytes,
        sent: bytes,
    ) -> KeptCommit:
        partition = self._layout.conversation(conversation).shard.partition
        commit = grouped_commit(key, conversation, entry, partition)
        message = observed_said(said, int(sent))
        return KeptCommit(commit, identity_digest(request_of(conversation, message)))

    def _reserving(
        self, key: CommitKey, conversation: ConversationKey, claim: Claim
    ) -> Call:
        _, record, _ = _thawed(claim)
        keys, name = self._layout.commit(key, conversation)
        observed: tuple[str, ...] = ()
        if is_at_home(key, conversation):
            digest = observed_digest(key, record, claim.identity or b"")
            observed = (key.client_message_id, digest)
        return call(
            "reserve",
            (
                keys.shard.commit(name), keys.facts, keys.shard.due, keys.ids,
                keys.history, keys.open, keys.shard.conversations,
            ),
            (
                claim.identity or b"", claim.frozen or b"", record.created_at_ms, name,
                conversation.channel_account_id, conversation.conversation_id, keys.ref,
                *observed,
            ),
        )  # fmt: skip


def observed_digest(key: CommitKey, record: MessageRecord, identity: bytes) -> str:
    """Return what a group compares a page's message with, if it is reserved alone."""
    request = AuthenticatedSend(
        key,
        record.conversation,
        record.content,
        None,
        record.mentions,
        record.reply_to,
    )
    # A request with a device has another identity than a page's message.
    if not is_identity_of(identity, request):
        return INCOMPARABLE
    return content_digest(request, record)


def is_at_home(key: CommitKey, conversation: ConversationKey) -> bool:
    """Say whether a group could have committed this key in this conversation."""
    home = ConversationKey(key.tenant, key.sender)
    return key.origin == "observed" and home == conversation


def _claim(reply: Sequence[bytes | None]) -> Claim:
    identity, account, conversation, frozen = reply
    named = ConversationKey((account or b"").decode(), (conversation or b"").decode())
    return Claim(named, identity, frozen)


def _thawed(claim: Claim) -> tuple[CommitKey, MessageRecord, FrozenDelivery]:
    intent = decode_intent(
        claim.frozen or b"", claim.identity or b"", 0, CommitState.RESERVED, None
    )
    return intent.key, intent.record, intent.delivery
