"""The embedded store, on a real file: profiles, rendered cards, buyer facts."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from bright_server.authorization.contract import Standing
from bright_server.commit.groups import (
    BatchCommitted,
    BuyerFacts,
    CardsStored,
    Denied,
    FactsStored,
    NotStored,
    ObservedProfiles,
    ProfilesStored,
    RenderedCards,
    Work,
)
from bright_server.messages import (
    BindingId,
    ConversationKey,
    Grant,
    ObservedFacts,
    ObservedProfile,
    RenderedCard,
)
from bright_server.settings import Settings
from bright_server.stores.sqlite.store import SqliteStore, bindings_opened, opened
from tests.bright_server.frames import ACCOUNT, CONVERSATION
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.sqlite.works import (
    KEY,
    OTHER,
    batch,
    observed,
    records,
    sequences,
)


def seen(
    at_ms: int, name: str = "Wei", conversation: str = CONVERSATION
) -> ObservedProfile:
    return ObservedProfile(
        conversation,
        "3500000000002",
        at_ms,
        f"fingerprint of {name}",
        f'{{"n":"{name}"}}',
    )


def profiles(
    grant: Grant, *each: ObservedProfile, account: str = ACCOUNT
) -> ObservedProfiles:
    return ObservedProfiles(grant, account, each)


def card(
    message_id: str, content: str = '{"a":1}', kind: str = "quote_card"
) -> RenderedCard:
    return RenderedCard(message_id, kind, content)


def cards(
    grant: Grant, *each: RenderedCard, key: ConversationKey = KEY
) -> RenderedCards:
    return RenderedCards(grant, key, each)


def facts(
    grant: Grant, at_ms: int, years: int, key: ConversationKey = KEY
) -> BuyerFacts:
    said = ObservedFacts(at_ms, f"fingerprint of {years}", f'{{"years":{years}}}')
    return BuyerFacts(grant, key, said)


def shown(settings: Settings, kind: str, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(each[name] for name in names) for each in records(settings, kind)]


async def test_ot_81_the_latest_profile_wins_in_any_order_of_arrival(
    settings: Settings, grant: Grant, clock: ManualClock
) -> None:
    """OT-81: strictly, by observed time; also twice in one group and in one frame."""
    orders = list(itertools.permutations([(10, "old"), (20, "middle"), (30, "new")]))
    names = {number: f"conversation-{number}" for number in range(3 * len(orders))}
    async with opened(settings, clock) as store:
        for number, order in enumerate(orders):
            apart, together, one = (names[3 * number + way] for way in range(3))
            for at_ms, name in order:
                await store.commit_group([profiles(grant, seen(at_ms, name, apart))])
            await store.commit_group(
                [profiles(grant, seen(at_ms, name, together)) for at_ms, name in order]
            )
            await store.commit_group(
                [profiles(grant, *(seen(at_ms, name, one) for at_ms, name in order))]
            )

    found = shown(
        settings, "contactProfile", "conversationId", "observedAtMs", "profile"
    )
    assert sorted(found) == sorted((name, 30, {"n": "new"}) for name in names.values())


async def test_ot_81_an_equal_time_does_not_win_and_a_repeat_changes_nothing(
    store: SqliteStore, settings: Settings, grant: Grant, clock: ManualClock
) -> None:
    """OT-81, OT-82: what is sent again is harmless, whatever its fingerprint."""
    (first,) = await store.commit_group([profiles(grant, seen(10, "first"))])
    before = records(settings, "contactProfile")
    clock.advance(60)

    again = await store.commit_group(
        [
            profiles(grant, seen(10, "first")),
            profiles(grant, seen(10, "second")),
            profiles(grant, seen(9, "older"), seen(10, "first")),
        ]
    )

    assert first == ProfilesStored(frozenset({0}))
    assert again == [ProfilesStored(frozenset())] * 3
    assert records(settings, "contactProfile") == before


async def test_ot_80_a_profile_is_keyed_by_account_and_conversation_alone(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    """OT-80, OT-87: one aliId in two conversations is two facts."""
    other = ObservedProfile(CONVERSATION, "9", 20, "f", "{}")
    await store.commit_group(
        [
            profiles(grant, seen(10), seen(11, conversation="other")),
            profiles(grant, seen(12), account="another"),
            profiles(grant, other),
        ]
    )

    assert sorted(
        shown(settings, "contactProfile", "channelAccountId", "conversationId", "aliId")
    ) == sorted(
        [
            (ACCOUNT, CONVERSATION, "9"),
            (ACCOUNT, "other", "3500000000002"),
            ("another", CONVERSATION, "3500000000002"),
        ]
    )


async def test_a_newer_profile_tells_an_operator_when_and_by_whom(
    store: SqliteStore, settings: Settings, grant: Grant, clock: ManualClock
) -> None:
    await store.commit_group([profiles(grant, seen(10))])
    clock.advance(60)
    await store.commit_group([profiles(grant, seen(20))])

    assert records(settings, "contactProfile") == [
        {
            "type": "contactProfile",
            "channelAccountId": ACCOUNT,
            "conversationId": CONVERSATION,
            "aliId": "3500000000002",
            "observedAtMs": 20,
            "fingerprint": "fingerprint of Wei",
            "profile": {"n": "Wei"},
            "committedAtMs": clock.now_ms(),
            "bindingId": grant.binding_id,
        }
    ]


async def test_ot_90_the_first_content_of_a_card_wins(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    """OT-90: a conflict is kept, once for each content, and the first one stays."""
    first = cards(grant, card("1"), card("2"), card("1"), card("1", '{"a":2}'))
    (one,) = await store.commit_group([first])
    two, three = await store.commit_group(
        [cards(grant, card("1", '{"a":2}'), card("2")), cards(grant, card("1", "[3]"))]
    )

    assert one == CardsStored(4, frozenset({2}), frozenset({3}))
    assert two == CardsStored(2, frozenset({1}), frozenset({0}))
    assert three == CardsStored(1, conflicts=frozenset({0}))
    assert shown(settings, "renderedCard", "messageId", "content") == [
        ("1", {"a": 1}),
        ("2", {"a": 1}),
    ]
    assert shown(settings, "cardConflict", "messageId", "cardKind", "content") == [
        ("1", "quote_card", {"a": 2}),
        ("1", "quote_card", [3]),
    ]


async def test_ot_90_the_first_of_two_connections_in_one_group_wins(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    """OT-90: order of arrival, as for messages."""
    outcomes = await store.commit_group(
        [cards(grant, card("1", "1")), cards(grant, card("1", "2"), card("1", "1"))]
    )

    assert outcomes == [
        CardsStored(1),
        CardsStored(2, frozenset({1}), frozenset({0})),
    ]
    assert shown(settings, "renderedCard", "content") == [(1,)]


async def test_ot_92_a_cards_scope_is_account_conversation_message_and_kind(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    """OT-92: the same names elsewhere are other cards."""
    keys = [KEY, OTHER, ConversationKey("another", CONVERSATION)]

    group = await store.commit_group(
        [
            cards(grant, card("1", kind="a"), card("1", kind="b"), key=key)
            for key in keys
        ]
    )
    again = await store.commit_group([cards(grant, card("01", kind="a"))])

    assert group == [CardsStored(2)] * 3
    assert again == [CardsStored(1)]
    assert len(records(settings, "renderedCard")) == 7


async def test_the_latest_buyer_facts_win_strictly(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    outcomes = await store.commit_group(
        [
            facts(grant, 20, 2),
            facts(grant, 10, 1),
            facts(grant, 20, 3),
            facts(grant, 30, 4),
            facts(grant, 10, 5, key=OTHER),
        ]
    )

    taken = [True, False, False, True, True]
    assert outcomes == [FactsStored(taken=each) for each in taken]
    assert shown(settings, "buyerFacts", "conversationId", "observedAtMs", "facts") == [
        (CONVERSATION, 30, {"years": 4}),
        ("other", 10, {"years": 5}),
    ]


async def test_ot_87_the_ledgers_and_the_messages_leave_each_other_alone(
    store: SqliteStore, settings: Settings, grant: Grant
) -> None:
    """OT-87: all of one group, one transaction, and no message is made or numbered."""
    group: list[Work] = [
        profiles(grant, seen(10), seen(10, conversation="new")),
        batch(grant, observed(1)),
        cards(grant, card("1")),
        facts(grant, 10, 1),
        batch(grant, observed(2), observed(1)),
    ]
    outcomes = await store.commit_group(group)
    # A conversation that a profile has made known is taken up by its first message.
    (later,) = await store.commit_group(
        [batch(grant, observed(1), key=ConversationKey(ACCOUNT, "new"))]
    )

    assert sequences(outcomes[1]) == [(1, False)]
    assert sequences(outcomes[4]) == [(2, False), (1, True)]
    assert sequences(later) == [(1, False)]
    assert [each["position"] for each in records(settings, "outbox")] == [1, 2, 3]
    for kind in ("contactProfile", "renderedCard", "buyerFacts"):
        assert records(settings, kind)


async def test_ot_60_nothing_of_a_lost_binding_goes_into_any_ledger(
    store: SqliteStore, settings: Settings, grant: Grant, clock: ManualClock
) -> None:
    """OT-60: judged inside the transaction, as for messages."""
    changed = Grant(grant.binding_id, 7, grant.accounts)
    unknown = Grant(BindingId("bnd_nobody"), 1, grant.accounts)

    group = await store.commit_group(
        [profiles(changed, seen(1)), cards(unknown, card("1")), facts(unknown, 1, 1)]
    )
    async with bindings_opened(settings.database_path, clock) as bindings:
        await bindings.revoke(grant.binding_id, clock.now_ms())
    (revoked,) = await store.commit_group([profiles(grant, seen(1))])

    assert group == [
        Denied(Standing.VERSION_CHANGED),
        Denied(Standing.REVOKED),
        Denied(Standing.REVOKED),
    ]
    assert revoked == Denied(Standing.REVOKED)
    for kind in ("contactProfile", "renderedCard", "buyerFacts", "conversation"):
        assert records(settings, kind) == []


@pytest.mark.parametrize("which", ["profile", "card", "facts"])
async def test_work_that_cannot_be_stored_does_not_spoil_the_rest(
    store: SqliteStore, settings: Settings, grant: Grant, which: str
) -> None:
    """Such work is refused long before; if it came all the same, it stands alone."""
    works: dict[str, Work] = {
        "profile": profiles(grant, seen(5), seen(2**70)),
        "card": cards(grant, card("1"), card("2", "\ud800")),
        "facts": facts(grant, 2**70, 1),
    }

    group = await store.commit_group(
        [profiles(grant, seen(1)), works[which], batch(grant, observed(1))]
    )

    assert [type(each) for each in group] == [
        ProfilesStored,
        NotStored,
        BatchCommitted,
    ]
    assert shown(settings, "contactProfile", "observedAtMs") == [(1,)]
    assert records(settings, "renderedCard") == []


async def test_ot_86_messages_are_read_with_the_profile_of_their_conversation(
    store: SqliteStore, grant: Grant
) -> None:
    """OT-86: by account and conversation; no profile is none, and no other's."""
    await store.commit_group(
        [
            batch(grant, *(observed(number) for number in range(1, 6))),
            batch(grant, observed(1), key=OTHER),
            profiles(grant, seen(10, "Wei")),
            profiles(grant, seen(10, "stranger"), account="another"),
        ]
    )

    page, profile = await store.messages.messages_after(KEY, 2, 2)
    elsewhere, nobody = await store.messages.messages_after(OTHER, 0, 9)
    nothing = await store.messages.messages_after(ConversationKey("a", "b"), 0, 9)

    assert [(each.sequence, each.message.text) for each in page] == [
        (3, "text 3"),
        (4, "text 4"),
    ]
    assert page[0].message == observed(3)
    assert page[0].conversation == KEY
    assert profile is not None
    assert profile.profile == '{"n":"Wei"}'
    assert (len(elsewhere), nobody) == (1, None)
    assert nothing == ([], None)
