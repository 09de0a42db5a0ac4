"""Bright when something goes wrong: killed, ended, locked out."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from pathlib import Path

from tests.bright_server.frames import (
    batch,
    heartbeat,
    message,
)
from tests.bright_server.processes import (
    DEADLINE_SECONDS,
    bright,
    bright_status,
    create_binding,
    dumped,
    serving,
)
from tests.bright_server.senders import (
    Sender,
    assert_stored_once,
    write_locked,
)


async def test_bug_45_and_48_sigterm_under_load_acks_what_was_taken_and_ends_well(
    database: Path, token: str
) -> None:
    senders = [Sender(number) for number in range(50)]
    async with serving(database) as server:
        running = [asyncio.create_task(each.run(server, token)) for each in senders]
        await asyncio.wait_for(
            asyncio.gather(*(each.first_ack.wait() for each in senders)), 120
        )

        began = time.monotonic()
        status, said = await server.end(signal.SIGTERM)
        took = time.monotonic() - began
        await asyncio.wait_for(asyncio.gather(*running), DEADLINE_SECONDS)

    assert status == 0
    assert took < 10
    assert "Traceback" not in said
    assert {each.close_code for each in senders} == {1012}
    await assert_stored_once(database, senders)
    # What was committed was ACKed: a client has nothing to send again.
    assert len(await dumped(database, "message")) == sum(
        len(each.acked) for each in senders
    )


async def test_sigkill_mid_batch_loses_nothing_that_was_acked(
    database: Path, token: str
) -> None:
    senders = [Sender(number) for number in range(10)]
    async with serving(database) as server:
        port = server.port
        running = [asyncio.create_task(each.run(server, token)) for each in senders]
        await asyncio.wait_for(
            asyncio.gather(*(each.first_ack.wait() for each in senders)), 120
        )
        await server.end(signal.SIGKILL)
        await asyncio.wait_for(asyncio.gather(*running), DEADLINE_SECONDS)
    await assert_stored_once(database, senders)

    # The same file, the same port; everything not ACKed is sent again.
    rounds = max(len(each.acked) for each in senders) // 10 + 2
    async with serving(database, port=port) as server:
        await asyncio.gather(*(each.run(server, token, rounds) for each in senders))
    await assert_stored_once(database, senders)
    assert len(await dumped(database, "message")) == 10 * 10 * rounds


async def test_a_second_server_of_a_file_is_refused_and_the_tools_are_not(
    database: Path, token: str, tmp_path: Path
) -> None:
    link = tmp_path / "link.db"
    async with serving(database) as server:
        link.symlink_to(database)
        for path in (database, link):
            status, out, err = await bright_status(
                "serve", "--port=0", f"--database={path}"
            )
            assert (status, out) == (2, "")
            assert f"another server (process {server.process.pid})" in err
            assert "--database" in err

        assert token not in await bright("binding", "list", f"--database={database}")
        other = await create_binding(database)
        async with server.extension() as extension:
            assert (await extension.greet(other["token"]))["type"] == "welcome"
        assert len(await dumped(database, "message")) == 0


async def test_bug_41_a_held_write_lock_closes_no_socket_and_loses_no_batch(
    database: Path, token: str
) -> None:
    async with (
        serving(
            database,
            keepalive_interval_seconds=0.2,
            ping_interval_seconds=0.3,
            ping_timeout_seconds=4,
            readiness_deadline_seconds=0.3,
        ) as server,
        server.extension() as writing,
        server.extension() as idle,
    ):
        await writing.greet(token)
        await idle.greet(token, deviceId="device-2")
        async with write_locked(database):
            await writing.send(batch(message(1)))
            # Longer than an unanswered ping is waited for.
            deadline = time.monotonic() + 6
            while time.monotonic() < deadline:
                assert (await idle.ask(heartbeat()))["type"] == "heartbeat.ack"
                assert (await writing.ask(heartbeat()))["type"] == "heartbeat.ack"
            status, lines = await server.get("/readyz")
            assert status == 503
            assert "store: no answer in 0.3 s" in lines
            assert await server.get("/livez") == (200, "ok\n")

        ack = await writing.receive()
        assert ack["results"][0]["status"] == "confirmed"
        async with asyncio.timeout(DEADLINE_SECONDS):
            while (await server.get("/readyz"))[0] != 200:
                pass


async def test_patience_with_a_held_write_lock_ends_in_retry(
    database: Path, token: str
) -> None:
    async with (
        serving(database, commit_patience_seconds=0.3) as server,
        server.extension() as extension,
    ):
        await extension.greet(token)
        async with write_locked(database):
            ack = await extension.ask(batch(message(1)))
        assert ack["results"][0]["status"] == "retry"
        async with asyncio.timeout(DEADLINE_SECONDS):
            while ack["results"][0]["status"] == "retry":
                ack = await extension.ask(batch(message(1)))

    assert ack["results"][0]["status"] == "confirmed"


async def test_sigterm_while_the_database_is_locked_still_ends_in_time(
    database: Path, token: str
) -> None:
    async with (
        serving(database, drain_deadline_seconds=0.5) as server,
        server.extension() as extension,
    ):
        await extension.greet(token)
        async with write_locked(database):
            await extension.send(batch(message(1)))
            await extension.ask(heartbeat())
            began = time.monotonic()
            status, said = await server.end()

        assert (status, time.monotonic() - began < 10) == (0, True)
        assert "Traceback" not in said
        assert await extension.close_code() == 1012
    assert await dumped(database, "message") == []


async def test_a_peer_that_asks_for_nothing_is_let_go(
    database: Path, token: str
) -> None:
    async with serving(database, request_deadline_seconds=3) as server:
        async with server.extension() as extension:
            await extension.greet(token)
            host, port = server.address.split(":")
            for beginning in (b"", b"GET /livez HTTP/1.1\r\nHo"):
                reader, writer = await asyncio.open_connection(host, int(port))
                writer.write(beginning)
                with suppress(ConnectionResetError):
                    assert (
                        await asyncio.wait_for(reader.read(), DEADLINE_SECONDS) == b""
                    )
                writer.close()

            assert (await extension.ask(heartbeat()))["type"] == "heartbeat.ack"
        assert (await server.get("/livez"))[0] == 200
