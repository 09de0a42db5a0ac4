"""The remote authority against a real service that misbehaves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from bright_server.authorization.contract import Standing
from bright_server.authorization.remote import RemoteAuthority
from bright_server.authorization.tokens import token_digest
from bright_server.errors import AuthorityUnavailable
from bright_server.messages import Grant
from tests.bright_server.authorization.faulty_authority import ANSWERS
from tests.bright_server.authorization.services import (
    Service,
    asking_it,
    service_running,
)

FAULTS = {
    **dict.fromkeys(("500", "503", "401", "403", "404", "204", "redirect"), "status"),
    **dict.fromkeys(
        ("html", "empty", "not-utf-8", "array", "null", "no-fields", "deep"),
        "malformed",
    ),
    **dict.fromkeys(("gzip", "yes"), "malformed"),
    "oversized": "oversized",
    "silent": "timeout",
    "drip": "timeout",
}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with service_running(tmp_path / "service") as service:
        yield service


async def refused_fault(authority: RemoteAuthority, token: str, grant: Grant) -> str:
    """How both questions failed, in one word; they must fail alike."""
    with pytest.raises(AuthorityUnavailable) as greeting:
        await authority.authenticate(token)
    with pytest.raises(AuthorityUnavailable) as standing:
        await authority.standings([grant])
    assert greeting.value.fault == standing.value.fault
    assert token not in str(greeting.value)
    return greeting.value.fault


def test_every_way_to_misbehave_is_expected_to_fail() -> None:
    assert ANSWERS.keys() <= FAULTS.keys()


@pytest.mark.parametrize(("mode", "fault"), FAULTS.items(), ids=FAULTS)
async def test_ot_60_no_answer_that_is_not_one_is_a_yes_or_a_refusal(
    service: Service, mode: str, fault: str
) -> None:
    """OT-60: time-out, 5xx, redirect, malformed and endless answers fail closed."""
    token, _ = service.issue()
    # Only who waits for the deadline needs a short one.
    deadline = 2 if fault == "timeout" else 10
    async with asking_it(service, authority_deadline_seconds=deadline) as authority:
        grant = await authority.authenticate(token)
        service.behave(mode)

        async with asyncio.timeout(20):
            assert await refused_fault(authority, token, grant) == fault

        service.behave("well")
        assert await authority.standings([grant]) == {grant: Standing.VALID}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("questionId", '"of another question"'),
        ("questionId", '"absent"'),
        ("questionId", "7"),
        ("bindingId", '"of somebody else"'),
        ("bindingId", '"absent"'),
        ("bindingId", "17"),
        ("authorizationVersion", '"1"'),
        ("authorizationVersion", "1.0"),
        ("authorizationVersion", "true"),
        ("authorizationVersion", "-1"),
        ("authorizationVersion", "null"),
        ("authorizationVersion", '"absent"'),
        ("standing", '"VALID"'),
        ("standing", "true"),
        ("standing", '"absent"'),
        ("bindings", "{}"),
        ("bindings", "[]"),
        ("bindings", "null"),
        ("bindings", '"absent"'),
    ],
)
async def test_ot_60_a_standing_with_one_wrong_field_is_no_answer(
    service: Service, field: str, text: str
) -> None:
    """OT-60: a malformed answer fails closed, whichever field it is."""
    token, _ = service.issue()
    async with asking_it(service) as authority:
        grant = await authority.authenticate(token)
        service.behave(f"spoil {field} {text}")

        with pytest.raises(AuthorityUnavailable) as refused:
            await authority.standings([grant])

    assert refused.value.fault == "malformed"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("result", '"Granted"'),
        ("result", "true"),
        ("result", '"absent"'),
        ("questionId", '"of another question"'),
        ("bindingId", '""'),
        ("bindingId", '"absent"'),
        ("bindingId", '"\\u0000"'),
        ("accounts", '"2500000000001"'),
        ("accounts", "[2500000000001]"),
        ("accounts", "null"),
        ("accounts", '"absent"'),
        ("accounts", '["\\ud800"]'),
        ("authorizationVersion", '"absent"'),
    ],
)
async def test_ot_60_a_grant_with_one_wrong_field_is_none(
    service: Service, field: str, text: str
) -> None:
    """OT-60: nor is it a refusal, after which an extension would not come back."""
    token, _ = service.issue()
    async with asking_it(service) as authority:
        service.behave(f"spoil {field} {text}")

        with pytest.raises(AuthorityUnavailable) as refused:
            await authority.authenticate(token)

    assert refused.value.fault == "malformed"


async def test_ot_60_a_service_that_is_down_or_killed_in_mid_question_is_no_yes(
    service: Service,
) -> None:
    """OT-60: and when it is back, it is asked again, without a restart of Bright."""
    token, _ = service.issue()
    async with asking_it(service) as authority:
        grant = await authority.authenticate(token)
        service.behave("silent")
        asking = asyncio.create_task(authority.standings([grant]))
        await service.asked("/v1/standings")
        await service.kill()

        with pytest.raises(AuthorityUnavailable) as cut:
            await asking
        with pytest.raises(AuthorityUnavailable) as down:
            await authority.authenticate(token)
        assert (cut.value.fault, down.value.fault) == ("unreachable", "unreachable")

        service.behave("well")
        await service.start()
        assert await authority.standings([grant]) == {grant: Standing.VALID}


async def test_a_service_that_restarts_between_two_questions_is_not_noticed(
    service: Service,
) -> None:
    token, _ = service.issue()
    async with asking_it(service) as authority:
        grant = await authority.authenticate(token)
        await service.kill()
        await service.start()

        assert await authority.standings([grant]) == {grant: Standing.VALID}


async def test_what_listens_and_says_nothing_and_what_speaks_no_http_fail_closed(
    tmp_path: Path,
) -> None:
    """OT-60: whatever it is that listens there."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(b"220 mail.example ESMTP\r\n")
        writer.close()

    service = Service(tmp_path / "service")
    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        service.port = server.sockets[0].getsockname()[1]
        async with asking_it(service) as authority:
            with pytest.raises(AuthorityUnavailable) as mail:
                await authority.standings([])
    with socket.create_server(("127.0.0.1", 0), backlog=1) as deaf:
        service.port = deaf.getsockname()[1]
        async with asking_it(service, authority_deadline_seconds=0.2) as authority:
            with pytest.raises(AuthorityUnavailable) as nothing:
                await authority.standings([])

    assert (mail.value.fault, nothing.value.fault) == ("malformed", "timeout")


