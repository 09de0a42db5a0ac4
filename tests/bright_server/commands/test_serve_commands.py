"""Commands as an operator and an extension meet them: a real server, real sockets."""

from __future__ import annotations

import asyncio
import json
import signal
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    Frame,
    command_result,
    heartbeat,
    register_page,
)
from tests.bright_server.processes import (
    DEADLINE_SECONDS,
    Extension,
    Server,
    bright,
    bright_status,
    serving,
)

CREDENTIAL = "an operator's secret"
SEND = {
    "name": "message.send",
    "arguments": {
        "channelAccountId": ACCOUNT,
        "conversationId": CONVERSATION,
        "text": "hello",
    },
    "timeoutMs": 20_000,
}


@pytest.fixture
def credential(tmp_path: Path) -> Path:
    file = tmp_path / "operator"
    file.write_text(f"{CREDENTIAL}\n", encoding="ascii")
    return file


@pytest.fixture
async def server(database: Path, token: str, credential: Path) -> AsyncIterator[Server]:
    assert token
    async with serving(
        database, operator_credential_file=credential, command_grace_seconds=0.3
    ) as server:
        yield server


@asynccontextmanager
async def page(
    server: Server, token: str, device: str = "device-1"
) -> AsyncIterator[Extension]:
    """An extension that has told of a page."""
    async with server.extension() as extension:
        await extension.greet(token, deviceId=device)
        await extension.ask(register_page())
        yield extension


