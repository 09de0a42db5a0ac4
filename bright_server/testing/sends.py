"""Requests for a store under test, and the shortest ways through a commit."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final, TypeVar, cast

from bright_server.authorization.embedded import issue_binding
from bright_server.commit.backend import Backend
from bright_server.commit.encoding import envelope_of
from bright_server.commit.groups import ObservedBatch
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    FrozenDelivery,
    HistoryQuery,
    LoadedCommit,
    MessageContent,
    OutboxPublication,
    ReserveCandidate,
)
from bright_server.messages import (
    ConversationKey,
    Grant,
    ObservedMessage,
    ObservedMessages,
)
from bright_server.settings import Settings

R = TypeVar("R", AuthenticatedSend, ReserveCandidate, HistoryQuery)

NOW_MS: Final = 1_750_000_000_000
ACCOUNT: Final = "account-1"
CONVERSATION: Final = ConversationKey(ACCOUNT, "conversation-1")
OTHER_CONVERSATION: Final = ConversationKey(ACCOUNT, "conversation-2")
DELIVERY: Final = FrozenDelivery(recipient="buyer-1")


class Everybody:
    """A membership that has everybody in it, but whom it was told to leave out."""

    def __init__(self, *strangers: str) -> None:
        self.strangers = set(strangers)

    async def is_member(self, actor: str, conversation: ConversationKey) -> bool:
        """See `Membership.is_member`."""
        return actor not in self.strangers


def changed(record: R, changes: dict[str, object]) -> R:
    """Return a record that differs so; a field that is none is refused."""
    return replace(record, **cast("dict[str, Any]", changes))


def changed_settings(**changes: object) -> Settings:
    """Return the default settings, but for these."""
    return Settings(**cast("dict[str, Any]", changes))


def sending(
    name: str = "m1", text: str = "hello", **changes: object
) -> AuthenticatedSend:
    """Return a request to send a text."""
    request = AuthenticatedSend(
        key=CommitKey("sent", "tenant-1", "seller-1", name),
        conversation=CONVERSATION,
        content=MessageContent("seller-1", "outbound", "text", text),
        device="device-1",
        mentions=("buyer-1",),
        reply_to="id-0",
    )
    return changed(request, changes)


def saying_everything(name: str = "m1", **changes: object) -> AuthenticatedSend:
    """Return a request of which no part is None."""
    content = MessageContent(
        "seller-1", "outbound", "card", "hello", '{"c":1}', '{"q":1}', '{"r":1}',
        NOW_MS, "custom-1", "body-1",
    )  # fmt: skip
    return changed(sending(name, content=content), changes)


def others_of(request: AuthenticatedSend) -> dict[str, AuthenticatedSend]:
    """Return requests of the same key that say something else, by what differs.

    Each part of the identity differs alone: once it is another, and once it is none.
    """
    place, mentions = request.conversation, request.mentions
    account = ConversationKey("account-2", place.conversation_id)
    others = {
        "another device": replace(request, device="device-2"),
        "no device": replace(request, device=None),
        "another conversation": replace(request, conversation=OTHER_CONVERSATION),
        "another account": replace(request, conversation=account),
        "another mention": replace(request, mentions=("buyer-2",)),
        "one mention more": replace(request, mentions=(*mentions, "buyer-2")),
        "no mention": replace(request, mentions=()),
        "another reply": replace(request, reply_to="id-9"),
        "no reply": replace(request, reply_to=None),
    }
    for what, said in others_said(request.content).items():
        others[what] = replace(request, content=said)
    return {what: other for what, other in others.items() if other != request}


def others_said(said: MessageContent) -> dict[str, MessageContent]:
    """Return contents that differ in one part each, by what differs."""
    others: dict[str, MessageContent] = {}
    for part in fields(MessageContent):
        others[f"another {part.name}"] = _with(said, part.name, _OTHERS[part.name])
        if part.default is None:
            others[f"no {part.name}"] = _with(said, part.name, None)
    # The same bytes in another part are another message.
    others["its text as content"] = replace(said, text=None, content=said.text)
    return {what: other for what, other in others.items() if other != said}


# A part that is missing here is a KeyError: none is forgotten.
_OTHERS: Final[dict[str, object]] = {
    "author_id": "seller-2", "direction": "inbound", "kind": "video", "text": "other",
    "content": '{"c":2}', "quote": '{"q":2}', "recall": '{"r":2}',
    "sent_at_ms": NOW_MS - 1, "custom_type": "custom-2", "body_reference": "body-2",
}  # fmt: skip


def _with(said: MessageContent, part: str, value: object) -> MessageContent:
    return replace(said, **cast("dict[str, Any]", {part: value}))


def candidate_of(request: AuthenticatedSend, **changes: object) -> ReserveCandidate:
    """Return what a first `reserve` gives this request."""
    key = request.key
    name = key.client_message_id
    message_id = name if key.origin == "observed" else f"id-{key.sender}-{name}"
    return changed(ReserveCandidate(message_id, NOW_MS), changes)


async def reserved(
    backend: Backend, request: AuthenticatedSend, **changes: object
) -> CommitIntent:
    """Reserve a request that was not committed before."""
    candidate = candidate_of(request, **changes)
    found = await backend.commits.reserve(request, DELIVERY, candidate)
    assert isinstance(found, CommitIntent)
    return found


async def brought_to(
    state: CommitState, backend: Backend, request: AuthenticatedSend, **changes: object
) -> LoadedCommit:
    """Bring a new commit into a state, step by step, and return what is persisted."""
    intent = await reserved(backend, request, **changes)
    return await gone_on_to(state, backend, intent)


async def gone_on_to(
    state: CommitState, backend: Backend, intent: CommitIntent
) -> LoadedCommit:
    """Bring a reserved commit into a state, and return what is persisted."""
    if state >= CommitState.RECORDED:
        await backend.commits.put_record(intent)
    if state >= CommitState.OUTBOXED:
        await backend.commits.mark_outbox_published(
            intent, await published(backend, intent)
        )
    if state >= CommitState.COMMITTED:
        await backend.commits.mark_committed(intent)
    place = intent.coordinates.conversation
    found = await backend.commits.load_commit(intent.key, place)
    assert found is not None
    return found


async def committed(
    backend: Backend, request: AuthenticatedSend, **changes: object
) -> CommittedMessage:
    """Commit a new request in the way that the committer goes."""
    intent = await reserved(backend, request, **changes)
    await backend.commits.put_record(intent)
    return await backend.commits.mark_published_and_committed(
        intent, await published(backend, intent)
    )


async def published(backend: Backend, intent: CommitIntent) -> OutboxPublication:
    """Publish an intent's envelope."""
    return OutboxPublication(await backend.publisher.publish(envelope_of(intent)))


