"""`bright serve --authority`, and a service that is in trouble."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from bright_server.authorization.tokens import token_digest
from tests.bright_server.authorization.services import (
    CREDENTIAL,
    Service,
    service_running,
)
from tests.bright_server.authorization.test_serve_both import ASKING
from tests.bright_server.frames import batch, heartbeat, hello, message
from tests.bright_server.processes import Server, bright_status, dumped, serving
from tests.bright_server.senders import Sender, assert_stored_once


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with service_running(tmp_path / "service") as service:
        yield service


@pytest.fixture
async def server(service: Service, tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(
        tmp_path / "bright.db",
        authority=service.address,
        authority_credential=CREDENTIAL,
        authority_deadline_seconds=1.5,
    ) as server:
        yield server


TROUBLES = ("500", "redirect", "401", "no-fields", "oversized", "silent", "drip")


async def test_ot_60_a_greeting_in_trouble_is_closed_4503_and_welcome_afterwards(
    server: Server, service: Service
) -> None:
    """OT-60: no connection; 4503 says that the same credentials may come back."""
    token, _ = service.issue()
    for trouble in (*TROUBLES, "killed"):
        if trouble == "killed":
            await service.kill()
        service.behave(trouble)
        async with server.extension() as extension:
            await extension.send(hello(token))
            assert await extension.close_code() == 4503, trouble
    service.behave("well")
    await service.start()
    async with server.extension() as extension:
        assert (await extension.greet(token))["type"] == "welcome"


async def test_ot_60_in_trouble_nothing_is_done_and_4503_closes(
    server: Server, service: Service
) -> None:
    """OT-60: no sync; and no `binding.revoked`, for nobody has revoked anything."""
    token, _ = service.issue()
    for name, frame in ASKING.items():
        for trouble in ("500", "silent", "no-fields"):
            async with server.extension() as extension:
                await extension.greet(token)
                service.behave(trouble)
                await extension.send(frame)
                with pytest.raises(ConnectionClosed) as closed:
                    await extension.receive()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 4503, (name, trouble)
            service.behave("well")

    assert await dumped(server.database, "message") == []
    assert await dumped(server.database, "conversation") == []


async def test_ot_60_idle_connections_are_closed_4503_by_the_tick(
    service: Service, tmp_path: Path
) -> None:
    """OT-60: silence is noticed without any frame."""
    token, _ = service.issue()
    async with (
        serving(
            tmp_path / "bright.db",
            authority=service.address,
            authority_credential=CREDENTIAL,
            keepalive_interval_seconds=0.1,
        ) as server,
        server.extension() as one,
        server.extension() as two,
    ):
        await one.greet(token)
        await two.greet(token, deviceId="device-2")
        await service.kill()

        assert await one.close_code() == 4503
        assert await two.close_code() == 4503


async def test_ot_60_a_batch_whose_authorization_is_unknown_is_stored_when_it_is_known(
    server: Server, service: Service
) -> None:
    """OT-60: the service killed and restarted in mid-connection costs no message."""
    token, _ = service.issue()
    async with server.extension() as extension:
        await extension.greet(token)
        service.behave("silent")
        await extension.send(batch(message(1)))
        await service.asked("/v1/standings")
        await service.kill()
        assert await extension.close_code() == 4503
    assert await dumped(server.database, "message") == []

    service.behave("well")
    await service.start()
    async with server.extension() as extension:
        await extension.greet(token)
        ack = await extension.ask(batch(message(1)))
    assert ack["results"][0]["status"] == "confirmed"
    assert ack["results"][0]["duplicate"] is False


async def test_ot_60_a_service_killed_under_load_loses_nothing_that_was_acked(
    server: Server, service: Service
) -> None:
    """OT-60: many senders at once; each ends with 4503, what was ACKed is stored."""
    token, _ = service.issue()
    senders = [Sender(number) for number in range(8)]
    running = [asyncio.create_task(each.run(server, token)) for each in senders]
    await asyncio.wait_for(
        asyncio.gather(*(each.first_ack.wait() for each in senders)), 60
    )
    await service.kill()
    await asyncio.wait_for(asyncio.gather(*running), 30)

    assert {each.close_code for each in senders} == {4503}
    await assert_stored_once(server.database, senders)


async def test_ot_60_an_older_hello_answered_late_displaces_no_newer_connection(
    server: Server, service: Service
) -> None:
    """OT-60: 4409 is for the older, also where the authority answers it last.

    A worker that dies while it waits leaves such a hello behind; the connection of the
    worker after it must stand.
    """
    token, _ = service.issue()
    service.behave("held")
    async with server.extension() as older, server.extension() as newer:
        await older.send(hello(token))
        await service.asked("/v1/authenticate")
        service.behave("well")
        await newer.greet(token)
        service.behave("released")

        with pytest.raises(ConnectionClosed) as closed:
            await older.receive()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4409
        assert (await newer.ask(heartbeat()))["type"] == "heartbeat.ack"


async def test_ot_60_many_batches_share_a_question(
    server: Server, service: Service
) -> None:
    """OT-60: asked before every operation, and still not once for each."""
    tokens = [service.issue()[0] for _ in range(10)]
    senders = [Sender(number) for number in range(10)]
    await asyncio.gather(
        *(
            each.run(server, token, 20)
            for each, token in zip(senders, tokens, strict=True)
        )
    )

    assert sum(len(each.acked) for each in senders) == 10 * 20 * 10
    assert service.questions["/v1/authenticate"] == 10
    assert service.questions["/v1/standings"] < 150


async def test_ms_15_a_silent_authority_is_a_red_line_and_not_the_stores(
    server: Server, service: Service
) -> None:
    """MS-15, OT-60: not ready, and with the reason; ready again by itself."""
    assert await server.get("/readyz") == (
        200,
        "store: ok\ncommits: ok\nauthority: ok\n",
    )
    service.behave("500")
    status, lines = await server.get("/readyz")
    assert status == 503
    assert "store: ok\n" in lines
    assert "does not answer: it answers with HTTP 500" in lines
    await service.kill()
    assert "cannot be reached" in (await server.get("/readyz"))[1]
    assert await server.get("/livez") == (200, "ok\n")

    metrics = (await server.get("/metrics"))[1]
    assert 'bright_authority_faults_total{fault="status"} 1.0' in metrics
    assert 'bright_authority_faults_total{fault="unreachable"} 1.0' in metrics
    assert 'bright_authority_question_seconds_count{question="standings"}' in metrics

    service.behave("well")
    await service.start()
    assert (await server.get("/readyz"))[0] == 200


async def test_no_secret_is_in_what_the_server_says(
    service: Service, tmp_path: Path
) -> None:
    token, _ = service.issue()
    async with serving(
        tmp_path / "bright.db",
        authority=service.address,
        authority_credential=CREDENTIAL,
        authority_deadline_seconds=1.5,
        log_level="debug",
    ) as server:
        for trouble in (*TROUBLES, "well"):
            service.behave(trouble)
            async with server.extension() as extension:
                await extension.send(hello(token))
                if trouble == "well":
                    await extension.ask(heartbeat())
                else:
                    await extension.close_code()
        said = "".join([(await server.get("/readyz"))[1], (await server.end())[1]])

    assert "the authorization service does not answer" in said
    assert token not in said
    assert token_digest(token).hex() not in said
    assert CREDENTIAL not in said
    assert service.address not in said
    assert "Traceback" not in said


REFUSED = {
    "password": ("https://me:hunter2@auth.example", "no user, password"),
    "query": ("https://auth.example/?key=hunter2", "no user, password"),
    "port": ("https://auth.example:hunter2", "give an address"),
    "plain": ("http://auth.example/hunter2", "use https"),
    "scheme": ("ftp://hunter2.example", "give an address"),
    "space": ("https://auth.example/hunter2 ", "no spaces"),
    "nothing": ("", "give an address"),
}


@pytest.mark.parametrize(("address", "words"), REFUSED.values(), ids=REFUSED)
async def test_an_address_that_holds_a_secret_or_is_none_is_refused_without_it(
    tmp_path: Path, address: str, words: str
) -> None:
    status, out, err = await bright_status(
        "serve", f"--database={tmp_path / 'bright.db'}", f"--authority={address}"
    )

    assert (status, out) == (2, "")
    assert words in err
    assert "BRIGHT_AUTHORITY (--authority)" in err
    assert "hunter2" not in err


async def test_a_credential_that_cannot_be_used_is_refused_at_the_start(
    tmp_path: Path,
) -> None:
    file = tmp_path / "credential"
    file.write_bytes(b"two\nlines of hunter2")
    both = {
        "BRIGHT_AUTHORITY_CREDENTIAL": "hunter2",
        "BRIGHT_AUTHORITY_CREDENTIAL_FILE": str(file),
    }
    for env, words in (
        ({"BRIGHT_AUTHORITY_CREDENTIAL_FILE": str(file)}, "holds no credential"),
        ({"BRIGHT_AUTHORITY_CREDENTIAL_FILE": str(tmp_path / "no")}, "cannot be read"),
        ({"BRIGHT_AUTHORITY_CREDENTIAL": "\u00e9hunter2"}, "holds no credential"),
        ({"BRIGHT_AUTHORITY_CA_FILE": str(file)}, "certificates in PEM"),
        (both, "not both"),
    ):
        status, _, err = await bright_status(
            "serve",
            "--port=0",
            f"--database={tmp_path / 'bright.db'}",
            "--authority=https://auth.example",
            env=env,
        )
        assert status == 2, env
        assert words in err
        assert "hunter2" not in err
        assert "Traceback" not in err


async def test_the_credential_may_come_from_a_file(
    service: Service, tmp_path: Path
) -> None:
    file = tmp_path / "credential"
    file.write_text(f"{CREDENTIAL}\n")
    token, _ = service.issue()
    async with (
        serving(
            tmp_path / "bright.db",
            authority=service.address,
            authority_credential_file=file,
        ) as server,
        server.extension() as extension,
    ):
        assert (await extension.greet(token))["type"] == "welcome"
