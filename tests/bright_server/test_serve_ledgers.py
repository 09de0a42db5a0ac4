"""Profiles, cards and buyer facts against a real Bright: durable, once, kept apart."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from websockets.exceptions import ConnectionClosed

from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    FIRST_ID,
    Frame,
    batch,
    buyer_facts,
    card,
    cards,
    claim,
    discovered,
    heartbeat,
    message,
    name_of,
    profile,
    profiles,
)
from tests.bright_server.processes import (
    DEADLINE_SECONDS,
    Extension,
    Server,
    create_binding,
    dumped,
    revoke_binding,
    serving,
)
from tests.bright_server.senders import write_locked
from tests.bright_server.stores.sqlite.version_1 import write_version_1

OF_EACH_LEDGER = {
    "contactProfile": profiles(profile(1)),
    "renderedCard": cards(card(1)),
    "buyerFacts": buyer_facts(1),
}
each_ledger = pytest.mark.parametrize(
    ("kind", "frame"), OF_EACH_LEDGER.items(), ids=OF_EACH_LEDGER
)


@pytest.fixture
async def server(database: Path, token: str) -> AsyncIterator[Server]:
    async with serving(database) as server:
        yield server


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def test_each_ledger_is_stored_then_acked(
    server: Server, token: str, database: Path
) -> None:
    """OT-81, OT-83, OT-90: an ACK names what is on disk."""
    async with server.extension() as extension:
        await extension.greet(token)
        profile_ack = await extension.ask(profiles(profile(2), profile(1)))
        card_ack = await extension.ask(
            cards(
                card(1),
                card(1),
                card(1, content=["other"]),
                card(2, content={"token": "x"}),
            )
        )
        facts_ack = await extension.ask(buyer_facts(1))
        metrics = (await server.get("/metrics"))[1]

    for ledger, what in (
        ("profile", "committed"),
        ("facts", "committed"),
        ("card", "committed"),
        ("card", "duplicate"),
        ("card", "conflict"),
    ):
        labels = f'{{ledger="{ledger}",outcome="{what}"}}'
        assert f"bright_ledger_entries_total{labels} 1.0" in metrics
    assert profile_ack["acks"] == [name_of(profile(2)), name_of(profile(1))]
    assert [
        (each["status"], each["duplicate"], each.get("code"))
        for each in card_ack["results"]
    ] == [
        ("confirmed", False, None),
        ("confirmed", True, None),
        ("conflict", False, None),
        ("rejected", False, "contains_secret"),
    ]
    assert facts_ack["fingerprint"] == "fingerprint 1"
    (stored,) = await dumped(database, "contactProfile")
    assert (stored["profile"], stored["observedAtMs"]) == (
        {"name": "name 2"},
        FIRST_ID + 2,
    )
    (first,) = await dumped(database, "renderedCard")
    assert first["content"] == {"title": "card 1"}
    (conflict,) = await dumped(database, "cardConflict")
    assert conflict["content"] == ["other"]
    (facts,) = await dumped(database, "buyerFacts")
    assert facts["facts"] == {"years": 1}
    assert await dumped(database, "message") == []


async def test_ot_84_a_profile_of_the_future_stores_and_acks_nothing_of_its_batch(
    server: Server, token: str, database: Path
) -> None:
    """OT-84: by the server's own clock; the others of the batch come again later."""
    ahead = profile(2, conversationId="other", observedAtMs=now_ms() + 6 * 60_000)
    soon = profile(3, observedAtMs=now_ms() + 4 * 60_000)
    async with server.extension() as extension:
        await extension.greet(token)
        error = await extension.ask(profiles(profile(1), ahead, request_id="future"))
        nothing = await dumped(database, "contactProfile")
        ack = await extension.ask(profiles(soon))

    assert error["type"] == "ws.error"
    assert (error["code"], error["requestId"]) == (
        "profile_observed_at_future",
        "future",
    )
    assert nothing == []
    assert ack["acks"] == [name_of(soon)]


