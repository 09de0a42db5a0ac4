"""Bright among many: equal ids, other writers, floods, peers that vanish."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from tests.bright_server.frames import (
    FIRST_ID,
    Frame,
    batch,
    heartbeat,
    message,
)
from tests.bright_server.processes import (
    dumped,
    serving,
)
from tests.bright_server.senders import (
    assert_gapless,
    scopes,
    write_locked,
)


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
            for refusal in refusals:
                assert (refusal["code"], refusal["retryable"]) == ("overloaded", True)
        # One or two of them were within the bound, and are committed now.
        ack = await extension.receive()
        while ack["type"] == "ws.error":
            ack = await extension.receive()
        again = await extension.ask(batch(message(9), request_id="9"))

    assert ack["results"][0]["status"] == "confirmed"
    assert again["type"] == "observation.ack"


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
