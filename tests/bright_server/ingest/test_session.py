"""One connection's conversation: frames in, effects out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bright_server.authorization.contract import Standing
from bright_server.commit.contract import (
    BatchCommitted,
    Claim,
    ClaimProven,
    ClaimUnproven,
    CommittedMessage,
    ConflictingMessage,
    Denied,
    Discovery,
    DiscoveryStored,
    MessageOutcome,
    NotStored,
    ObservedBatch,
    Progress,
    ProgressStored,
)
from bright_server.errors import Overloaded
from bright_server.ingest.effects import (
    Announce,
    Authenticate,
    CheckStanding,
    Close,
    CloseCode,
    Effect,
    Join,
    Send,
    Submit,
)
from bright_server.ingest.session import ExtensionSession
from bright_server.messages import (
    Anchor,
    BindingId,
    ConversationKey,
    Grant,
    Position,
)
from bright_server.settings import Settings
from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    FIRST_ID,
    Frame,
    batch,
    claim,
    discovered,
    heartbeat,
    hello,
    message,
    progress,
    register_page,
    text_of,
)

NOW_MS = 1_750_000_500_000
GRANT = Grant(BindingId("bnd_1"), 1, frozenset({ACCOUNT}))
KEY = ConversationKey(ACCOUNT, CONVERSATION)


@pytest.fixture
def session() -> ExtensionSession:
    return ExtensionSession("connection-1", "store-1", Settings())


@pytest.fixture
def opened(session: ExtensionSession) -> ExtensionSession:
    receive(session, hello("brt_secret"))
    session.admitted(GRANT, NOW_MS)
    return session


def receive(session: ExtensionSession, frame: Frame | str) -> list[Effect]:
    text = frame if isinstance(frame, str) else text_of(frame)
    return session.receive_text(text, len(text))


def sent(effects: list[Effect]) -> list[dict[str, Any]]:
    return [json.loads(each.text) for each in effects if isinstance(each, Send)]


def only_sent(effects: list[Effect]) -> dict[str, Any]:
    (frame,) = sent(effects)
    assert len(effects) == 1
    return frame


def closed_with(effects: list[Effect]) -> int:
    closes = [each for each in effects if isinstance(each, Close)]
    assert len(closes) == 1
    return closes[0].code


def submitted(effects: list[Effect]) -> Submit:
    (effect,) = effects
    assert isinstance(effect, Submit)
    return effect


def assert_serves(session: ExtensionSession) -> None:
    submitted(receive(session, batch(message(1))))


class TestHandshake:
    def test_hello_asks_the_authority_with_the_token(
        self, session: ExtensionSession
    ) -> None:
        assert receive(session, hello("brt_secret")) == [Authenticate("brt_secret")]

    def test_the_token_is_in_no_picture_of_an_effect(
        self, session: ExtensionSession
    ) -> None:
        effects = receive(session, hello("brt_secret"))

        assert "brt_secret" not in repr(effects)

    def test_a_grant_joins_and_welcomes(self, session: ExtensionSession) -> None:
        receive(session, hello("brt_secret"))

        join, welcome = session.admitted(GRANT, NOW_MS)

        assert join == Join("device-1", GRANT)
        assert sent([welcome]) == [
            {
                "type": "welcome",
                "requestId": "hello",
                "connectionId": "connection-1",
                "storeId": "store-1",
                "serverTimeMs": NOW_MS,
                "heartbeatIntervalMs": 15_000,
                "authorizationVersion": 1,
                "accounts": [ACCOUNT],
                "limits": {
                    "maxFrameBytes": 1_048_576,
                    "maxBatchMessages": 200,
                    "maxInFlightBatches": 8,
                },
            }
        ]

    def test_ot_60_a_refused_binding_closes_4401(
        self, session: ExtensionSession
    ) -> None:
        receive(session, hello("brt_secret"))

        assert closed_with(session.refused()) == CloseCode.BINDING_REFUSED

    def test_ot_60_a_silent_authority_fails_closed_with_4503(
        self, session: ExtensionSession
    ) -> None:
        receive(session, hello("brt_secret"))

        assert closed_with(session.silent()) == CloseCode.AUTHORITY_SILENT

    @pytest.mark.parametrize(
        "first",
        [
            heartbeat(),
            batch(message(1)),
            {"type": "nobody.knows"},
            "{",
            hello("t", protocolVersion=2),
            hello("t", deviceId=5),
            {"type": "hello"},
        ],
        ids=lambda value: str(value)[:30],
    )
    def test_anything_but_a_right_hello_first_closes_4400(
        self, session: ExtensionSession, first: Frame | str
    ) -> None:
        assert closed_with(receive(session, first)) == CloseCode.BROKEN_HANDSHAKE

    def test_a_hello_that_does_not_come_closes_4408(
        self, session: ExtensionSession
    ) -> None:
        assert closed_with(session.hello_overdue()) == CloseCode.NO_HELLO

    def test_a_hello_in_time_is_never_overdue(self, opened: ExtensionSession) -> None:
        assert opened.hello_overdue() == []

    def test_a_second_hello_is_an_error_and_the_connection_goes_on(
        self, opened: ExtensionSession
    ) -> None:
        error = only_sent(receive(opened, hello("brt_other")))

        assert (error["code"], error["requestId"]) == ("invalid_frame", "hello")
        assert_serves(opened)


class TestAuthorization:
    def test_ot_60_a_heartbeat_is_answered_only_after_the_authority(
        self, opened: ExtensionSession
    ) -> None:
        (check,) = receive(opened, heartbeat())
        assert isinstance(check, CheckStanding)

        effects = opened.standing_known(check.asked_by, Standing.VALID, NOW_MS)

        assert only_sent(effects) == {
            "type": "heartbeat.ack",
            "requestId": "beat",
            "serverTimeMs": NOW_MS,
            "authorizationVersion": 1,
        }

    @pytest.mark.parametrize(
        ("standing", "reason"),
        [
            (Standing.REVOKED, "revoked"),
            (Standing.VERSION_CHANGED, "version_changed"),
        ],
    )
    def test_ot_60_a_lost_binding_is_told_then_closed_4401(
        self, opened: ExtensionSession, standing: Standing, reason: str
    ) -> None:
        (check,) = receive(opened, heartbeat())
        assert isinstance(check, CheckStanding)

        effects = opened.standing_known(check.asked_by, standing, NOW_MS)

        assert sent(effects) == [{"type": "binding.revoked", "reason": reason}]
        assert closed_with(effects) == CloseCode.BINDING_REFUSED

    def test_ot_60_a_heartbeat_of_another_version_ends_the_connection(
        self, opened: ExtensionSession
    ) -> None:
        effects = receive(opened, heartbeat(version=2))

        assert closed_with(effects) == CloseCode.BINDING_REFUSED

    def test_ot_60_work_that_was_denied_is_not_acked(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, batch(message(1))))

        effects = opened.work_done(submit.ticket, Denied(Standing.REVOKED))

        assert sent(effects) == [{"type": "binding.revoked", "reason": "revoked"}]
        assert closed_with(effects) == CloseCode.BINDING_REFUSED

    def test_the_tick_keeps_alive_or_ends(self, opened: ExtensionSession) -> None:
        assert only_sent(opened.keepalive(Standing.VALID, NOW_MS)) == {
            "type": "keepalive",
            "serverTimeMs": NOW_MS,
        }
        assert closed_with(opened.keepalive(Standing.REVOKED, NOW_MS)) == 4401

    @pytest.mark.parametrize(
        "frame",
        [
            batch(message(1), channelAccountId="other"),
            progress(channelAccountId="other"),
            claim(1, channelAccountId="other"),
            register_page(channelAccountId="other"),
            discovered(CONVERSATION) | {"channelAccountId": "other"},
        ],
        ids=lambda frame: frame["type"],
    )
    def test_an_account_of_another_binding_is_out_of_scope(
        self, opened: ExtensionSession, frame: Frame
    ) -> None:
        error = only_sent(receive(opened, frame))

        assert (error["code"], error["path"]) == ("out_of_scope", "channelAccountId")
        assert error.get("requestId") == frame.get("requestId")


class TestBatches:
    def test_a_batch_is_acked_only_by_its_commit(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, batch(message(1), message(2), message(3))))
        assert isinstance(submit.work, ObservedBatch)
        assert submit.work.conversation == KEY
        outcomes: list[MessageOutcome] = [
            CommittedMessage(Position(7), 4, duplicate=False),
            CommittedMessage(Position(2), 1, duplicate=True),
            ConflictingMessage(2),
        ]

        ack = only_sent(opened.work_done(submit.ticket, BatchCommitted(outcomes, 1, 1)))

        assert (ack["type"], ack["requestId"]) == ("observation.ack", "batch")
        assert [
            (each["status"], each["duplicate"], each.get("sequence"))
            for each in ack["results"]
        ] == [
            ("confirmed", False, 4),
            ("confirmed", True, 1),
            ("conflict", False, None),
        ]
        assert [each["messageId"] for each in ack["results"]] == [
            str(FIRST_ID + number) for number in (1, 2, 3)
        ]

    def test_ms_27_without_a_commit_every_message_is_to_be_sent_again(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, batch(message(1), message(2))))

        ack = only_sent(opened.work_done(submit.ticket, NotStored("disk full")))

        assert {each["status"] for each in ack["results"]} == {"retry"}

    def test_ot_32_bad_messages_are_rejected_and_the_good_ones_go_on(
        self, opened: ExtensionSession
    ) -> None:
        frame = batch(
            message(1),
            message(2, senderId=None),
            message(3, direction="sideways"),
            message(4, text="half \ud83d"),
            message(5, text="a\x00b"),
            message(6, conversationId="other"),
            message(7, text="?ctoken=abc"),
            message(8, text="x" * 300_000),
            message(9, sentAtMs=2**63),
            message(10),
        )
        submit = submitted(receive(opened, json.dumps(frame)))
        assert isinstance(submit.work, ObservedBatch)
        outcomes = [
            CommittedMessage(Position(place), place, duplicate=False)
            for place in (1, 2)
        ]

        ack = only_sent(opened.work_done(submit.ticket, BatchCommitted(outcomes, 2, 0)))

        assert len(submit.work.messages) == 2
        assert [each.get("code", each["status"]) for each in ack["results"]] == [
            "confirmed",
            "invalid_message",
            "invalid_message",
            "unstorable_text",
            "unstorable_text",
            "conversation_mismatch",
            "contains_secret",
            "too_large",
            "invalid_message",
            "confirmed",
        ]

    def test_a_batch_of_bad_messages_alone_is_answered_at_once(
        self, opened: ExtensionSession
    ) -> None:
        ack = only_sent(receive(opened, batch(message(1, kind=5))))

        assert ack["results"][0]["code"] == "invalid_message"

    @pytest.mark.parametrize(
        "part",
        ["1e999", "NaN", "[" * 960 + "]" * 960, "9" * 5_000],
        ids=["infinite", "not a number", "deep", "long number"],
    )
    def test_json_beyond_bounds_costs_no_connection(
        self, opened: ExtensionSession, part: str
    ) -> None:
        frame = text_of(batch(message(1, content={"a": "part"}), message(2)))

        effects = receive(opened, frame.replace('"part"', part))

        for effect in effects:
            if isinstance(effect, Submit):
                assert isinstance(effect.work, ObservedBatch)
                assert len(effect.work.messages) in {1, 2}
            else:
                assert only_sent(effects)["code"] == "malformed_json"
        assert_serves(opened)

    def test_an_empty_batch_has_an_empty_ack(self, opened: ExtensionSession) -> None:
        assert only_sent(receive(opened, batch()))["results"] == []

    @pytest.mark.parametrize(
        ("messages", "path"),
        [
            ([message(1), message(2, messageId=17)], "messages.1.messageId"),
            ([message(1, messageId="")], "messages.0.messageId"),
            ([message(1, messageId="x" * 257)], "messages.0.messageId"),
            ([message(1, messageId="a\ud800")], "messages.0.messageId"),
            ([message(1, candidateKey="a\x00")], "messages.0.candidateKey"),
            ([message(1, candidateKey="x" * 1025)], "messages.0.candidateKey"),
            ([message(1), None], "messages.1"),
            ([["a list"]], "messages.0"),
        ],
        ids=range(8),
    )
    def test_a_message_that_cannot_be_answered_refuses_the_whole_batch(
        self, opened: ExtensionSession, messages: list[Any], path: str
    ) -> None:
        error = only_sent(receive(opened, json.dumps(batch(*messages))))

        assert (error["code"], error["path"]) == ("invalid_frame", path)
        assert error["requestId"] == "batch"

    def test_a_batch_over_the_limit_is_refused(self, opened: ExtensionSession) -> None:
        error = only_sent(
            receive(opened, batch(*(message(number) for number in range(201))))
        )

        assert error["code"] == "batch_too_large"
        assert not error["retryable"]

    def test_a_ninth_batch_in_flight_is_refused_until_one_is_answered(
        self, opened: ExtensionSession
    ) -> None:
        tickets = [
            submitted(receive(opened, batch(message(number)))).ticket
            for number in range(8)
        ]

        error = only_sent(receive(opened, batch(message(9))))
        opened.work_done(tickets[0], NotStored("busy"))

        assert (error["code"], error["retryable"]) == ("too_many_in_flight", True)
        submitted(receive(opened, batch(message(9))))

    def test_an_overloaded_committer_is_said_and_can_be_tried_again(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, batch(message(1))))

        error = only_sent(opened.work_refused(submit.ticket, Overloaded(10, 5)))

        assert (error["code"], error["retryable"]) == ("overloaded", True)
        assert error["requestId"] == "batch"


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
        answers = []
        for number in range(65):
            (check,) = receive(opened, register_page(f"page-{number}"))
            assert isinstance(check, CheckStanding)
            answers.append(
                only_sent(opened.standing_known(check.asked_by, Standing.VALID, NOW_MS))
            )

        assert [each["type"] for each in answers[:64]] == ["page.registered"] * 64
        assert answers[64]["code"] == "overloaded"


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
        assert opened.work_done(submit.ticket, BatchCommitted([], 0, 0)) == []
        assert opened.restarting() == []
