"""Commands as an operator and an extension meet them: a real server, real sockets."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

from bright_server.clock import SystemClock
from bright_server.stores.sqlite.store import bindings_opened
from tests.bright_server.commands.serving import (
    SEND,
    commanded,
    operator,
    page,
    post,
)
from tests.bright_server.frames import (
    ACCOUNT,
    command_result,
    heartbeat,
    register_page,
)
from tests.bright_server.processes import (
    Server,
    bright_status,
    serving,
)


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
    async with page(server, token) as extension:
        # In this process: a keep-alive must not find it before the command does.
        async with bindings_opened(database, SystemClock()) as bindings:
            [binding] = await bindings.all()
            await bindings.revoke(binding.binding_id, 1)
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
