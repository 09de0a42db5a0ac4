"""What is kept in Redis as records of a copied store. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

from bright_server.commit.records import CommitIntent, CommitState
from bright_server.commit.transfer import (
    CopiedAnchor,
    CopiedCard,
    CopiedCardConflict,
    CopiedCommit,
    CopiedConflict,
    CopiedConversation,
    CopiedFacts,
    CopiedMessage,
    CopiedProfile,
    CopiedRecord,
)
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey
from bright_server.stores.redis.intents import KeptCommit
from bright_server.stores.redis.keys import ShardKeys
from bright_server.stores.redis.members import Member
from bright_server.wire.text import parse_json

SEVERAL: Final = frozenset({"conflicts", "cards", "card conflicts"})
"""Kinds that a conversation has several of."""
PARTS: Final = {  # by the names of `ConversationKeys`
    "conversations": "facts",
    "anchors": "facts",
    "conflicts": "conflicts",
    "profiles": "profile",
    "cards": "cards",
    "card conflicts": "card_conflicts",
    "facts": "buyer",
}


def commit_of(kept: KeptCommit, members: Sequence[bytes]) -> CopiedCommit:
    """Return a commit; its place in history is told of one that is committed alone."""
    found = kept.commit
    place = found.coordinates
    if isinstance(found, CommitIntent):
        return CopiedCommit(
            found.key,
            kept.identity,
            place,
            found.state,
            found.record.created_at_ms,
            found.publication.position if found.publication else None,
            found.record,
            found.delivery,
        )
    record = Member(place.conversation, members[0]).record if members else None
    return CopiedCommit(
        found.key,
        kept.identity,
        place,
        CommitState.COMMITTED,
        record.created_at_ms if record else 0,
        found.publication.position,
        record,
    )


def message_of(
    conversation: ConversationKey, member: Member, shard: ShardKeys, ahead: int
) -> CopiedMessage:
    """Return a message of a group; its place is so far ahead of its sequence."""
    return CopiedMessage(
        conversation,
        member.sequence,
        member.stored.message,
        member.received_at_ms,
        member.committed_at_ms,
        LogPosition(shard.partition, member.sequence + ahead),
    )


def records_of(
    kind: str, key: ConversationKey, kept: dict[str, str]
) -> Iterator[CopiedRecord]:
    """Yield what a conversation has of a kind, from one hash of it."""
    if kind == "conversations":
        yield _conversation(key, kept)
    elif kind == "anchors":
        if "anchor" in kept:
            times = int(kept["anchor_sent"]), int(kept["anchored"])
            yield CopiedAnchor(key, kept["anchor"], *times)
    elif kind == "conflicts":
        for said, noted in kept.items():
            content, _, message_id = said.partition("\n")
            _, received_at_ms, noted_at_ms = map(int, noted.split(" "))
            yield CopiedConflict(key, message_id, content, received_at_ms, noted_at_ms)
    elif kind in {"cards", "card conflicts"}:
        make = CopiedCard if kind == "cards" else CopiedCardConflict
        for scope, numbered in kept.items():
            names = cast("list[str]", parse_json(scope.partition("\n")[0]))
            _, content, at_ms, binding = numbered.split("\n", 3)
            yield make(key, names[0], names[1], content, int(at_ms), binding)
    elif kept:
        seen, written = int(kept["observedAtMs"]), int(kept["committedAtMs"])
        told = (kept["fingerprint"], seen, written, kept["bindingId"])
        if kind == "profiles":
            yield CopiedProfile(key, kept.get("aliId"), kept["profile"], *told)
        else:
            yield CopiedFacts(key, kept["facts"], *told)


def _conversation(key: ConversationKey, known: dict[str, str]) -> CopiedConversation:
    latest, complete, page = (known.get(n) for n in ("latest", "complete", "page"))
    return CopiedConversation(
        key,
        known.get("title"),
        None if latest is None else int(latest),
        int(known.get("sequence", 0)),
        known.get("next"),
        None if complete is None else complete == "1",
        None if page is None else int(page),
    )