async def test_a_certificate_is_trusted_when_it_was_said_so_and_not_otherwise(
    tmp_path: Path,
) -> None:
    """OT-60: a TLS failure fails closed; with the right authority, it answers."""
    ours, other = trustme.CA(), trustme.CA()
    certificate = tmp_path / "service.pem"
    ours.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(
        str(certificate)
    )
    for number, authority_of_certificates in enumerate((ours, other)):
        authority_of_certificates.cert_pem.write_to_path(str(tmp_path / f"{number}"))

    async with service_running(tmp_path / "service", certificate) as service:
        token, _ = service.issue("a")
        async with asking_it(service, authority_ca_file=tmp_path / "0") as authority:
            assert (await authority.authenticate(token)).accounts == {"a"}
        for unknown in (tmp_path / "1", None):
            async with asking_it(service, authority_ca_file=unknown) as authority:
                with pytest.raises(
                    AuthorityUnavailable, match="certificate"
                ) as refused:
                    await authority.authenticate(token)
                assert refused.value.fault == "tls"

        assert service.questions == {"/v1/authenticate": 1}


async def test_the_service_is_told_the_digest_and_never_the_token(
    service: Service,
) -> None:
    token, _ = service.issue()
    async with asking_it(service) as authority:
        await authority.authenticate(token)

    (question,) = service.journal
    assert token_digest(token).hex() in question["body"]
    assert token not in question["body"]


async def test_a_wrong_credential_of_bright_refuses_no_extension(
    service: Service,
) -> None:
    """OT-60: Bright's own fault is 4503, not a 4401 that an extension would keep."""
    token, _ = service.issue()
    async with asking_it(service, authority_credential="old") as authority:
        with pytest.raises(AuthorityUnavailable, match="HTTP 401"):
            await authority.authenticate(token)


async def test_many_askers_share_few_questions_and_none_gets_an_older_yes(
    service: Service,
) -> None:
    """OT-60: what gathers is asked in one question that goes out after all of it."""
    issued = [service.issue(f"account-{n}") for n in range(30)]
    async with asking_it(service, max_authority_questions=1) as authority:
        grants = [await authority.authenticate(token) for token, _ in issued]
        service.behave("slow")
        first = asyncio.create_task(authority.standings([grants[0]]))
        await service.asked("/v1/standings")
        service.revoke(issued[0][1])
        others = await asyncio.gather(*(authority.standings([each]) for each in grants))
        await first

    assert service.questions["/v1/standings"] == 2
    assert others[0] == {grants[0]: Standing.REVOKED}
    assert [said[each] for said, each in zip(others[1:], grants[1:], strict=True)] == [
        Standing.VALID
    ] * 29


async def test_a_question_holds_no_more_bindings_than_allowed(service: Service) -> None:
    issued = [service.issue("a") for _ in range(7)]
    async with asking_it(service, max_authority_bindings=3) as authority:
        grants = [await authority.authenticate(token) for token, _ in issued]

        standings = await authority.standings(grants)

    assert standings == dict.fromkeys(grants, Standing.VALID)
    assert service.questions["/v1/standings"] == 3


async def test_a_crowd_of_newcomers_does_not_hold_up_those_who_stand(
    service: Service,
) -> None:
    """OT-60: silence about newcomers closes nobody else's connection."""
    token, _ = service.issue()
    async with asking_it(service, max_authority_newcomers=2) as authority:
        grant = await authority.authenticate(token)
        service.behave("silent")
        crowd = [asyncio.create_task(authority.authenticate(token)) for _ in range(20)]
        await service.asked("/v1/authenticate", 3)
        service.behave("well")

        assert await authority.standings([grant]) == {grant: Standing.VALID}
        assert service.questions["/v1/authenticate"] == 3
        for each in crowd:
            each.cancel()
        await asyncio.gather(*crowd, return_exceptions=True)