def _post(
    server: Server, body: bytes, headers: dict[str, str]
) -> tuple[int, str, dict[str, Any]]:
    request = urllib.request.Request(
        f"http://{server.address}/v1/commands", body, headers, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:  # noqa: S310
            return answer.status, answer.headers["content-type"], json.load(answer)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.headers["content-type"], json.load(answer)


async def post(
    server: Server, order: dict[str, Any] | bytes, credential: str | None = CREDENTIAL
) -> tuple[int, dict[str, Any]]:
    body = order if isinstance(order, bytes) else json.dumps(order).encode()
    headers = {} if credential is None else {"Authorization": f"Bearer {credential}"}
    status, kind, told = await asyncio.to_thread(_post, server, body, headers)
    assert kind.split(";")[0] == (
        "application/json" if status == 200 else "application/problem+json"
    )
    return status, told


async def commanded(extension: Extension) -> Frame:
    frame = await extension.receive()
    assert frame["type"] == "command"
    return frame


def operator(server: Server, credential: Path) -> tuple[list[str], dict[str, str]]:
    options = [
        f"--account={ACCOUNT}",
        f"--conversation={CONVERSATION}",
        f"--server=http://{server.address}",
        "--json",
    ]
    return options, {"BRIGHT_OPERATOR_CREDENTIAL_FILE": str(credential)}


async def test_a_command_goes_to_the_page_and_its_outcome_comes_back(
    server: Server, token: str
) -> None:
    async with page(server, token) as extension:
        asked = asyncio.create_task(post(server, SEND))
        command = await commanded(extension)
        assert (command["name"], command["arguments"]) == (
            "message.send",
            SEND["arguments"],
        )
        await extension.send(command_result(command["commandId"]))
        status, told = await asked

    assert (status, told) == (
        200,
        {"commandId": command["commandId"], "outcome": "done"},
    )
    _, text = await server.get("/metrics")
    assert 'bright_commands_total{name="message.send",outcome="done"} 1.0' in text


async def test_the_command_line_asks_and_its_exit_status_is_the_outcome(
    server: Server, token: str, credential: Path
) -> None:
    options, env = operator(server, credential)
    async with page(server, token) as extension:
        for outcome, status in (("done", 0), ("failed", 1)):
            asked = asyncio.create_task(
                bright_status("command", "send", "--text=hi", *options, env=env)
            )
            command = await commanded(extension)
            reason = None if status == 0 else "consent_missing"
            await extension.send(command_result(command["commandId"], outcome, reason))
            code, out, err = await asked

            assert (code, err) == (status, "")
            assert json.loads(out) == {
                "commandId": command["commandId"],
                "outcome": outcome,
                "reason": reason,
            }
    code, out, _ = await bright_status("command", "profile", *options, env=env)
    assert code == 1
    assert json.loads(out)["reason"] == "no_connection"


async def test_sync_may_leave_the_conversation_to_the_route_and_rebuild_may_not(
    server: Server, token: str, credential: Path
) -> None:
    options, env = operator(server, credential)
    without = [each for each in options if not each.startswith("--conversation")]
    async with page(server, token) as extension:
        asked = asyncio.create_task(bright_status("command", "sync", *without, env=env))
        command = await commanded(extension)
        assert command["arguments"] == {"channelAccountId": ACCOUNT, "rebuild": False}
        await extension.send(
            command_result(command["commandId"], "failed", "route_without_conversation")
        )
        assert json.loads((await asked)[1])["reason"] == "route_without_conversation"

        code, _, err = await bright_status(
            "command", "sync", "--rebuild", *without, env=env
        )
        assert code == 2
        assert "invalid_order" in err


async def test_the_newest_page_of_the_account_is_asked_and_no_other(
    server: Server, token: str
) -> None:
    """OT-62: one connection, although another device could do it, too."""
    async with page(server, token) as first, page(server, token, "device-2") as second:
        await first.ask(register_page("page-2"))
        asked = asyncio.create_task(post(server, SEND))
        command = await commanded(first)
        # A stranger's word about it counts for nothing.
        await second.send(command_result(command["commandId"], "failed", "paced"))
        assert (await second.ask(heartbeat()))["type"] == "heartbeat.ack"
        await first.send(command_result(command["commandId"]))
        assert (await asked)[1]["outcome"] == "done"
        await first.send(command_result(command["commandId"], "failed", "paced"))
        assert (await first.ask(heartbeat()))["type"] == "heartbeat.ack"

        _, text = await server.get("/metrics")
    assert "bright_command_results_ignored_total 2.0" in text


async def test_ot_62_a_connection_that_breaks_is_unknown_and_nothing_is_sent_again(
    server: Server, token: str
) -> None:
    """OT-62, OT-63: the next connection of the device hears of no command."""
    async with page(server, token) as extension:
        asked = asyncio.create_task(post(server, SEND))
        command = await commanded(extension)
        extension.socket.transport.abort()
        _, told = await asked
    assert told == {
        "commandId": command["commandId"],
        "outcome": "delivery_unknown",
        "reason": "connection_lost",
    }

    async with page(server, token) as again:
        assert (await again.ask(heartbeat()))["type"] == "heartbeat.ack"
        await again.send(command_result(command["commandId"]))
        assert (await again.ask(heartbeat()))["type"] == "heartbeat.ack"


async def test_a_displaced_connections_command_is_not_carried_over(
    server: Server, token: str
) -> None:
    """OT-62: the same device anew is another connection."""
    async with page(server, token) as extension:
        asked = asyncio.create_task(post(server, SEND))
        await commanded(extension)
        async with page(server, token) as newer:
            assert await extension.close_code() == 4409
            assert (await asked)[1]["outcome"] == "delivery_unknown"
            assert (await newer.ask(heartbeat()))["type"] == "heartbeat.ack"


async def test_silence_ends_a_little_after_the_deadline(
    server: Server, token: str
) -> None:
    async with page(server, token) as extension:
        asked = asyncio.create_task(post(server, {**SEND, "timeoutMs": 200}))
        await commanded(extension)
        _, told = await asked

    assert (told["outcome"], told["reason"]) == ("delivery_unknown", "deadline_passed")


async def test_without_a_connection_or_a_page_nobody_is_asked(
    server: Server, token: str
) -> None:
    assert (await post(server, SEND))[1]["reason"] == "no_connection"

    async with server.extension() as extension:
        await extension.greet(token)
        told = (await post(server, SEND))[1]
    assert (told["outcome"], told["reason"]) == ("no_extension", "no_page")


async def test_ot_60_a_revoked_binding_is_sent_nothing(
    server: Server, token: str, database: Path
) -> None:
    """OT-60: asked before the command goes, not at the next heartbeat."""
    listed = json.loads(
        await bright("binding", "list", "--json", f"--database={database}")
    )
    async with page(server, token) as extension:
        await bright(
            "binding", "revoke", f"--database={database}", listed[0]["bindingId"]
        )
        _, told = await post(server, SEND)
        assert (told["outcome"], told["reason"]) == ("failed", "binding_refused")

        # The heartbeat ends it, and no command came before.
        assert (await extension.ask(heartbeat()))["type"] == "binding.revoked"


async def test_ot_63_a_killed_server_remembers_no_command(
    database: Path, token: str, credential: Path
) -> None:
    """OT-63: SIGKILL in mid-command; the asker is not left with a guess."""
    async with serving(database, operator_credential_file=credential) as server:
        options, env = operator(server, credential)
        async with page(server, token) as extension:
            asked = asyncio.create_task(
                bright_status("command", "send", "--text=hi", *options, env=env)
            )
            command = await commanded(extension)
            await server.end(signal.SIGKILL)
            code, out, _ = await asked
    assert code == 1
    assert json.loads(out) == {
        "commandId": None,
        "outcome": "delivery_unknown",
        "reason": "connection_lost",
    }

    async with (
        serving(database, operator_credential_file=credential) as server,
        page(server, token) as again,
    ):
        await again.send(command_result(command["commandId"]))
        assert (await again.ask(heartbeat()))["type"] == "heartbeat.ack"
        _, text = await server.get("/metrics")
    assert "bright_command_results_ignored_total 1.0" in text


async def test_a_server_that_stops_settles_what_is_under_way(
    server: Server, token: str
) -> None:
    async with page(server, token) as extension:
        asked = asyncio.create_task(post(server, SEND))
        await commanded(extension)
        status, _ = await server.end()
        _, told = await asked

    assert status == 0
    assert (told["outcome"], told["reason"]) == ("delivery_unknown", "connection_lost")


@pytest.mark.parametrize(
    ("order", "given", "status", "code"),
    [
        (SEND, None, 401, "credential_refused"),
        (SEND, "wrong", 401, "credential_refused"),
        (b"{", CREDENTIAL, 400, "malformed_json"),
        ({**SEND, "name": "x"}, CREDENTIAL, 400, "invalid_order"),
        ({**SEND, "timeoutMs": 0}, CREDENTIAL, 400, "invalid_order"),
        ({**SEND, "timeoutMs": 120_001}, CREDENTIAL, 400, "invalid_order"),
        (b" " * 200_000, CREDENTIAL, 413, "order_too_large"),
    ],
    ids=["none", "wrong", "no JSON", "name", "no time", "too long", "too large"],
)
async def test_what_is_not_taken_is_a_problem_in_words(
    server: Server,
    order: dict[str, Any] | bytes,
    given: str | None,
    status: int,
    code: str,
) -> None:
    """RFC 9457: a stable code, and what was wrong; never the credential."""
    got, problem = await post(server, order, given)

    assert (got, problem["code"], problem["status"]) == (status, code, status)
    assert problem["detail"]
    assert CREDENTIAL not in json.dumps(problem)


async def test_without_an_operators_credential_nobody_commands(
    database: Path, token: str
) -> None:
    async with serving(database) as server, page(server, token) as extension:
        status, problem = await post(server, SEND, "")
        assert (status, problem["code"]) == (403, "commands_off")
        assert "BRIGHT_OPERATOR_CREDENTIAL_FILE" in problem["detail"]
        assert (await extension.ask(heartbeat()))["type"] == "heartbeat.ack"


async def test_more_commands_than_may_be_are_refused(
    database: Path, token: str, credential: Path
) -> None:
    async with (
        serving(
            database, operator_credential_file=credential, max_commands=1
        ) as server,
        page(server, token) as extension,
    ):
        asked = asyncio.create_task(post(server, SEND))
        command = await commanded(extension)
        status, problem = await post(server, SEND)
        await extension.send(command_result(command["commandId"]))
        assert (await asked)[1]["outcome"] == "done"

    assert (status, problem["code"]) == (503, "too_many_commands")


async def test_the_credential_is_in_no_log_and_its_faults_are_told(
    database: Path, token: str, credential: Path
) -> None:
    assert token
    async with serving(
        database, operator_credential_file=credential, log_level="debug"
    ) as server:
        await post(server, SEND, "guess-me")
        await post(server, SEND)
        _, said = await server.end()
    assert CREDENTIAL not in said
    assert "guess-me" not in said

    for env, words in (
        ({"BRIGHT_OPERATOR_CREDENTIAL_FILE": "/nowhere/at/all"}, "cannot be read"),
        ({"BRIGHT_OPERATOR_CREDENTIAL": " "}, "holds no credential"),
    ):
        code, _, err = await bright_status(
            "serve", f"--database={database}", "--port=0", env=env
        )
        assert code == 2
        assert words in err


@pytest.mark.parametrize(
    ("options", "env", "words"),
    [
        ([], {}, "BRIGHT_OPERATOR_CREDENTIAL_FILE"),
        (["--server=ftp://x"], {"BRIGHT_OPERATOR_CREDENTIAL": "x"}, "--server"),
        (["--server=http://example.com"], {"BRIGHT_OPERATOR_CREDENTIAL": "x"}, "https"),
        (["--deadline=0"], {"BRIGHT_OPERATOR_CREDENTIAL": "x"}, "--deadline"),
        (
            ["--server=http://127.0.0.1:9"],
            {"BRIGHT_OPERATOR_CREDENTIAL": "x"},
            "cannot be reached",
        ),
    ],
)
async def test_what_cannot_be_asked_ends_with_2_and_the_reason(
    options: list[str], env: dict[str, str], words: str
) -> None:
    code, out, err = await bright_status(
        "command",
        "send",
        "--account=1",
        "--conversation=2",
        "--text=hi",
        *options,
        env=env,
    )

    assert (code, out) == (2, "")
    assert words in err
