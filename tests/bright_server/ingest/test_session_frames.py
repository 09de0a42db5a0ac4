"""One connection's conversation: conversations, pages, and wrong frames."""

from __future__ import annotations

import pytest

from bright_server.authorization.contract import Standing
from bright_server.commit.groups import (
    BatchCommitted,
    Claim,
    ClaimProven,
    ClaimUnproven,
    Discovery,
    DiscoveryStored,
    Progress,
    ProgressStored,
)
from bright_server.ingest.effects import (
    Announce,
    CheckStanding,
    CloseCode,
    Registered,
)
from bright_server.ingest.session import ExtensionSession
from bright_server.messages import (
    Anchor,
)
from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    FIRST_ID,
    batch,
    claim,
    discovered,
    heartbeat,
    message,
    progress,
    register_page,
    text_of,
)
from tests.bright_server.ingest.talk import (
    KEY,
    NOW_MS,
    assert_serves,
    closed_with,
    only_sent,
    receive,
    sent,
    submitted,
)


class TestConversations:
    def test_discovery_is_answered_with_anchors_then_their_snapshot(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, discovered(CONVERSATION, "new")))
        assert isinstance(submit.work, Discovery)
        anchor = Anchor(KEY, "17", NOW_MS)

        known, snapshot = sent(
            opened.work_done(submit.ticket, DiscoveryStored([anchor, None]))
        )

        assert known["conversations"] == [
            {"conversationId": CONVERSATION, "anchor": {"latestMessageId": "17"}},
            {"conversationId": "new", "anchor": None},
        ]
        assert snapshot["anchors"][0]["latestMessageId"] == "17"

    def test_ot_44_progress_is_stored_without_an_answer(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, progress(nextTimeStamp="cursor")))

        assert isinstance(submit.work, Progress)
        assert submit.work.next_time_stamp == '"cursor"'
        assert opened.work_done(submit.ticket, ProgressStored()) == []

    def test_ot_50_a_proven_claim_is_told_and_announced(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, claim(3)))
        assert isinstance(submit.work, Claim)
        anchor = Anchor(KEY, str(FIRST_ID + 3), NOW_MS)

        effects = opened.work_done(submit.ticket, ClaimProven(anchor, moved=True))

        assert sent(effects) == [
            {
                "type": "anchor.snapshot",
                "anchors": [
                    {
                        "channelAccountId": ACCOUNT,
                        "conversationId": CONVERSATION,
                        "latestMessageId": str(FIRST_ID + 3),
                        "anchoredAtMs": NOW_MS,
                    }
                ],
            }
        ]
        assert effects[-1] == Announce(anchor)

    def test_ot_50_an_unproven_claim_gets_no_anchor(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, claim(3)))

        error = only_sent(opened.work_done(submit.ticket, ClaimUnproven()))

        assert error["code"] == "claim_unproven"
        assert (error["channelAccountId"], error["conversationId"]) == (
            ACCOUNT,
            CONVERSATION,
        )

    def test_ot_63_pages_are_registered_up_to_a_bound(
        self, opened: ExtensionSession
    ) -> None:
        for number in (*range(64), 0, 64):
            (check,) = receive(opened, register_page(f"page-{number}"))
            assert isinstance(check, CheckStanding)
            told, answer = opened.standing_known(check.asked_by, Standing.VALID, NOW_MS)
            assert told == Registered(ACCOUNT)
            assert only_sent([answer])["type"] == "page.registered"

        kept = [f"page-{number}" for number in (*range(2, 64), 0, 64)]
        assert list(opened.pages) == kept


class TestWrongFrames:
    @pytest.mark.parametrize(
        ("text", "code", "path"),
        [
            ("", "malformed_json", None),
            ("{", "malformed_json", None),
            ("[" * 100_000, "malformed_json", None),
            ('{"type":"heartbeat","requestId":' + "9" * 5000, "malformed_json", None),
            ("null", "invalid_frame", ""),
            ("[]", "invalid_frame", ""),
            ("{}", "invalid_frame", "type"),
            ('{"type":5}', "invalid_frame", "type"),
            ('{"type":"nobody.knows"}', "unknown_type", "type"),
            ('{"type":"mailbox.ack","requestId":"r"}', "wrong_role", "type"),
            ('{"type":"welcome"}', "wrong_role", "type"),
            ('{"type":"heartbeat"}', "invalid_frame", "requestId"),
            (
                '{"type":"heartbeat","requestId":"r","authorizationVersion":"1"}',
                "invalid_frame",
                "authorizationVersion",
            ),
            (
                '{"type":"heartbeat","requestId":"r","authorizationVersion":1.5}',
                "invalid_frame",
                "authorizationVersion",
            ),
            (
                text_of(discovered(CONVERSATION)).replace(f'"{CONVERSATION}"', "17"),
                "invalid_frame",
                "conversations.0.conversationId",
            ),
            (
                text_of(claim(1)).replace("@icbu", "\\ud800"),
                "invalid_frame",
                "conversationId",
            ),
            (
                text_of(progress()).replace("@icbu", "\\u0000"),
                "invalid_frame",
                "conversationId",
            ),
        ],
        ids=range(17),
    )
    def test_a_wrong_frame_is_named_and_the_next_good_one_is_served(
        self, opened: ExtensionSession, text: str, code: str, path: str | None
    ) -> None:
        error = only_sent(receive(opened, text))

        assert (error["code"], error.get("path")) == (code, path)
        assert_serves(opened)

    def test_unknown_fields_are_ignored(self, opened: ExtensionSession) -> None:
        submitted(receive(opened, claim(1, newField={"a": 1})))

    def test_a_binary_frame_closes_1003(self, opened: ExtensionSession) -> None:
        assert closed_with(opened.receive_binary()) == CloseCode.UNSUPPORTED_DATA

    def test_a_closed_session_is_deaf(self, opened: ExtensionSession) -> None:
        submit = submitted(receive(opened, batch(message(1))))
        opened.displaced()

        assert receive(opened, heartbeat()) == []
        assert opened.receive_binary() == []
        assert opened.keepalive(Standing.VALID, NOW_MS) == []
        assert opened.work_done(submit.ticket, BatchCommitted([])) == []
        assert opened.restarting() == []
