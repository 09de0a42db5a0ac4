"""Bright when something goes wrong: killed, ended, locked out, flooded."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.bright_server.frames import (
    FIRST_ID,
    Frame,
    batch,
    heartbeat,
    message,
)
from tests.bright_server.processes import (
    Server,
    bright,
    bright_status,
    create_binding,
    dumped,
    serving,
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "bright.db"


@pytest.fixture
async def token(database: Path) -> str:
    return str((await create_binding(database))["token"])


@asynccontextmanager
async def write_locked(database: Path) -> AsyncIterator[None]:
    """Another program holds the database's write lock while the block lasts."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("COMMIT")


class Sender:
    """Sends batches as fast as they are ACKed, and remembers which messages were."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.conversation = f"conversation-{number}"
        self.acked: list[str] = []
        self.close_code: int | None = None
        self.first_ack = asyncio.Event()

    def batch(self, nth: int) -> Frame:
        change = {"conversationId": self.conversation}
        numbers = range(nth * 10, nth * 10 + 10)
        return batch(*(message(n, **change) for n in numbers), **change)

    async def run(self, server: Server, token: str, batches: int = 100_000) -> None:
        async with server.extension() as extension:
            await extension.greet(token, deviceId=f"device-{self.number}")
            try:
                for nth in range(batches):
                    self.note(await extension.ask(self.batch(nth)))
            except ConnectionClosed as closed:
                self.close_code = closed.rcvd.code if closed.rcvd else 1006

    def note(self, ack: Frame) -> None:
        for result in ack["results"]:
            if result["status"] == "confirmed":
                self.acked.append(result["messageId"])
        self.first_ack.set()


def scopes(records: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    return Counter((each["conversationId"], each["messageId"]) for each in records)


def assert_gapless(records: list[dict[str, Any]]) -> None:
    assert [each["position"] for each in records] == list(range(1, len(records) + 1))
    for conversation in {each["conversationId"] for each in records}:
        mine = [e["sequence"] for e in records if e["conversationId"] == conversation]
        assert mine == list(range(1, len(mine) + 1))


async def assert_stored_once(database: Path, senders: list[Sender]) -> None:
    """Every ACKed message is in the store, once, without a gap in any numbering."""
    records = await dumped(database, "message")
    stored = scopes(records)
    acked = {(each.conversation, mid) for each in senders for mid in each.acked}

    assert set(stored.values()) == {1}
    assert acked <= stored.keys(), "an ACKed message is lost"
    assert_gapless(records)
    assert scopes(await dumped(database, "outbox")) == stored


async def test_bug_45_and_48_sigterm_under_load_acks_what_was_taken_and_ends_well(
    database: Path, token: str
) -> None:
    senders = [Sender(number) for number in range(50)]
    async with serving(database) as server:
        running = [asyncio.create_task(each.run(server, token)) for each in senders]
        await asyncio.wait_for(
            asyncio.gather(*(each.first_ack.wait() for each in senders)), 60
        )

        began = time.monotonic()
        status, said = await server.end(signal.SIGTERM)
        took = time.monotonic() - began
        await asyncio.wait_for(asyncio.gather(*running), 30)

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
            asyncio.gather(*(each.first_ack.wait() for each in senders)), 60
        )
        await server.end(signal.SIGKILL)
        await asyncio.wait_for(asyncio.gather(*running), 30)
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
            ping_timeout_seconds=0.5,
            readiness_deadline_seconds=0.3,
        ) as server,
        server.extension() as writing,
        server.extension() as idle,
    ):
        await writing.greet(token)
        await idle.greet(token, deviceId="device-2")
        async with write_locked(database):
            await writing.send(batch(message(1)))
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline:
                assert (await idle.ask(heartbeat()))["type"] == "heartbeat.ack"
                assert (await writing.ask(heartbeat()))["type"] == "heartbeat.ack"
            status, lines = await server.get("/readyz")
            assert status == 503
            assert "store: no answer in 0.3 s" in lines
            assert await server.get("/livez") == (200, "ok\n")

        ack = await writing.receive()
        assert ack["results"][0]["status"] == "confirmed"
        assert (await server.get("/readyz"))[0] == 200


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
        again = await extension.ask(batch(message(1)))

    assert ack["results"][0]["status"] == "retry"
    assert again["results"][0]["status"] == "confirmed"


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


async def test_bug_19_two_sockets_send_one_id_while_the_lock_is_held(
    database: Path, token: str
) -> None:
    async with (
        serving(database) as server,
        server.extension() as one,
        server.extension() as two,
    ):
        await one.greet(token)
        await two.greet(token, deviceId="device-2")
        async with write_locked(database):
            for extension in (one, two):
                await extension.send(batch(message(1)))
                # Frames are taken in order: the batch is with the committer by now,
                # and no ACK has come before this answer.
                assert (await extension.ask(heartbeat()))["type"] == "heartbeat.ack"
            assert await dumped(database, "message") == []

        acks = [await extension.receive() for extension in (one, two)]

    results = [each["results"][0] for each in acks]
    assert [each["status"] for each in results] == ["confirmed", "confirmed"]
    assert sorted(each["duplicate"] for each in results) == [False, True]
    assert len(await dumped(database, "message")) == 1


async def test_bug_20_half_known_ids_beside_another_writer_are_all_acked(
    database: Path, token: str
) -> None:
    async with serving(database) as server:
        known = batch(*map(message, range(100)))
        both = batch(*map(message, range(200)))
        async with server.extension() as extension:
            await extension.greet(token)
            await extension.ask(known)
        done = asyncio.Event()
        other = asyncio.create_task(asyncio.to_thread(write_beside, database, done))

        async def send(number: int) -> Frame:
            async with server.extension() as extension:
                await extension.greet(token, deviceId=f"device-{number}")
                return await extension.ask(both)

        acks = await asyncio.gather(*map(send, range(20)))
        done.set()
        await other

    for ack in acks:
        assert [each["status"] for each in ack["results"]] == ["confirmed"] * 200
    records = await dumped(database, "message")
    assert len(records) == 200
    assert_gapless(records)


def write_beside(database: Path, done: asyncio.Event) -> None:
    with closing(sqlite3.connect(database, timeout=30)) as other:
        other.execute("CREATE TABLE theirs (x)")
        while not done.is_set():
            with other:
                other.execute("INSERT INTO theirs VALUES (1)")


async def test_bug_28_equal_and_backdated_times_are_all_kept(
    database: Path, token: str
) -> None:
    same = [message(n, sentAtMs=FIRST_ID) for n in range(500)]
    earlier = [message(n, sentAtMs=FIRST_ID - 3_600_000) for n in range(500, 510)]
    async with serving(database) as server, server.extension() as extension:
        await extension.greet(token)
        for start in range(0, 510, 100):
            await extension.ask(batch(*(same + earlier)[start : start + 100]))

    records = await dumped(database, "outbox")
    assert [each["position"] for each in records] == list(range(1, 511))
    assert len(scopes(records)) == 510


async def test_bug_42_lost_acks_and_a_late_lower_id_are_all_settled(
    database: Path, token: str
) -> None:
    async with serving(database) as server:
        async with server.extension() as extension:
            await extension.greet(token)
            for number in (20, 30):
                await extension.send(batch(message(number)))
            await extension.ask(heartbeat())
        # Neither ACK was read; now both again, and one that is older than both.
        async with server.extension() as extension:
            await extension.greet(token)
            acks = [await extension.ask(batch(message(n))) for n in (20, 30, 10)]

    assert [each["results"][0]["status"] for each in acks] == ["confirmed"] * 3
    assert len(await dumped(database, "message")) == 3


async def test_bug_58_bad_messages_of_many_sockets_cost_no_good_one(
    database: Path, token: str
) -> None:
    async with serving(database) as server:

        async def send(number: int) -> Frame:
            key = {"conversationId": f"conversation-{number}"}
            messages = [
                message(n, **key, **({"senderId": 7} if n % 20 == 0 else {}))
                for n in range(100)
            ]
            async with server.extension() as extension:
                await extension.greet(token, deviceId=f"device-{number}")
                return await extension.ask(batch(*messages, **key))

        acks = await asyncio.gather(*map(send, range(50)))

    for ack in acks:
        counts = Counter(each["status"] for each in ack["results"])
        assert counts == {"confirmed": 95, "rejected": 5}
    records = await dumped(database, "message")
    assert len(records) == 50 * 95
    assert_gapless(records)


async def test_more_in_flight_than_allowed_is_refused_not_queued(
    database: Path, token: str
) -> None:
    async with (
        serving(database, max_in_flight_batches=2) as server,
        server.extension() as extension,
    ):
        await extension.greet(token)
        async with write_locked(database):
            for number in range(3):
                await extension.send(batch(message(number), request_id=str(number)))
            refusal = await extension.receive()
        answers = [await extension.receive() for _ in range(2)]

    assert (refusal["code"], refusal["requestId"]) == ("too_many_in_flight", "2")
    assert {each["requestId"] for each in answers} == {"0", "1"}


async def test_too_much_pending_is_refused_and_memory_does_not_grow(
    database: Path, token: str
) -> None:
    async with (
        serving(database, max_pending_bytes=10_000) as server,
        server.extension() as extension,
    ):
        await extension.greet(token)
        async with write_locked(database):
            for number in range(4):
                big = message(number, text="x" * 6_000)
                await extension.send(batch(big, request_id=str(number)))
            refusals = [await extension.receive() for _ in range(2)]
        answers = [await extension.receive() for _ in range(2)]

    assert {each["code"] for each in refusals} == {"overloaded"}
    assert all(each["retryable"] for each in refusals)
    assert {each["type"] for each in answers} == {"observation.ack"}


async def test_a_peer_that_vanishes_mid_batch_harms_nobody(
    database: Path, token: str
) -> None:
    async with serving(database) as server:
        async with write_locked(database), server.extension() as extension:
            await extension.greet(token)
            await extension.send(batch(message(1)))
            await extension.ask(heartbeat())
            extension.socket.transport.abort()
        async with server.extension() as extension:
            await extension.greet(token)
            ack = await extension.ask(batch(message(1)))
        status, said = await server.end()

    assert ack["results"][0] | {"candidateKey": ""} == {
        "candidateKey": "",
        "messageId": str(FIRST_ID + 1),
        "status": "confirmed",
        "duplicate": True,
        "sequence": 1,
    }
    assert (status, "Traceback" in said) == (0, False)
