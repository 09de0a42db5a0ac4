"""What is known of conversations beside their messages (OT-44, OT-50, OT-81, OT-90)."""

from __future__ import annotations

from bright_server.commit.groups import (
    BuyerFacts,
    CardsStored,
    Claim,
    ClaimProven,
    ClaimUnproven,
    Discovery,
    DiscoveryStored,
    FactsStored,
    ObservedProfiles,
    ProfilesStored,
    Progress,
    ProgressStored,
    RenderedCards,
)
from bright_server.commit.records import CommitState
from bright_server.messages import (
    ContactProfile,
    DiscoveredConversation,
    Grant,
    ObservedFacts,
    ObservedProfile,
    RenderedCard,
)
from bright_server.stores.observed_commits import request_of
from bright_server.testing.manual_clock import ManualClock
from bright_server.testing.sends import (
    ACCOUNT,
    CONVERSATION,
    NOW_MS,
    OTHER_CONVERSATION,
    Everybody,
    batch_of,
    gone_on_to,
    granted,
    reserved,
    showing,
)
from bright_server.testing.under_test import StoreUnderTest


def claiming(grant: Grant, name: str) -> Claim:
    """Return a claim that the conversation is complete up to a message."""
    return Claim(grant, CONVERSATION, name, NOW_MS)


def profiles(grant: Grant, *seen: tuple[str, int, str]) -> ObservedProfiles:
    """Return profiles: of a conversation, when, and what was seen."""
    return ObservedProfiles(
        grant,
        ACCOUNT,
        [ObservedProfile(name, "ali", at_ms, "f", said) for name, at_ms, said in seen],
    )


def cards(grant: Grant, *seen: tuple[str, str, str]) -> RenderedCards:
    """Return cards: of a message, of a kind, and what was rendered."""
    return RenderedCards(grant, CONVERSATION, [RenderedCard(*each) for each in seen])


