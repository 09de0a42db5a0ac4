"""One connection's conversation: batches and their ACKs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bright_server.commit.groups import (
    BatchCommitted,
    NotStored,
    ObservedBatch,
)
from bright_server.errors import Overloaded
from bright_server.ingest.effects import (
    Submit,
)
from bright_server.ingest.session import ExtensionSession
from tests.bright_server.frames import (
    FIRST_ID,
    batch,
    message,
    text_of,
)
from tests.bright_server.ingest.talk import (
    KEY,
    assert_serves,
    only_sent,
    receive,
    submitted,
)


class TestBatches:
    def test_a_batch_is_acked_only_by_its_commit(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, batch(message(1), message(2), message(3))))
        assert isinstance(submit.work, ObservedBatch)
        assert submit.work.conversation == KEY
        outcome = BatchCommitted(
            [4, 1, 2], repeats=frozenset({1}), conflicts=frozenset({2})
        )

        ack = only_sent(opened.work_done(submit.ticket, outcome))

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

        ack = only_sent(opened.work_done(submit.ticket, BatchCommitted([1, 2])))

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

    def test_a_secret_at_any_depth_costs_no_connection(
        self, opened: ExtensionSession
    ) -> None:
        for depth in range(900, 1_000):
            part = '{"a":' * depth + '{"token":"x"}' + "}" * depth
            frame = text_of(batch(message(1, content={"a": "part"})))

            answer = only_sent(receive(opened, frame.replace('"part"', part)))

            if answer["type"] == "observation.ack":
                assert answer["results"][0]["status"] == "rejected"
            else:
                assert answer["code"] == "malformed_json"

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
