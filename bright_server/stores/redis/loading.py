"""What is written for the records of a copied store. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from bright_server.commit.encoding import encode_frozen
from bright_server.commit.observed_content import canonical_content
from bright_server.commit.records import (
    CommitState,
    FrozenDelivery,
)
from bright_server.commit.transfer import (
    CopiedAnchor,
    CopiedBinding,
    CopiedCard,
    CopiedCardConflict,
    CopiedCommit,
    CopiedConflict,
    CopiedConversation,
    CopiedFacts,
    CopiedLogEntry,
    CopiedMessage,
    CopiedProfile,
    CopiedRecord,
)
from bright_server.messages import ConversationKey
from bright_server.stores.redis.claims import is_at_home, observed_digest
from bright_server.stores.redis.conveyor import Command
from bright_server.stores.redis.keys import BINDINGS, TOKENS, Layout, ShardKeys
from bright_server.stores.redis.members import exact, of_record
from bright_server.wire.text import compact_json

Words = list[str | bytes | int]


def binding_commands(record: CopiedRecord) -> list[Command]:
    """Return what keeps a binding, as the script `add_binding` does."""
    assert isinstance(record, CopiedBinding)  # noqa: S101 - a page is of one kind
    binding = record.binding
    rest = compact_json([binding.label, binding.accounts, binding.created_at_ms])
    revoked = "" if binding.revoked_at_ms is None else binding.revoked_at_ms
    kept = f"{binding.authorization_version}\n{revoked}\n{rest}"
    return [
        ("HSET", BINDINGS, binding.binding_id, kept),
        ("HSET", TOKENS, record.token_digest, binding.binding_id),
    ]


def log_commands(
    layout: Layout, shard: ShardKeys, records: Sequence[CopiedMessage | CopiedLogEntry]
) -> list[Command]:
    """Return what appends to a shard's log: messages that go on together as one."""

    def run_of(
        record: CopiedMessage | CopiedLogEntry,
    ) -> tuple[ConversationKey | None, int]:
        number = record.position.offset
        if isinstance(record, CopiedLogEntry):
            return None, number
        return record.conversation, number - record.sequence

    commands: list[Command] = []
    for _, members in groupby(records, key=run_of):
        run = list(members)
        first = run[0]
        entry = f"{first.position.offset}-0"
        if isinstance(first, CopiedLogEntry):
            commands.append(("XADD", shard.log, entry, "k", first.key, "b", first.body))
            number = first.position.offset
            commands.append(("HSET", shard.log_keys, first.key, number))
            continue
        messages = [each for each in run if isinstance(each, CopiedMessage)]
        keys = layout.conversation(first.conversation)
        said = ("c", keys.ref, "q", first.sequence, "n", len(messages))
        commands.append(("XADD", shard.log, entry, *said))
        ids: Words = []
        members_of_history: Words = []
        for each in messages:
            ids += [each.message.message_id, f"{each.sequence},{each.position.offset}"]
            members_of_history += [each.sequence, _member(each)]
        commands.append(("HSET", keys.ids, *ids))
        commands.append(("ZADD", keys.history, *members_of_history))
    return commands


def commit_commands(layout: Layout, record: CopiedCommit) -> list[Command]:
    """Return what keeps a commit with its claim, settled, and its place in history."""
    key, place = record.key, record.coordinates
    keys, name = layout.commit(key, place.conversation)
    shard, claimed = layout.claim(key)
    account = place.conversation.channel_account_id
    conversation = place.conversation.conversation_id
    commands: list[Command] = [
        (
            "HSET", shard.claim(claimed), "a", account, "c", conversation,
            "o", key.origin, "t", key.tenant, "u", key.sender,
            "i", key.client_message_id,
        ),
        ("HSET", keys.shard.commit(name), *_hash_of(record)),
    ]  # fmt: skip
    if record.state < CommitState.COMMITTED:
        made = exact(record.created_at_ms)
        commands.append(("ZADD", keys.shard.due, made, name))
        commands.append(("ZADD", keys.open, place.sequence, place.sequence))
    if is_at_home(key, place.conversation):
        entry = f"{place.sequence},{_compared(record)}"
        commands.append(("HSET", keys.ids, key.client_message_id, entry))
    if record.record is None:
        return commands
    if record.state >= CommitState.RECORDED:
        member = f"{place.sequence} ".encode() + of_record(record.record)
        commands.append(("ZADD", keys.history, place.sequence, member))
    expires_at_ms = record.record.history_expires_at_ms
    if record.state is CommitState.COMMITTED and expires_at_ms is not None:
        named = f"{keys.ref} {place.sequence}"
        commands.append(("ZADD", keys.shard.expiry, expires_at_ms, named))
    return commands