def elsewhere(publication: OutboxPublication) -> OutboxPublication:
    """Return another place in the same partition."""
    position = publication.position
    return OutboxPublication(replace(position, offset=position.offset + 1_000))


async def granted(backend: Backend, now_ms: int = NOW_MS) -> Grant:
    """Return a grant for the account, its binding being in the store."""
    issued = await issue_binding(backend.bindings, [ACCOUNT], "contract", now_ms)
    binding = issued.binding
    return Grant(
        binding.binding_id, binding.authorization_version, frozenset(binding.accounts)
    )


def showing(name: str, text: str = "hello", **changes: object) -> ObservedMessage:
    """Return a message as a page shows it."""
    message = ObservedMessage(
        name, "buyer-1", "inbound", NOW_MS, "text", text, None, None, None, None
    )
    return message._replace(**cast("dict[str, Any]", changes))


def showing_everything(name: str) -> ObservedMessage:
    """Return a message as a page shows it, of which every part is there."""
    return showing(name, content='{"c":1}', quote='{"q":1}', recall='{"r":1}')


def others_shown(shown: ObservedMessage) -> list[ObservedMessage]:
    """Return messages of the same id that differ in one compared part each."""
    others: list[dict[str, object]] = [
        {"sender_id": "x"},
        {"direction": "outbound"},
        {"sent_at_ms": NOW_MS + 1},
        {"kind": "card"},
    ]
    for part in ("text", "content", "quote", "recall"):
        others += [{part: '"other"'}, {part: None}]
    return [shown._replace(**cast("dict[str, Any]", each)) for each in others]


def batch_of(
    grant: Grant,
    *messages: ObservedMessage,
    conversation: ConversationKey = CONVERSATION,
) -> ObservedBatch:
    """Return messages of one conversation as a batch."""
    return ObservedBatch(grant, conversation, NOW_MS, ObservedMessages.of(messages))
