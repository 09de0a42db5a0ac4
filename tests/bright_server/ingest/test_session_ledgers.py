"""One connection's conversation: profiles, rendered cards, buyer facts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bright_server.commit.groups import (
    BuyerFacts,
    CardsStored,
    FactsStored,
    NotStored,
    ObservedProfiles,
    ProfilesStored,
    RenderedCards,
)
from bright_server.ingest.ledgers import MAX_AHEAD_MS
from bright_server.ingest.session import ExtensionSession
from bright_server.messages import ObservedProfile, RenderedCard
from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    FIRST_ID,
    buyer_facts,
    card,
    cards,
    name_of,
    profile,
    profiles,
)
from tests.bright_server.ingest.talk import (
    GRANT,
    KEY,
    NOW_MS,
    assert_serves,
    only_sent,
    receive,
    submitted,
)

TAKEN = ProfilesStored(frozenset({0}))


class TestProfiles:
    def test_ot_81_profiles_are_work_and_acked_only_by_their_commit(
        self, opened: ExtensionSession
    ) -> None:
        """OT-81, OT-83: the ACK names each observation exactly."""
        both = [profile(1), profile(2, conversationId="other", aliId=None)]
        submit = submitted(receive(opened, profiles(*both)))

        assert submit.work == ObservedProfiles(
            GRANT,
            ACCOUNT,
            [
                ObservedProfile(
                    CONVERSATION,
                    "3500000000002",
                    FIRST_ID + 1,
                    "fingerprint 1",
                    '{"name":"name 1"}',
                ),
                ObservedProfile(
                    "other", None, FIRST_ID + 2, "fingerprint 2", '{"name":"name 2"}'
                ),
            ],
        )
        assert only_sent(opened.work_done(submit.ticket, TAKEN)) == {
            "type": "contact.profile.ack",
            "requestId": "profiles",
            "channelAccountId": ACCOUNT,
            "acks": [name_of(each) for each in both],
        }

    def test_ot_83_one_that_cannot_win_any_more_is_acked_as_well(
        self, opened: ExtensionSession
    ) -> None:
        """OT-83: or the client would send it again on each connection."""
        submit = submitted(receive(opened, profiles(profile(1))))

        ack = only_sent(opened.work_done(submit.ticket, ProfilesStored(frozenset())))

        assert ack["acks"] == [name_of(profile(1))]

    @pytest.mark.parametrize(("ahead_ms", "is_taken"), [(0, True), (1, False)])
    def test_ot_84_more_than_five_minutes_ahead_refuses_the_whole_batch(
        self, opened: ExtensionSession, ahead_ms: int, is_taken: bool
    ) -> None:
        """OT-84: neither stored nor ACKed; the five minutes themselves are allowed."""
        assert MAX_AHEAD_MS == 5 * 60 * 1000
        late = profile(2, observedAtMs=NOW_MS + MAX_AHEAD_MS + ahead_ms)

        effects = receive(opened, profiles(profile(1), late, profile(3)))

        if is_taken:
            submitted(effects)
            return
        error = only_sent(effects)
        assert error["code"] == "profile_observed_at_future"
        assert error["path"] == "profiles.1.observedAtMs"
        assert (error["requestId"], error["retryable"]) == ("profiles", False)
        assert_serves(opened)

    def test_ot_84_a_future_profile_that_is_bad_besides_refuses_the_batch_too(
        self, opened: ExtensionSession
    ) -> None:
        """OT-84: the time is looked at first."""
        bad = profile(1, observedAtMs=NOW_MS + 2 * MAX_AHEAD_MS, profile=5)

        error = only_sent(receive(opened, profiles(bad, profile(2))))

        assert error["code"] == "profile_observed_at_future"

    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"profile": 5}, "invalid_message"),
            ({"profile": None}, "invalid_message"),
            ({"profile": {"name": "half \ud83d"}}, "unstorable_text"),
            ({"profile": {"a\x00b": 1}}, "unstorable_text"),
            ({"aliId": 35}, "invalid_message"),
            ({"aliId": "a\x00"}, "unstorable_text"),
            ({"profile": {"a": [{"cookie": "x"}]}}, "contains_secret"),
            ({"profile": {"url": "?ctoken=abc"}}, "contains_secret"),
            ({"profile": {"name": "x" * 300_000}}, "too_large"),
            ({"profile": {"a": float("inf")}}, "invalid_message"),
        ],
        ids=range(10),
    )
    def test_a_bad_profile_is_rejected_and_costs_no_other(
        self, opened: ExtensionSession, changes: dict[str, Any], code: str
    ) -> None:
        """OT-80, OT-82: without its own answer it would be sent for ever."""
        bad = profile(1, **changes)
        submit = submitted(receive(opened, json.dumps(profiles(bad, profile(2)))))
        assert isinstance(submit.work, ObservedProfiles)
        assert [each.fingerprint for each in submit.work.profiles] == ["fingerprint 2"]

        ack = only_sent(opened.work_done(submit.ticket, TAKEN))

        assert ack["acks"] == [name_of(profile(2))]
        assert ack["rejected"] == [{**name_of(bad), "code": code}]

    def test_bad_profiles_alone_are_answered_at_once_and_none_is_acked(
        self, opened: ExtensionSession
    ) -> None:
        """OT-85: what was not stored is not acknowledged."""
        ack = only_sent(receive(opened, profiles(profile(1, profile=[]))))

        assert ack["acks"] == []
        assert ack["rejected"] == [{**name_of(profile(1)), "code": "invalid_message"}]

    def test_no_profiles_have_an_empty_ack(self, opened: ExtensionSession) -> None:
        ack = only_sent(receive(opened, profiles()))

        assert (ack["acks"], "rejected" in ack) == ([], False)

    @pytest.mark.parametrize(
        ("changes", "path"),
        [
            ({"conversationId": 17}, "profiles.1.conversationId"),
            ({"conversationId": "a\ud800"}, "profiles.1.conversationId"),
            ({"fingerprint": ""}, "profiles.1.fingerprint"),
            ({"observedAtMs": "1"}, "profiles.1.observedAtMs"),
            ({"observedAtMs": -1}, "profiles.1.observedAtMs"),
            ({"observedAtMs": 1.5}, "profiles.1.observedAtMs"),
            ({"observedAtMs": 2**60}, "profiles.1.observedAtMs"),
        ],
        ids=range(7),
    )
    def test_a_profile_that_cannot_be_answered_for_refuses_its_frame(
        self, opened: ExtensionSession, changes: dict[str, Any], path: str
    ) -> None:
        frame = profiles(profile(1), profile(2, **changes))

        error = only_sent(receive(opened, json.dumps(frame)))

        assert (error["code"], error["path"]) == ("invalid_frame", path)
        assert error["requestId"] == "profiles"
        assert_serves(opened)


class TestCards:
    def test_ot_90_cards_are_work_and_each_has_its_own_result(
        self, opened: ExtensionSession
    ) -> None:
        """OT-90: confirmed, confirmed as a duplicate, conflict, rejected; in order."""
        frame = cards(
            card(1),
            card(2, content={"a": "?ctoken=abc"}),
            card(3, content={"b": 1, "a": [None]}),
            card(4),
            card(5, content=None),
        )
        submit = submitted(receive(opened, frame))
        assert isinstance(submit.work, RenderedCards)
        assert submit.work.conversation == KEY
        assert submit.work.cards[1:3] == [
            RenderedCard(str(FIRST_ID + 3), "product_card", '{"a":[null],"b":1}'),
            RenderedCard(str(FIRST_ID + 4), "product_card", '{"title":"card 4"}'),
        ]

        ack = only_sent(
            opened.work_done(
                submit.ticket, CardsStored(4, frozenset({1}), frozenset({2}))
            )
        )

        assert [
            (each["status"], each["duplicate"], each.get("code"))
            for each in ack["results"]
        ] == [
            ("confirmed", False, None),
            ("rejected", False, "contains_secret"),
            ("confirmed", True, None),
            ("conflict", False, None),
            ("confirmed", False, None),
        ]
        for named, asked in zip(ack["results"], frame["cards"], strict=True):
            for field in ("candidateKey", "messageId", "cardKind"):
                assert named[field] == asked[field]
        assert (ack["channelAccountId"], ack["conversationId"], ack["requestId"]) == (
            ACCOUNT,
            CONVERSATION,
            "cards",
        )

    def test_ot_90_without_a_commit_every_card_is_to_be_sent_again(
        self, opened: ExtensionSession
    ) -> None:
        """OT-90: durable first."""
        submit = submitted(receive(opened, cards(card(1), card(2))))

        ack = only_sent(opened.work_done(submit.ticket, NotStored("disk full")))

        assert [each["status"] for each in ack["results"]] == ["retry", "retry"]

    def test_a_card_without_content_is_rejected(self, opened: ExtensionSession) -> None:
        bare = card(1)
        del bare["content"]

        ack = only_sent(receive(opened, cards(bare)))

        assert [each["code"] for each in ack["results"]] == ["invalid_message"]

    @pytest.mark.parametrize(
        ("changes", "path"),
        [
            ({"candidateKey": None}, "cards.0.candidateKey"),
            ({"messageId": "x" * 257}, "cards.0.messageId"),
            ({"cardKind": ""}, "cards.0.cardKind"),
            ({"cardKind": "a\x00"}, "cards.0.cardKind"),
        ],
        ids=range(4),
    )
    def test_a_card_that_cannot_be_answered_for_refuses_its_frame(
        self, opened: ExtensionSession, changes: dict[str, Any], path: str
    ) -> None:
        error = only_sent(receive(opened, json.dumps(cards(card(1, **changes)))))

        assert (error["code"], error["path"]) == ("invalid_frame", path)


class TestBuyerFacts:
    def test_facts_are_acked_exactly_and_only_by_their_commit(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, buyer_facts(1)))
        assert isinstance(submit.work, BuyerFacts)
        assert submit.work.facts.facts == '{"years":1}'

        ack = only_sent(opened.work_done(submit.ticket, FactsStored(taken=False)))

        assert ack == {
            "type": "buyer.facts.ack",
            "requestId": "facts",
            "channelAccountId": ACCOUNT,
            "conversationId": CONVERSATION,
            "fingerprint": "fingerprint 1",
            "observedAtMs": FIRST_ID + 1,
        }

    def test_facts_of_the_future_are_refused(self, opened: ExtensionSession) -> None:
        ahead = NOW_MS + MAX_AHEAD_MS
        submitted(receive(opened, buyer_facts(1, observedAtMs=ahead)))

        error = only_sent(receive(opened, buyer_facts(1, observedAtMs=ahead + 1)))

        assert error["code"] == "facts_observed_at_future"

    @pytest.mark.parametrize(
        "facts",
        [5, None, {"a": "\ud800"}, {"token": "x"}, {"a": "x" * 300_000}],
        ids=range(5),
    )
    def test_facts_that_cannot_be_stored_are_refused_with_their_path(
        self, opened: ExtensionSession, facts: object
    ) -> None:
        error = only_sent(receive(opened, json.dumps(buyer_facts(1, facts=facts))))

        assert (error["code"], error["path"]) == ("invalid_frame", "facts")
        assert (error["requestId"], error["retryable"]) == ("facts", False)
        assert_serves(opened)