class BesideMessagesSuite:
    """Claims, discovery, progress and ledgers."""

    async def test_a_claim_is_proven_by_a_committed_message(
        self, stores: StoreUnderTest
    ) -> None:
        """OT-50: also of the same group, wherever it stands in it; else unproven."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            early, unknown, _ = await backend.observations.commit_group(
                [
                    claiming(grant, "m1"),
                    claiming(grant, "m2"),
                    batch_of(grant, showing("m1")),
                ]
            )
            await reserved(backend, request_of(CONVERSATION, showing("open")))
            [not_yet] = await backend.observations.commit_group(
                [claiming(grant, "open")]
            )
        assert isinstance(early, ClaimProven)
        assert early.moved
        assert early.anchor.latest_message_id == "m1"
        assert early.anchor.conversation == CONVERSATION
        assert unknown == ClaimUnproven()
        assert not_yet == ClaimUnproven()

    async def test_a_claim_is_proven_by_a_committed_and_not_by_a_recorded_message(
        self, stores: StoreUnderTest
    ) -> None:
        """OT-50, MS-27: though history has it: it is not in the log for sure."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            request = request_of(CONVERSATION, showing("m1"))
            intent = await reserved(backend, request)
            await backend.commits.put_record(intent)
            [early] = await backend.observations.commit_group([claiming(grant, "m1")])
            await gone_on_to(CommitState.COMMITTED, backend, intent)
            [proven] = await backend.observations.commit_group([claiming(grant, "m1")])
        assert early == ClaimUnproven()
        assert isinstance(proven, ClaimProven)

    async def test_an_anchor_only_moves_forward(self, stores: StoreUnderTest) -> None:
        """OT-50: by the message's time, then by its id."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            await backend.observations.commit_group(
                [
                    batch_of(
                        grant,
                        showing("old", sent_at_ms=NOW_MS - 1),
                        showing("a"),
                        showing("b"),
                    )
                ]
            )
            moves = []
            for name in ("a", "old", "b", "a", "b"):
                [outcome] = await backend.observations.commit_group(
                    [claiming(grant, name)]
                )
                assert isinstance(outcome, ClaimProven)
                moves.append((outcome.moved, outcome.anchor.latest_message_id))
        assert moves == [
            (True, "a"),
            (False, "a"),
            (True, "b"),
            (False, "b"),
            (False, "b"),
        ]

    async def test_discovery_tells_the_anchors(self, stores: StoreUnderTest) -> None:
        """OT-50: of each conversation in their order; None: there is none."""
        names = [OTHER_CONVERSATION.conversation_id, CONVERSATION.conversation_id]
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            await backend.observations.commit_group(
                [batch_of(grant, showing("m1")), claiming(grant, "m1")]
            )
            found = [DiscoveredConversation(name, NOW_MS, "title") for name in names]
            [outcome] = await backend.observations.commit_group(
                [Discovery(grant, ACCOUNT, found)]
            )
            progress = Progress(grant, CONVERSATION, '"next"', False, NOW_MS, 3)
            outcomes = await backend.observations.commit_group([progress, progress])
        assert isinstance(outcome, DiscoveryStored)
        other, anchor = outcome.anchors
        assert other is None
        assert anchor is not None
        assert (anchor.conversation, anchor.latest_message_id) == (CONVERSATION, "m1")
        assert list(outcomes) == [ProgressStored(), ProgressStored()]

    async def test_the_latest_profile_wins(self, stores: StoreUnderTest) -> None:
        """OT-81: strictly later, in one group and after a restart; readers get it."""
        name, other = CONVERSATION.conversation_id, OTHER_CONVERSATION.conversation_id
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            outcomes = await backend.observations.commit_group(
                [
                    profiles(
                        grant, (name, 2, '"b"'), (other, 1, '"o"'), (name, 1, "1")
                    ),
                    profiles(grant, (name, 2, '"late"'), (name, 3, '"c"')),
                    batch_of(grant, showing("m1")),
                ]
            )
        async with stores.opened(ManualClock(), Everybody()) as backend:
            [again] = await backend.observations.commit_group(
                [profiles(grant, (name, 3, '"d"'), (other, 2, '"p"'))]
            )
            _, profile = await backend.messages.messages_after(CONVERSATION, 0, 10)
        assert list(outcomes[:2]) == [
            ProfilesStored(frozenset({0, 1})),
            ProfilesStored(frozenset({1})),
        ]
        assert again == ProfilesStored(frozenset({1}))
        assert profile == ContactProfile("ali", 3, '"c"')

    async def test_the_latest_facts_win(self, stores: StoreUnderTest) -> None:
        """OT-81: strictly later, each conversation by itself."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            outcomes = await backend.observations.commit_group(
                [
                    BuyerFacts(grant, key, ObservedFacts(at_ms, "f", said))
                    for key, at_ms, said in (
                        (CONVERSATION, 2, '"b"'),
                        (CONVERSATION, 1, '"a"'),
                        (CONVERSATION, 2, '"late"'),
                        (OTHER_CONVERSATION, 1, '"o"'),
                        (CONVERSATION, 3, '"c"'),
                    )
                ]
            )
        taken = [True, False, False, True, True]
        assert list(outcomes) == [FactsStored(taken=each) for each in taken]

    async def test_the_first_content_of_a_card_stays(
        self, stores: StoreUnderTest
    ) -> None:
        """OT-90: repeats and conflicts are told, in one work and after a restart."""
        async with stores.opened(ManualClock(), Everybody()) as backend:
            grant = await granted(backend)
            first, second = await backend.observations.commit_group(
                [
                    cards(grant, ("m", "k", "1"), ("m", "k", "2"), ("m", "l", "2")),
                    cards(grant, ("m", "k", "1"), ("n", "k", "2")),
                ]
            )
        async with stores.opened(ManualClock(), Everybody()) as backend:
            [third] = await backend.observations.commit_group(
                [cards(grant, ("m", "l", "3"), ("m", "l", "2"))]
            )
        assert first == CardsStored(3, conflicts=frozenset({1}))
        assert second == CardsStored(2, repeats=frozenset({0}))
        assert third == CardsStored(2, frozenset({1}), frozenset({0}))
