"""`bright serve` as an extension meets it: a real process, real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.bright_server.frames import (
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
)
from tests.bright_server.processes import (
    DEADLINE_SECONDS,
    Extension,
    Server,
    bright,
    create_binding,
    dumped,
    revoke_binding,
    serving,
)


@pytest.fixture
async def server(database: Path, token: str) -> AsyncIterator[Server]:
    async with serving(database) as server:
        yield server


async def test_the_whole_way_of_a_message_from_hello_to_anchor(
    server: Server, token: str, database: Path
) -> None:
    async with server.extension() as extension:
        welcome = await extension.greet(token)
        beat = await extension.ask(heartbeat())
        page = await extension.ask(register_page())
        known = await extension.ask(discovered(CONVERSATION))
        ack = await extension.ask(batch(message(1), message(2)))
        await extension.send(progress())
        snapshot = await extension.ask(claim(2))

    assert welcome["type"] == "welcome"
    assert beat["type"] == "heartbeat.ack"
    assert page == {"type": "page.registered", "requestId": "page", "pageId": "page-1"}
    assert known["conversations"][0]["anchor"] is None
    assert [(e["status"], e["sequence"]) for e in ack["results"]] == [
        ("confirmed", 1),
        ("confirmed", 2),
    ]
    (anchor,) = snapshot["anchors"]
    assert anchor["latestMessageId"] == str(FIRST_ID + 2)
    (stored,) = await dumped(database, "store")
    assert stored["storeId"] == welcome["storeId"]
    assert [e["text"] for e in await dumped(database, "message")] == [
        "text 1",
        "text 2",
    ]
    assert len(await dumped(database, "outbox")) == 2
    (told,) = await dumped(database, "anchor")
    assert told == {"type": "anchor", **anchor}
    (conversation,) = await dumped(database, "conversation")
    assert conversation["historyComplete"] is True


@pytest.mark.parametrize(
    ("options", "status", "reason"),
    [
        ({"subprotocols": []}, 400, "bright.extension.v1"),
        ({"subprotocols": ["bright.mind.v1"]}, 400, "no other"),
        ({"subprotocols": ["bright.extension.v2"]}, 400, "no other"),
        ({"origin": "https://example.com"}, 403, "web page"),
        ({"origin": "null"}, 403, "web page"),
    ],
    ids=["no subprotocol", "other role", "other version", "web page", "null origin"],
)
async def test_ot_64_a_wrong_handshake_is_refused_with_the_reason(
    server: Server, options: dict[str, Any], status: int, reason: str
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with server.extension(**options):
            pass

    response = refused.value.response
    assert response.status_code == status
    assert reason in (response.body or b"").decode()


async def test_an_extension_may_be_chosen_by_its_id(database: Path) -> None:
    token = (await create_binding(database))["token"]
    async with serving(database, allowed_extension_ids='["abc"]') as server:
        with pytest.raises(InvalidStatus):
            async with server.extension(origin="chrome-extension://other"):
                pass
        async with server.extension(origin="chrome-extension://abc") as extension:
            assert (await extension.greet(token))["type"] == "welcome"


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (hello("brt_guess"), 4401),
        (hello("brt_guess", protocolVersion=2), 4400),
        (heartbeat(), 4400),
    ],
    ids=["unknown token", "other protocol version", "no hello"],
)
async def test_a_wrong_greeting_closes_with_its_code(
    server: Server, first: dict[str, object], code: int
) -> None:
    async with server.extension() as extension:
        await extension.send(first)

        assert await extension.close_code() == code


async def test_a_silent_newcomer_is_closed_4408(database: Path) -> None:
    async with (
        serving(database, hello_deadline_seconds=0.1) as server,
        server.extension() as extension,
    ):
        assert await extension.close_code() == 4408


async def test_a_binary_frame_closes_1003_and_one_over_the_limit_1009(
    server: Server, token: str
) -> None:
    for frame, code in ((b"binary", 1003), ("x" * 1_048_577, 1009)):
        async with server.extension() as extension:
            await extension.greet(token)
            await extension.send(frame)
            assert await extension.close_code() == code


async def test_text_that_is_not_utf_8_closes_1007_without_a_traceback(
    server: Server, token: str
) -> None:
    async with server.extension() as extension:
        await extension.greet(token)
        await extension.socket.send(b"\xff\xfe", text=True)
        assert await extension.close_code() == 1007

    assert "Traceback" not in (await server.end())[1]


async def test_bug_21_no_text_costs_the_connection_and_the_next_message_is_acked(
    server: Server, token: str
) -> None:
    raw = '{"type":"heartbeat","requestId":"\\ud800","authorizationVersion":1}'
    bad = batch(message(1, text="hi \ud83d\x00 \U0001f600"), message(2))
    async with server.extension() as extension:
        await extension.greet(token)
        error = await extension.ask(raw)
        ack = await extension.ask(bad)
        after = await extension.ask(batch(message(3, text="hi \U0001f600")))

    assert (error["code"], error["path"]) == ("invalid_frame", "requestId")
    assert [each.get("code") for each in ack["results"]] == ["unstorable_text", None]
    assert after["results"][0]["status"] == "confirmed"


async def test_a_newer_connection_of_a_device_displaces_the_older(
    server: Server, token: str
) -> None:
    async with (
        server.extension() as older,
        server.extension() as newer,
        server.extension() as elsewhere,
    ):
        await older.greet(token)
        await elsewhere.greet(token, deviceId="device-2")
        await newer.greet(token)

        assert await older.close_code() == 4409
        assert (await newer.ask(heartbeat()))["type"] == "heartbeat.ack"
        assert (await elsewhere.ask(heartbeat()))["type"] == "heartbeat.ack"


async def test_a_moved_anchor_is_told_to_every_connection_of_the_account(
    server: Server, token: str, database: Path
) -> None:
    foreign = (await create_binding(database, "another"))["token"]
    async with (
        server.extension() as one,
        server.extension() as two,
        server.extension() as stranger,
    ):
        await one.greet(token)
        await two.greet(token, deviceId="device-2")
        await stranger.greet(foreign, deviceId="device-3")
        await one.ask(batch(message(1)))
        told = await one.ask(claim(1))

        assert await two.receive() == told
        # It would have come before this answer.
        assert (await stranger.ask(heartbeat()))["type"] == "heartbeat.ack"


async def test_the_server_keeps_alive_by_itself(database: Path, token: str) -> None:
    async with (
        serving(database, keepalive_interval_seconds=0.05) as server,
        server.extension() as extension,
    ):
        await extension.greet(token)
        texts = [
            await asyncio.wait_for(extension.socket.recv(), DEADLINE_SECONDS)
            for _ in range(3)
        ]

    assert all('"type":"keepalive"' in str(text) for text in texts)


async def test_bug_44_nothing_is_stored_under_a_revoked_binding(
    server: Server, database: Path
) -> None:
    binding = await create_binding(database)
    async with server.extension() as extension:
        await extension.greet(binding["token"])
        await extension.ask(batch(message(1)))
        await revoke_binding(database, binding["bindingId"])

        revoked = await extension.ask_ending(batch(message(2)))
        code = await extension.close_code()
    async with server.extension() as again:
        await again.send(hello(binding["token"]))
        assert await again.close_code() == 4401

    assert revoked == {"type": "binding.revoked", "reason": "revoked"}
    assert code == 4401
    assert len(await dumped(database, "message")) == 1


async def test_ot_60_the_tick_finds_a_revoked_binding(database: Path) -> None:
    binding = await create_binding(database)
    async with (
        serving(database, keepalive_interval_seconds=0.1) as server,
        server.extension() as extension,
    ):
        await extension.greet(binding["token"])
        await bright(
            "binding", "revoke", binding["bindingId"], f"--database={database}"
        )

        assert (await extension.receive())["type"] == "binding.revoked"
        assert await extension.close_code() == 4401


async def test_a_full_server_takes_no_more_connections(
    database: Path, token: str
) -> None:
    async with (
        serving(database, max_connections=1) as server,
        server.extension() as extension,
    ):
        await extension.greet(token)
        with pytest.raises(InvalidStatus) as refused:
            async with server.extension():
                pass

        assert refused.value.response.status_code == 503
        assert (await extension.ask(heartbeat()))["type"] == "heartbeat.ack"


async def test_a_reader_that_does_not_read_is_let_go(
    database: Path, token: str
) -> None:
    many = discovered(*(f"conversation-{number}" for number in range(3_000)))
    async with (
        serving(
            database, max_send_queue_frames=4, close_deadline_seconds=0.2
        ) as server,
        server.extension(max_queue=1) as extension,
    ):
        await extension.greet(token)
        sending = asyncio.create_task(send_for_ever(extension, many))
        async with asyncio.timeout(60):
            while "bright_connections 0.0" not in (await server.get("/metrics"))[1]:
                assert (await server.get("/livez"))[0] == 200
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def send_for_ever(extension: Extension, frame: Frame) -> None:
    while True:
        await extension.send(frame)


async def test_health_and_metrics_say_what_is(server: Server, token: str) -> None:
    async with server.extension() as extension:
        await extension.greet(token)
        await extension.ask(batch(message(1), message(1)))
        metrics = (await server.get("/metrics"))[1]

    assert await server.get("/livez") == (200, "ok\n")
    assert await server.get("/readyz") == (
        200,
        "store: ok\ncommits: ok\nauthority: ok\n",
    )
    assert 'bright_messages_total{outcome="committed"} 1.0' in metrics
    assert 'bright_messages_total{outcome="duplicate"} 1.0' in metrics
    assert "bright_connections 1.0" in metrics
    assert "bright_group_commit_seconds_bucket" in metrics


async def test_no_token_is_in_what_the_server_says(server: Server, token: str) -> None:
    async with server.extension() as extension:
        await extension.greet(token)
        await extension.send(b"binary")
        await extension.close_code()

    status, said = await server.end()

    assert status == 0
    assert token not in said
