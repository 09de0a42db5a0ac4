"""Orders that are not taken: who may ask, for what, and how it is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.bright_server.commands.serving import (
    CREDENTIAL,
    SEND,
    commanded,
    page,
    post,
)
from tests.bright_server.frames import (
    command_result,
    heartbeat,
)
from tests.bright_server.processes import (
    Server,
    bright_status,
    serving,
)


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
        (["--text=\udcff"], {"BRIGHT_OPERATOR_CREDENTIAL": "x"}, "no valid text"),
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