def ledger_commands(
    layout: Layout, record: CopiedRecord, counts: Counter[str]
) -> list[Command]:
    """Return what keeps a conversation, or what one has beside its messages.

    `counts` says how many members there are of what is numbered by its members.
    """
    match record:
        case CopiedConversation():
            return _conversation(layout, record, counts)
        case CopiedAnchor():
            facts = layout.conversation(record.conversation).facts
            said = ("anchor", record.message_id, "anchor_sent", record.sent_at_ms)
            return [("HSET", facts, *said, "anchored", record.anchored_at_ms)]
        case CopiedConflict():
            key = layout.conversation(record.conversation).conflicts
            times = f"{counts[key]} {record.received_at_ms} {record.noted_at_ms}"
            counts[key] += 1
            return [("HSET", key, f"{record.content}\n{record.message_id}", times)]
        case CopiedProfile() | CopiedFacts():
            return [_newest(layout, record)]
        case CopiedCard() | CopiedCardConflict():
            return [_card(layout, record, counts)]
    raise AssertionError(f"{type(record).__name__} lies in no conversation")


def _conversation(
    layout: Layout, record: CopiedConversation, counts: Counter[str]
) -> list[Command]:
    keys = layout.conversation(record.conversation)
    known: dict[str, str | int | None] = {
        "account": record.conversation.channel_account_id,
        "conversation": record.conversation.conversation_id,
        "sequence": record.last_sequence,
        "title": record.title,
        "latest": record.latest_message_at_ms,
        "next": record.next_time_stamp,
        "complete": (
            None if record.history_complete is None else int(record.history_complete)
        ),
        "page": record.page,
    }
    said: Words = []
    for name, value in known.items():
        if value is not None:
            said += [name, value]
    number = counts[keys.shard.conversations]
    counts[keys.shard.conversations] += 1
    return [
        ("HSET", keys.facts, *said),
        ("ZADD", keys.shard.conversations, number, keys.ref),
    ]


def _newest(layout: Layout, record: CopiedProfile | CopiedFacts) -> Command:
    keys = layout.conversation(record.conversation)
    said: Words = [
        "observedAtMs", exact(record.observed_at_ms),
        "fingerprint", record.fingerprint,
        "committedAtMs", record.committed_at_ms,
        "bindingId", record.binding_id,
    ]  # fmt: skip
    if isinstance(record, CopiedFacts):
        return ("HSET", keys.buyer, *said, "facts", record.facts)
    if record.ali_id is not None:
        said += ["aliId", record.ali_id]
    return ("HSET", keys.profile, *said, "profile", record.profile)


def _card(
    layout: Layout, record: CopiedCard | CopiedCardConflict, counts: Counter[str]
) -> Command:
    keys = layout.conversation(record.conversation)
    scope = compact_json([record.message_id, record.card_kind])
    if isinstance(record, CopiedCard):
        key, at_ms = keys.cards, record.committed_at_ms
    else:
        key, at_ms = keys.card_conflicts, record.noted_at_ms
        scope = f"{scope}\n{record.content}"
    number = counts[key]
    counts[key] += 1
    kept = f"{number}\n{record.content}\n{at_ms}\n{record.binding_id}"
    return ("HSET", key, scope, kept)


def _member(record: CopiedMessage) -> bytes:
    message = record.message
    times = f"{record.sequence} {exact(message.sent_at_ms)} {record.received_at_ms}"
    head = f"{times} {record.committed_at_ms} ".encode()
    tail = f"\n{message.raw or ''}\n{message.message_id}".encode()
    return head + canonical_content(message) + tail


def _hash_of(record: CopiedCommit) -> Words:
    said: Words = [
        "s", int(record.state), "d", record.identity,
        "q", record.coordinates.sequence,
    ]  # fmt: skip
    if record.publication is not None:
        said += ["p", record.publication.partition, "o", record.publication.offset]
    if record.state is CommitState.COMMITTED:
        return [*said, "m", record.coordinates.message_id]
    assert record.record is not None  # noqa: S101 - an open one has all of it
    delivery = record.delivery or FrozenDelivery()
    return [*said, "f", encode_frozen(record.key, record.record, delivery)]


def _compared(record: CopiedCommit) -> str:
    """Return what a group compares with: a digest, or the place of what is gone."""
    if record.record is not None:
        return f",{observed_digest(record.key, record.record, record.identity)}"
    return str(record.publication.offset if record.publication else "")
