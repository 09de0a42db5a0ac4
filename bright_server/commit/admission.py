"""What may be committed: the embedded checks of key, membership, content and quota.

Whoever runs Bright may put others in their place; the contract of each is in
`contract`. An observation was allowed by its binding's grant before it came here and is
nobody's sending: its content alone is judged, not its membership and quota (MS-10).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final

from bright_server.authorization.contract import BindingLedger
from bright_server.clock import Clock
from bright_server.commit.contract import ContentRule, Membership, Quota
from bright_server.commit.records import AuthenticatedSend, ReserveCandidate
from bright_server.errors import InvalidClientMessageId, SendRefused
from bright_server.messages import BindingId, ConversationKey
from bright_server.settings import Settings
from bright_server.wire.text import is_storable

_LARGEST_TIME_MS: Final = 2**53  # no store has to keep more


class SendAdmission:
    """See `Admission` in `committer`: all checks, the quota last.

    So a message that is refused for another reason costs its sender nothing.
    """

    def __init__(
        self,
        membership: Membership,
        content: ContentRule,
        quota: Quota,
        settings: Settings,
    ) -> None:
        self._membership = membership
        self._content = content
        self._quota = quota
        self._max_id_chars = settings.max_client_message_id_chars

    def check_form(self, request: AuthenticatedSend) -> None:
        """Judge whether such a request can be at all."""
        fault = self._id_fault(request.key.client_message_id)
        if fault is not None:
            raise InvalidClientMessageId(fault)
        for path, text in _texts(request):
            if not is_storable(text):
                raise SendRefused(
                    "invalid_content", f"{path} holds NUL or half a surrogate pair"
                )
        sent_at_ms = request.content.sent_at_ms
        if sent_at_ms is not None and abs(sent_at_ms) > _LARGEST_TIME_MS:
            raise SendRefused("invalid_content", "sent_at_ms is no time")

    async def admit(
        self, request: AuthenticatedSend, candidate: ReserveCandidate
    ) -> None:
        """Judge the whole request, and take its share of the sender's quota."""
        fault = self._content.fault_of(request)
        if fault is not None:
            raise SendRefused("invalid_content", fault)
        sender = request.key.sender
        if request.key.origin == "observed":
            _check_scope(request, candidate)
            return
        if not await self._membership.is_member(sender, request.conversation):
            raise SendRefused(
                "not_a_member", f"{sender!a} is no member of this conversation"
            )
        if not await self._quota.take(request):
            raise SendRefused(
                "quota_exceeded", f"{sender!a} has sent too much: try again later"
            )

    def _id_fault(self, client_message_id: str) -> str | None:
        length = len(client_message_id)
        if not 1 <= length <= self._max_id_chars:
            return f"it has {length} characters, give 1 to {self._max_id_chars}"
        if not client_message_id.isprintable() or not is_storable(client_message_id):
            return "it holds a character that is not printable"
        return None


def _check_scope(request: AuthenticatedSend, candidate: ReserveCandidate) -> None:
    """Hold an observation to its scope, which is its key (OT-01)."""
    key, conversation = request.key, request.conversation
    scope = (key.tenant, key.sender, key.client_message_id)
    said = (
        conversation.channel_account_id,
        conversation.conversation_id,
        candidate.message_id,
    )
    if scope != said:
        raise InvalidClientMessageId(
            f"an observation's key is its scope: {scope} is not {said}"
        )
    if request.device is not None:
        raise InvalidClientMessageId(
            "an observation has no device: whoever sees it, it is one message"
        )


class AccountMembership:
    """Who may speak in an account's conversations: the account, and who is bound to it.

    An actor is the account itself, or the id of a binding that holds the account and
    was not revoked; asked anew each time.
    """

    def __init__(self, bindings: BindingLedger) -> None:
        self._bindings = bindings

    async def is_member(self, actor: str, conversation: ConversationKey) -> bool:
        """See `Membership.is_member`."""
        account = conversation.channel_account_id
        if actor == account:
            return True
        name = BindingId(actor)
        binding = (await self._bindings.by_ids([name])).get(name)
        return (
            binding is not None
            and binding.revoked_at_ms is None
            and account in binding.accounts
        )


class RosterMembership:
    """Who is on a conversation's list; whoever holds the lists keeps them so."""

    def __init__(self, rosters: Mapping[ConversationKey, frozenset[str]]) -> None:
        self._rosters = rosters

    async def is_member(self, actor: str, conversation: ConversationKey) -> bool:
        """See `Membership.is_member`."""
        return actor in self._rosters.get(conversation, frozenset())


class EmbeddedContentRule:
    """Bounds of what is said; that its text can be stored at all was seen before."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def fault_of(self, request: AuthenticatedSend) -> str | None:
        """See `ContentRule.fault_of`."""
        size = sum(len(text.encode()) for _, text in _texts(request))
        limits = self._settings
        text_size = len((request.content.text or "").encode())
        if text_size > limits.max_sent_text_bytes:
            return f"text has {text_size} bytes of {limits.max_sent_text_bytes}"
        if size > limits.max_sent_message_bytes:
            return f"all of it has {size} bytes of {limits.max_sent_message_bytes}"
        if len(request.mentions) > limits.max_mentions:
            return f"mentions are {len(request.mentions)} of {limits.max_mentions}"
        return None


def _texts(request: AuthenticatedSend) -> Iterator[tuple[str, str]]:
    """Yield every text of a request, and where it stands."""
    for part in (request.key, request.conversation, request.content):
        for each in fields(part):
            value = getattr(part, each.name)
            if isinstance(value, str):
                yield each.name, value
    for name, value in (("device", request.device), ("reply_to", request.reply_to)):
        if value is not None:
            yield name, value
    yield from ((f"mentions.{i}", each) for i, each in enumerate(request.mentions))


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at_seconds: float


class TokenBucketQuota:
    """A burst, and then so many messages a second, for each sender of a tenant.

    So many senders are remembered; one that is forgotten has a full bucket again, so
    those that were silent longest are forgotten first.
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._rate = settings.sender_messages_per_second
        self._burst = settings.sender_burst_messages
        self._max_senders = settings.max_quota_senders
        self._clock = clock
        self._buckets: OrderedDict[tuple[str, str], _Bucket] = OrderedDict()

    async def take(self, request: AuthenticatedSend) -> bool:
        """See `Quota.take`."""
        bucket = self._filled((request.key.tenant, request.key.sender))
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _filled(self, sender: tuple[str, str]) -> _Bucket:
        now = self._clock.steady_seconds()
        bucket = self._buckets.setdefault(sender, _Bucket(self._burst, now))
        self._buckets.move_to_end(sender)
        if len(self._buckets) > self._max_senders:
            self._buckets.popitem(last=False)
        gained = (now - bucket.filled_at_seconds) * self._rate
        bucket.tokens = min(self._burst, bucket.tokens + gained)
        bucket.filled_at_seconds = now
        return bucket
