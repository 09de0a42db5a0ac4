"""Several real servers on one database, and each kind of database under a server."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from bright_server import backends
from bright_server.authorization.embedded import IssuedBinding, issue_binding
from bright_server.clock import SystemClock
from bright_server.commit.backend import Backend
from bright_server.commit.records import CommittedMessage
from bright_server.settings import Settings
from bright_server.testing.sends import sending
from tests.bright_server.databases.conftest import Places
from tests.bright_server.databases.leaving import LEFT
from tests.bright_server.frames import ACCOUNT, Frame, batch, heartbeat, message
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.processes import (
    Extension,
    Server,
    serving,
)
from tests.bright_server.senders import assert_gapless

DEADLINE_SECONDS = 60
SHARED = ["postgresql", "redis"]

shared = pytest.mark.parametrize("kind", SHARED)
every_kind = pytest.mark.parametrize("kind", ["sqlite", *SHARED])


async def bound(settings: Settings) -> IssuedBinding:
    """A binding, made in this process: a command's takes a second to start."""
    async with backends.bindings_opened(settings, SystemClock()) as bindings:
        return await issue_binding(bindings, [ACCOUNT], "", 1)


async def messages_in(settings: Settings) -> list[dict[str, Any]]:
    return [each async for each in backends.dump(settings) if each["type"] == "message"]


async def servers(
    stack: AsyncExitStack, settings: Settings, number: int
) -> list[Server]:
    return [
        await stack.enter_async_context(serving(str(settings.database)))
        for _ in range(number)
    ]


async def connected(
    stack: AsyncExitStack, token: str, several: Sequence[Server]
) -> list[Extension]:
    """A device of one account on each of the servers."""
    extensions = []
    for number, server in enumerate(several):
        extension = await stack.enter_async_context(server.extension())
        await extension.greet(token, deviceId=f"device-{number}")
        extensions.append(extension)
    return extensions


@shared
async def test_ms_20_connections_of_an_account_on_several_servers_have_one_numbering(
    kind: str, places: Places
) -> None:
    """MS-20, OT-01: each message once, and no number twice or left out."""
    settings = places(kind)
    token = (await bound(settings)).token
    async with AsyncExitStack() as stack:
        several = await servers(stack, settings, 3)
        extensions = await connected(stack, token, several)

        async def tell(extension: Extension, first: int) -> list[Frame]:
            # What two of three others tell, too, and each at another pace.
            return [
                await extension.ask(batch(*map(message, range(at, at + 30))))
                for at in range(first, first + 90, 15)
            ]

        told = await asyncio.gather(
            *(tell(each, 20 * number) for number, each in enumerate(extensions))
        )
        ready = [await server.get("/readyz") for server in several]

    assert [status for status, _ in ready] == [200, 200, 200]
    sequences: dict[str, int] = {}
    for acks in told:
        for result in (each for ack in acks for each in ack["results"]):
            assert result["status"] == "confirmed"
            first = sequences.setdefault(result["messageId"], result["sequence"])
            assert result["sequence"] == first
    records = await messages_in(settings)
    assert {each["messageId"]: each["sequence"] for each in records} == sequences
    assert_gapless(records)


@shared
async def test_ot_60_a_revocation_reaches_every_server(
    kind: str, places: Places, clock: ManualClock
) -> None:
    settings = places(kind)
    made = await bound(settings)
    async with AsyncExitStack() as stack:
        several = await servers(stack, settings, 2)
        extensions = await connected(stack, made.token, several)
        for extension in extensions:
            assert (await extension.ask(heartbeat()))["type"] == "heartbeat.ack"

        async with backends.bindings_opened(settings, clock) as bindings:
            await bindings.revoke(made.binding.binding_id, 1)

        for extension in extensions:
            await extension.send(batch(message(1)))
            assert await extension.close_code() == 4401
    assert await messages_in(settings) == []


@every_kind
async def test_ms_21_a_living_server_finishes_what_a_dead_process_has_left(
    kind: str, places: Places, clock: ManualClock
) -> None:
    """MS-21, MS-26: nobody sends it again; recovery alone commits it."""
    settings = places(kind)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.bright_server.databases.leaving", str(settings.database)),
    )
    assert await asyncio.wait_for(process.wait(), DEADLINE_SECONDS) == -signal.SIGKILL

    async with (
        backends.opened(settings, clock) as backend,
        serving(
            str(settings.database), recovery_age_ms=1, recovery_interval_seconds=0.1
        ) as server,
    ):
        async with asyncio.timeout(DEADLINE_SECONDS):
            while len(found := await committed_of(backend)) < len(LEFT):  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.05)
        metrics = (await server.get("/metrics"))[1]

    assert f"bright_recovered_commits_total {len(LEFT)}.0" in metrics
    assert 'bright_recovery_passes_total{outcome="made"}' in metrics
    assert sorted(each.coordinates.sequence for each in found) == [1, 2, 3]
    assert len({each.publication.position for each in found}) == len(LEFT)


async def committed_of(backend: Backend) -> list[CommittedMessage]:
    found = [
        await backend.commits.load_commit_for_request(sending(name)) for name in LEFT
    ]
    return [each for each in found if isinstance(each, CommittedMessage)]


async def test_a_server_keeps_a_database_in_memory_in_one_process() -> None:
    async with serving("memory:") as server:
        assert await server.get("/livez") == (200, "ok\n")
        assert (await server.get("/readyz"))[0] == 200
        status, _ = await server.end()

    assert status == 0