async def test_ot_87_a_profile_ack_is_no_message_ack_and_proves_no_anchor(
    server: Server, token: str, database: Path
) -> None:
    """OT-87: with every ledger full, no message is stored or anchored by it."""
    named = card(1)
    async with server.extension() as extension:
        await extension.greet(token)
        answers = [
            await extension.ask(profiles(profile(1))),
            await extension.ask(cards(named)),
            await extension.ask(buyer_facts(1)),
        ]
        unproven = await extension.ask(claim(1))
        known = await extension.ask(discovered(CONVERSATION))
        ack = await extension.ask(batch(message(1, candidateKey=named["candidateKey"])))

    assert [each["type"] for each in answers] == [
        "contact.profile.ack",
        "card.rendered.ack",
        "buyer.facts.ack",
    ]
    assert unproven["code"] == "claim_unproven"
    assert known["conversations"][0]["anchor"] is None
    assert (ack["type"], ack["results"][0]["duplicate"]) == ("observation.ack", False)
    assert len(await dumped(database, "message")) == 1


@each_ledger
async def test_ot_03_the_same_from_two_devices_at_once_is_one_fact(
    server: Server, token: str, database: Path, kind: str, frame: Frame
) -> None:
    """OT-03, OT-81, OT-90: both are acknowledged, and one row is there."""
    async with server.extension() as one, server.extension() as two:
        await one.greet(token)
        await two.greet(token, deviceId="device-2")
        async with write_locked(database):
            for extension in (one, two):
                await extension.send(frame)
                # Taken, and with the committer: this answer comes after it.
                assert (await extension.ask(heartbeat()))["type"] == "heartbeat.ack"
            assert await dumped(database, kind) == []
        acks = [await extension.receive() for extension in (one, two)]

    assert {each["type"] for each in acks} == {frame["type"].replace("observed", "ack")}
    assert len(await dumped(database, kind)) == 1
    if kind == "renderedCard":
        duplicates = [each["results"][0]["duplicate"] for each in acks]
        assert sorted(duplicates) == [False, True]


async def test_ot_81_of_two_devices_that_race_the_latest_observation_wins(
    server: Server, token: str, database: Path
) -> None:
    """OT-81: whoever is first at the server, over many rounds and conversations."""

    async def tell(extension: Extension, mine: range) -> None:
        for at_ms in mine:
            each = [
                profile(at_ms, conversationId=f"conversation-{number}")
                for number in range(20)
            ]
            ack = await extension.ask(profiles(*each))
            assert ack["acks"] == [name_of(one) for one in each]

    async with server.extension() as one, server.extension() as two:
        await one.greet(token)
        await two.greet(token, deviceId="device-2")
        await asyncio.gather(tell(one, range(1, 40, 2)), tell(two, range(40, 0, -2)))

    found = await dumped(database, "contactProfile")
    assert len(found) == 20
    assert {each["observedAtMs"] for each in found} == {FIRST_ID + 40}
    assert {str(each["profile"]) for each in found} == {"{'name': 'name 40'}"}


@each_ledger
async def test_ot_83_killed_between_commit_and_ack_it_is_acked_when_sent_again(
    database: Path, token: str, kind: str, frame: Frame
) -> None:
    """OT-82, OT-83, OT-90: what is on disk without an ACK is confirmed, unchanged."""
    async with serving(database) as server, server.extension() as extension:
        await extension.greet(token)
        async with write_locked(database):
            await extension.send(frame)
            assert (await extension.ask(heartbeat()))["type"] == "heartbeat.ack"
            # The writer is another process: it commits while the server stands still.
            server.process.send_signal(signal.SIGSTOP)
        before = await stored(database, kind)
        await server.end(signal.SIGKILL)
        with pytest.raises(ConnectionClosed):
            await extension.receive()

    async with serving(database) as server, server.extension() as extension:
        await extension.greet(token)
        ack = await extension.ask(frame)

    assert ack["type"] == frame["type"].replace("observed", "ack")
    for result in ack.get("results", []):
        assert (result["status"], result["duplicate"]) == ("confirmed", True)
    assert await dumped(database, kind) == before


