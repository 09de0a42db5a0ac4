"""One connection's conversation: the handshake and the authorization."""

from __future__ import annotations

import pytest

from bright_server.authorization.contract import Standing
from bright_server.commit.groups import (
    Denied,
)
from bright_server.ingest.effects import (
    Authenticate,
    CheckStanding,
    Close,
    CloseCode,
    Join,
)
from bright_server.ingest.session import ExtensionSession
from bright_server.settings import Settings
from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    Frame,
    batch,
    claim,
    discovered,
    heartbeat,
    hello,
    message,
    progress,
    register_page,
)
from tests.bright_server.ingest.talk import (
    GRANT,
    NOW_MS,
    assert_serves,
    closed_with,
    only_sent,
    receive,
    sent,
    submitted,
)


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
        ("authority", "who"),
        [
            (None, "the database that holds the bindings"),
            ("https://authority.example/bright", "the authorization service"),
        ],
    )
    def test_ot_60_it_is_said_who_does_not_answer(
        self, authority: str | None, who: str
    ) -> None:
        """OT-60: where no service is configured nobody is sent to look for one."""
        settings = Settings.model_validate({"authority": authority})
        session = ExtensionSession("cn_1", "st_1", settings)

        assert session.silent() == [
            Close(CloseCode.AUTHORITY_SILENT, f"{who} does not answer")
        ]

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

    @pytest.mark.parametrize("version", [0, 2])
    def test_ot_60_a_heartbeat_of_another_version_ends_the_connection(
        self, opened: ExtensionSession, version: int
    ) -> None:
        effects = receive(opened, heartbeat(version=version))

        assert closed_with(effects) == CloseCode.BINDING_REFUSED

    def test_ot_60_work_that_was_denied_is_not_acked(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, batch(message(1))))

        effects = opened.work_done(submit.ticket, Denied(Standing.REVOKED))

        assert sent(effects) == [{"type": "binding.revoked", "reason": "revoked"}]
        assert closed_with(effects) == CloseCode.BINDING_REFUSED

    def test_ot_60_work_without_the_authoritys_word_fails_closed(
        self, opened: ExtensionSession
    ) -> None:
        submit = submitted(receive(opened, batch(message(1))))

        effects = opened.work_done(submit.ticket, Denied(Standing.UNKNOWN))

        assert closed_with(effects) == CloseCode.AUTHORITY_SILENT
        assert opened.keepalive(Standing.VALID, NOW_MS) == []

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
