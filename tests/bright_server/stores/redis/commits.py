"""Single commits for the tests of Redis, and members of every conversation."""

from __future__ import annotations

from bright_server.commit.encoding import envelope_of
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommittedMessage,
    FrozenDelivery,
    MessageContent,
    OutboxPublication,
    ReserveCandidate,
)
from bright_server.messages import ConversationKey
from bright_server.stores.redis.store import RedisBackend
from tests.bright_server.stores.sqlite.works import KEY

DELIVERY = FrozenDelivery("buyer")
BORN_MS = 1_750_000_000_000


class Everybody:
    async def is_member(self, actor: str, conversation: ConversationKey) -> bool:
        return True


def send(
    number: int = 1, text: str = "x" * 100, conversation: ConversationKey = KEY
) -> AuthenticatedSend:
    key = CommitKey("sent", "tenant", "seller", f"client-{number}")
    content = MessageContent("seller", "outbound", "text", text)
    return AuthenticatedSend(key, conversation, content, "device")


def candidate(number: int = 1, expires_at_ms: int | None = None) -> ReserveCandidate:
    message_id = f"018f3b2e-7a4c-7d10-9e5f-{number:012}"
    return ReserveCandidate(message_id, BORN_MS + number, expires_at_ms)


async def reserved(
    store: RedisBackend, number: int = 1, expires_at_ms: int | None = None
) -> CommitIntent:
    found = await store.commits.reserve(
        send(number), DELIVERY, candidate(number, expires_at_ms)
    )
    assert isinstance(found, CommitIntent)
    return found


async def published(store: RedisBackend, intent: CommitIntent) -> OutboxPublication:
    return OutboxPublication(await store.publisher.publish(envelope_of(intent)))


async def committed(
    store: RedisBackend, number: int = 1, expires_at_ms: int | None = None
) -> CommittedMessage:
    intent = await reserved(store, number, expires_at_ms)
    await store.commits.put_record(intent)
    publication = await published(store, intent)
    return await store.commits.mark_published_and_committed(intent, publication)
