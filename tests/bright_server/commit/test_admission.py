"""The embedded checks of what may be committed (MS-10)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bright_server.commit.admission import (
    AccountMembership,
    EmbeddedContentRule,
    RosterMembership,
    SendAdmission,
    TokenBucketQuota,
)
from bright_server.errors import SendRefused
from bright_server.settings import Settings
from bright_server.stores.memory.store import opened
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.sends import (
    ACCOUNT,
    CONVERSATION,
    NOW_MS,
    OTHER_CONVERSATION,
    Everybody,
    granted,
    sending,
)


async def taken(quota: TokenBucketQuota, most: int = 100, sender: str = "s") -> int:
    """How many messages a sender may send now."""
    request = sending(key=replace(sending().key, sender=sender))
    for count in range(most):
        if not await quota.take(request):
            return count
    return most


async def test_a_quota_is_a_burst_and_then_a_rate() -> None:
    """MS-10: never more than the burst, however long the sender was silent."""
    clock = ManualClock()
    settings = Settings(sender_messages_per_second=2, sender_burst_messages=5)
    quota = TokenBucketQuota(settings, clock)
    assert await taken(quota) == 5
    clock.advance(1)
    assert await taken(quota) == 2
    clock.advance(0.25)
    assert await taken(quota) == 0
    clock.advance(0.25)
    assert await taken(quota) == 1
    clock.advance(3_600)
    assert await taken(quota) == 5
    assert await taken(quota, sender="another") == 5


async def test_as_many_senders_are_remembered_as_the_settings_allow() -> None:
    """MS-10: those that were silent longest are forgotten, and have a full quota."""
    settings = Settings(
        sender_messages_per_second=0.001, sender_burst_messages=2, max_quota_senders=3
    )
    quota = TokenBucketQuota(settings, ManualClock())
    for sender in ("a", "b", "c"):
        assert await taken(quota, sender=sender) == 2
    assert await taken(quota, sender="a") == 0
    assert await taken(quota, sender="d") == 2
    assert await taken(quota, sender="a") == 0
    assert await taken(quota, sender="b") == 2
    assert len(quota._buckets) == 3


async def test_an_account_and_its_bindings_are_members() -> None:
    """MS-10, MS-14: of all its conversations, until they are revoked."""
    async with opened(Settings(), ManualClock()) as backend:
        membership = AccountMembership(backend.bindings)
        grant = await granted(backend)
        for conversation in (CONVERSATION, OTHER_CONVERSATION):
            assert await membership.is_member(ACCOUNT, conversation)
            assert await membership.is_member(grant.binding_id, conversation)
            assert not await membership.is_member("stranger", conversation)
        foreign = replace(CONVERSATION, channel_account_id="account-2")
        assert not await membership.is_member(ACCOUNT, foreign)
        assert not await membership.is_member(grant.binding_id, foreign)
        await backend.bindings.revoke(grant.binding_id, NOW_MS)
        assert not await membership.is_member(grant.binding_id, CONVERSATION)


async def test_a_roster_names_its_members() -> None:
    """MS-10: of that conversation alone; and it is read as it is now."""
    rosters = {CONVERSATION: frozenset({"a"})}
    membership = RosterMembership(rosters)
    assert await membership.is_member("a", CONVERSATION)
    assert not await membership.is_member("b", CONVERSATION)
    assert not await membership.is_member("a", OTHER_CONVERSATION)
    rosters[CONVERSATION] = frozenset({"b"})
    assert not await membership.is_member("a", CONVERSATION)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"max_sent_text_bytes": 9}, "text"),
        ({"max_sent_message_bytes": 50}, "all of it"),
        ({"max_mentions": 1}, "mentions"),
    ],
)
def test_what_is_said_has_bounds(changes: dict[str, int], word: str) -> None:
    """MS-10: bytes, not characters; and the refusal says which bound it is."""
    request = sending(text="é" * 5, mentions=("a", "b"))
    assert EmbeddedContentRule(Settings()).fault_of(request) is None
    fault = EmbeddedContentRule(
        Settings(**changes)  # type: ignore[arg-type]
    ).fault_of(request)
    assert fault is not None
    assert fault.startswith(word)
    most = dict.fromkeys(changes, 10000)
    assert EmbeddedContentRule(Settings(**most)).fault_of(request) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("sent_at_ms", [2**53 + 1, -(2**53) - 1, 2**63])
def test_ms_10_a_time_that_no_store_keeps_is_refused_before_one_is_asked(
    sent_at_ms: int,
) -> None:
    """MS-10: as a fault of the request; it would never be worth another attempt."""
    settings, clock = Settings(), ManualClock()
    admission = SendAdmission(
        Everybody(),
        EmbeddedContentRule(settings),
        TokenBucketQuota(settings, clock),
        settings,
    )
    request = sending()
    admission.check_form(request)
    content = replace(request.content, sent_at_ms=sent_at_ms)
    with pytest.raises(SendRefused, match="sent_at_ms"):
        admission.check_form(replace(request, content=content))