async def stored(database: Path, kind: str) -> list[Frame]:
    """Wait until there is a record of this kind."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not (found := await dumped(database, kind)):
            pass
    return found


@each_ledger
async def test_ot_85_killed_before_the_commit_nothing_is_acked_and_nothing_stored(
    database: Path, token: str, kind: str, frame: Frame
) -> None:
    """OT-85: no commit, no ACK; sent again, it is stored."""
    async with serving(database) as server, server.extension() as extension:
        await extension.greet(token)
        async with write_locked(database):
            await extension.send(frame)
            assert (await extension.ask(heartbeat()))["type"] == "heartbeat.ack"
            # Both processes: the writer would finish the group that it has begun.
            await end_with_its_writer(server)
            with pytest.raises(ConnectionClosed):
                await extension.receive()

    assert await dumped(database, kind) == []
    async with serving(database) as server, server.extension() as extension:
        await extension.greet(token)
        ack = await extension.ask(frame)
    assert ack["type"] == frame["type"].replace("observed", "ack")
    assert len(await dumped(database, kind)) == 1


async def end_with_its_writer(server: Server) -> None:
    children = psutil.Process(server.process.pid).children()
    server.process.send_signal(signal.SIGSTOP)
    for child in children:
        child.kill()
    await server.end(signal.SIGKILL)
    await asyncio.to_thread(psutil.wait_procs, children, DEADLINE_SECONDS)


async def test_ot_60_an_account_that_is_not_the_bindings_gets_nothing_stored(
    server: Server, token: str, database: Path
) -> None:
    """OT-60: scopes hold for each ledger; a revoked binding ends with 4401."""
    binding = await create_binding(database)
    async with server.extension() as extension:
        await extension.greet(binding["token"])
        for frame in OF_EACH_LEDGER.values():
            error = await extension.ask({**frame, "channelAccountId": "another"})
            assert error["code"] == "out_of_scope"
        await revoke_binding(database, binding["bindingId"])
        revoked = await extension.ask_ending(profiles(profile(1)))
        code = await extension.close_code()

    assert (revoked["type"], code) == ("binding.revoked", 4401)
    for kind in (*OF_EACH_LEDGER, "conversation"):
        assert await dumped(database, kind) == []


async def test_ot_60_two_accounts_do_not_see_or_disturb_each_other(
    server: Server, token: str, database: Path
) -> None:
    """OT-60, OT-80: the same conversation name in two accounts is two contacts."""
    foreign = (await create_binding(database, "another"))["token"]
    theirs = {"channelAccountId": "another"}
    async with server.extension() as mine, server.extension() as other:
        await mine.greet(token)
        await other.greet(foreign, deviceId="device-2")
        await mine.ask(profiles(profile(1)))
        await other.ask(profiles(profile(9), **theirs))
        ack = await mine.ask(profiles(profile(5)))

    assert ack["acks"] == [name_of(profile(5))]
    found = {
        each["channelAccountId"]: each["observedAtMs"]
        for each in await dumped(database, "contactProfile")
    }
    assert found == {ACCOUNT: FIRST_ID + 5, "another": FIRST_ID + 9}


async def test_ot_82_too_many_in_flight_are_refused_not_queued(
    database: Path, token: str
) -> None:
    """OT-82: back-pressure; messages have their own room."""
    async with (
        serving(database, max_in_flight_batches=2) as server,
        server.extension() as extension,
    ):
        await extension.greet(token)
        async with write_locked(database):
            for number in range(3):
                frame = profiles(profile(number), request_id=f"profiles {number}")
                await extension.send(frame)
            refusal = await extension.receive()
            await extension.send(batch(message(1)))
            await extension.ask(heartbeat())
        answers = [await extension.receive() for _ in range(3)]

    assert (refusal["code"], refusal["requestId"]) == (
        "too_many_in_flight",
        "profiles 2",
    )
    assert {each["requestId"] for each in answers} == {
        "profiles 0",
        "profiles 1",
        "batch",
    }


async def test_a_server_started_on_a_database_of_version_1_takes_every_ledger(
    tmp_path: Path,
) -> None:
    """OT-80, OT-90: stepped forward in place, at start."""
    database = tmp_path / "bright.db"
    write_version_1(database)
    token = (await create_binding(database))["token"]
    async with serving(database) as server, server.extension() as extension:
        await extension.greet(token)
        ack = await extension.ask(batch(message(1)))
        for frame in OF_EACH_LEDGER.values():
            answer = await extension.ask(frame)
            assert answer["type"] == frame["type"].replace("observed", "ack")

    assert ack["results"][0]["duplicate"] is True
    for kind in (*OF_EACH_LEDGER, "message", "conflict", "anchor"):
        assert len(await dumped(database, kind)) == 1
