"""What every back end makes of observed groups: profiles, cards, buyer facts."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from bright_server.authorization.contract import Standing
from bright_server.commit.backend import Backend
from bright_server.commit.contract import NOBODY
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
from bright_server.testing.under_test import StoreUnderTest
from tests.bright_server.frames import ACCOUNT, CONVERSATION
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.group_suite.works import (
    KEY,
    OTHER,
    Records,
    batch,
    observed,
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


async def shown(records: Records, kind: str, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(each[name] for name in names) for each in await records(kind)]


class LedgerSuite:
    """Needs the fixtures `stores`, `backend`, `records`, `grant` and `clock`."""

    async def test_ot_81_the_latest_profile_wins_in_any_order_of_arrival(
        self, stores: StoreUnderTest, records: Records, grant: Grant, clock: ManualClock
    ) -> None:
        """OT-81: strictly, by observed time; also twice in one group and one frame."""
        orders = list(
            itertools.permutations([(10, "old"), (20, "middle"), (30, "new")])
        )
        names = {number: f"conversation-{number}" for number in range(3 * len(orders))}
        async with stores.opened(clock, NOBODY) as backend:
            for number, order in enumerate(orders):
                apart, together, one = (names[3 * number + way] for way in range(3))
                for at_ms, name in order:
                    await backend.observations.commit_group(
                        [profiles(grant, seen(at_ms, name, apart))]
                    )
                await backend.observations.commit_group(
                    [
                        profiles(grant, seen(at_ms, name, together))
                        for at_ms, name in order
                    ]
                )
                await backend.observations.commit_group(
                    [
                        profiles(
                            grant, *(seen(at_ms, name, one) for at_ms, name in order)
                        )
                    ]
                )

        found = await shown(
            records, "contactProfile", "conversationId", "observedAtMs", "profile"
        )
        assert sorted(found) == sorted(
            (name, 30, {"n": "new"}) for name in names.values()
        )

    async def test_ot_81_an_equal_time_does_not_win_and_a_repeat_changes_nothing(
        self, backend: Backend, records: Records, grant: Grant, clock: ManualClock
    ) -> None:
        """OT-81, OT-82: what is sent again is harmless, whatever its fingerprint."""
        (first,) = await backend.observations.commit_group(
            [profiles(grant, seen(10, "first"))]
        )
        before = await records("contactProfile")
        clock.advance(60)

        again = await backend.observations.commit_group(
            [
                profiles(grant, seen(10, "first")),
                profiles(grant, seen(10, "second")),
                profiles(grant, seen(9, "older"), seen(10, "first")),
            ]
        )

        assert first == ProfilesStored(frozenset({0}))
        assert again == [ProfilesStored(frozenset())] * 3
        assert await records("contactProfile") == before

    async def test_ot_80_a_profile_is_keyed_by_account_and_conversation_alone(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        """OT-80, OT-87: one aliId in two conversations is two facts."""
        other = ObservedProfile(CONVERSATION, "9", 20, "f", "{}")
        await backend.observations.commit_group(
            [
                profiles(grant, seen(10), seen(11, conversation="other")),
                profiles(grant, seen(12), account="another"),
                profiles(grant, other),
            ]
        )

        assert sorted(
            await shown(
                records, "contactProfile", "channelAccountId", "conversationId", "aliId"
            )
        ) == sorted(
            [
                (ACCOUNT, CONVERSATION, "9"),
                (ACCOUNT, "other", "3500000000002"),
                ("another", CONVERSATION, "3500000000002"),
            ]
        )

    async def test_a_newer_profile_tells_an_operator_when_and_by_whom(
        self, backend: Backend, records: Records, grant: Grant, clock: ManualClock
    ) -> None:
        await backend.observations.commit_group([profiles(grant, seen(10))])
        clock.advance(60)
        await backend.observations.commit_group([profiles(grant, seen(20))])

        assert await records("contactProfile") == [
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
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        """OT-90: a conflict is kept, once for each content, and the first one stays."""
        first = cards(grant, card("1"), card("2"), card("1"), card("1", '{"a":2}'))
        (one,) = await backend.observations.commit_group([first])
        two, three = await backend.observations.commit_group(
            [
                cards(grant, card("1", '{"a":2}'), card("2")),
                cards(grant, card("1", "[3]")),
            ]
        )

        assert one == CardsStored(4, frozenset({2}), frozenset({3}))
        assert two == CardsStored(2, frozenset({1}), frozenset({0}))
        assert three == CardsStored(1, conflicts=frozenset({0}))
        assert await shown(records, "renderedCard", "messageId", "content") == [
            ("1", {"a": 1}),
            ("2", {"a": 1}),
        ]
        assert await shown(
            records, "cardConflict", "messageId", "cardKind", "content"
        ) == [
            ("1", "quote_card", {"a": 2}),
            ("1", "quote_card", [3]),
        ]

    async def test_ot_90_the_first_of_two_connections_in_one_group_wins(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        """OT-90: order of arrival, as for messages."""
        outcomes = await backend.observations.commit_group(
            [cards(grant, card("1", "1")), cards(grant, card("1", "2"), card("1", "1"))]
        )

        assert outcomes == [
            CardsStored(1),
            CardsStored(2, frozenset({1}), frozenset({0})),
        ]
        assert await shown(records, "renderedCard", "content") == [(1,)]

    async def test_ot_92_a_cards_scope_is_account_conversation_message_and_kind(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        """OT-92: the same names elsewhere are other cards."""
        keys = [KEY, OTHER, ConversationKey("another", CONVERSATION)]

        group = await backend.observations.commit_group(
            [
                cards(grant, card("1", kind="a"), card("1", kind="b"), key=key)
                for key in keys
            ]
        )
        again = await backend.observations.commit_group(
            [cards(grant, card("01", kind="a"))]
        )

        assert group == [CardsStored(2)] * 3
        assert again == [CardsStored(1)]
        assert len(await records("renderedCard")) == 7

    async def test_the_latest_buyer_facts_win_strictly(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        outcomes = await backend.observations.commit_group(
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
        assert await shown(
            records, "buyerFacts", "conversationId", "observedAtMs", "facts"
        ) == [
            (CONVERSATION, 30, {"years": 4}),
            ("other", 10, {"years": 5}),
        ]

    async def test_ot_87_the_ledgers_and_the_messages_leave_each_other_alone(
        self, backend: Backend, records: Records, grant: Grant
    ) -> None:
        """OT-87: one group, one transaction, and no message is made or numbered."""
        group: list[Work] = [
            profiles(grant, seen(10), seen(10, conversation="new")),
            batch(grant, observed(1)),
            cards(grant, card("1")),
            facts(grant, 10, 1),
            batch(grant, observed(2), observed(1)),
        ]
        outcomes = await backend.observations.commit_group(group)
        # A conversation that a profile has made known is taken up by its first message.
        (later,) = await backend.observations.commit_group(
            [batch(grant, observed(1), key=ConversationKey(ACCOUNT, "new"))]
        )

        assert sequences(outcomes[1]) == [(1, False)]
        assert sequences(outcomes[4]) == [(2, False), (1, True)]
        assert sequences(later) == [(1, False)]
        assert [each["position"] for each in await records("outbox")] == [1, 2, 3]
        for kind in ("contactProfile", "renderedCard", "buyerFacts"):
            assert await records(kind)

    async def test_ot_60_nothing_of_a_lost_binding_goes_into_any_ledger(
        self, backend: Backend, records: Records, grant: Grant, clock: ManualClock
    ) -> None:
        """OT-60: judged inside the transaction, as for messages."""
        changed = Grant(grant.binding_id, 7, grant.accounts)
        unknown = Grant(BindingId("bnd_nobody"), 1, grant.accounts)

        group = await backend.observations.commit_group(
            [
                profiles(changed, seen(1)),
                cards(unknown, card("1")),
                facts(unknown, 1, 1),
            ]
        )
        await backend.bindings.revoke(grant.binding_id, clock.now_ms())
        (revoked,) = await backend.observations.commit_group([profiles(grant, seen(1))])

        assert group == [
            Denied(Standing.VERSION_CHANGED),
            Denied(Standing.REVOKED),
            Denied(Standing.REVOKED),
        ]
        assert revoked == Denied(Standing.REVOKED)
        for kind in ("contactProfile", "renderedCard", "buyerFacts", "conversation"):
            assert await records(kind) == []

    @pytest.mark.parametrize("which", ["profile", "card", "facts"])
    async def test_work_that_cannot_be_stored_does_not_spoil_the_rest(
        self, backend: Backend, records: Records, grant: Grant, which: str
    ) -> None:
        """Such work is refused long before; if it came, it stands alone."""
        works: dict[str, Work] = {
            "profile": profiles(grant, seen(5), seen(2**70)),
            "card": cards(grant, card("1"), card("2", "\ud800")),
            "facts": facts(grant, 2**70, 1),
        }

        group = await backend.observations.commit_group(
            [profiles(grant, seen(1)), works[which], batch(grant, observed(1))]
        )

        assert [type(each) for each in group] == [
            ProfilesStored,
            NotStored,
            BatchCommitted,
        ]
        assert await shown(records, "contactProfile", "observedAtMs") == [(1,)]
        assert await records("renderedCard") == []

    async def test_ot_86_messages_are_read_with_the_profile_of_their_conversation(
        self, backend: Backend, grant: Grant
    ) -> None:
        """OT-86: by account and conversation; no profile is none, and no other's."""
        await backend.observations.commit_group(
            [
                batch(grant, *(observed(number) for number in range(1, 6))),
                batch(grant, observed(1), key=OTHER),
                profiles(grant, seen(10, "Wei")),
                profiles(grant, seen(10, "stranger"), account="another"),
            ]
        )

        page, profile = await backend.messages.messages_after(KEY, 2, 2)
        elsewhere, nobody = await backend.messages.messages_after(OTHER, 0, 9)
        nothing = await backend.messages.messages_after(ConversationKey("a", "b"), 0, 9)

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
