"""`bright serve` over either authority: scopes, revocation, and what is stored."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.bright_server.authorization.realms import (
    DatabaseOperator,
    Operator,
    ServiceOperator,
)
from tests.bright_server.authorization.services import CREDENTIAL, service_running
from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    FIRST_ID,
    batch,
    claim,
    discovered,
    heartbeat,
    hello,
    message,
    progress,
    register_page,
)
from tests.bright_server.processes import Server, bright, dumped, serving

EXAMPLES = Path(__file__).parents[2] / "wire_examples"

# The frames of an extension that say an account: all there are, also those to come,
# for every frame of the contract has an example.
SCOPED = sorted(
    (
        frame
        for path in EXAMPLES.glob("*.json")
        if (example := json.loads(path.read_text()))["direction"] == "toServer"
        and "channelAccountId" in (frame := example["frame"])
    ),
    key=lambda frame: str(frame["type"]),
)

Realm = tuple[Server, Operator]


@asynccontextmanager
async def embedded(folder: Path, tick_seconds: float = 15) -> AsyncIterator[Realm]:
    async with serving(
        folder / "bright.db", keepalive_interval_seconds=tick_seconds
    ) as server:
        yield server, DatabaseOperator(server.database)


@asynccontextmanager
async def remote(folder: Path, tick_seconds: float = 15) -> AsyncIterator[Realm]:
    async with (
        service_running(folder / "service") as service,
        serving(
            folder / "bright.db",
            authority=service.address,
            authority_credential=CREDENTIAL,
            keepalive_interval_seconds=tick_seconds,
        ) as server,
    ):
        yield server, ServiceOperator(service)


BACK_ENDS = {"embedded": embedded, "remote": remote}


@pytest.fixture(params=BACK_ENDS)
async def realm(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Realm]:
    async with BACK_ENDS[request.param](tmp_path) as realm:
        yield realm


async def test_ot_60_no_frame_of_any_kind_reaches_another_bindings_account(
    realm: Realm,
) -> None:
    """OT-60: a binding sees its own accounts only, and nothing else is stored."""
    server, operator = realm
    token, _ = await operator.issue("mine")
    await operator.issue(ACCOUNT)
    assert {"observation.batch", "page.register"} <= {each["type"] for each in SCOPED}

    for frame in SCOPED:
        async with server.extension() as extension:
            assert (await extension.greet(token))["accounts"] == ["mine"]
            refusal = await extension.ask(frame)
            assert (refusal["type"], refusal["code"], refusal["path"]) == (
                "ws.error",
                "out_of_scope",
                "channelAccountId",
            ), frame["type"]
            assert refusal.get("requestId") == frame.get("requestId")
            # The account was all that stood against it: a refusal would come at once.
            await extension.send(frame | {"channelAccountId": "mine"})
            answer = await extension.ask(heartbeat())
            while answer["type"] != "heartbeat.ack":
                assert answer.get("code") != "out_of_scope", frame["type"]
                answer = await extension.receive()

    stored = await bright("store", "dump", f"--database={server.database}")
    accounts = {
        record["channelAccountId"]
        for line in stored.splitlines()
        if "channelAccountId" in (record := json.loads(line))
    }
    assert accounts == {"mine"}


async def test_ot_60_an_anchor_is_told_to_the_accounts_own_bindings_alone(
    realm: Realm,
) -> None:
    """OT-60: what one account learns is no other's."""
    server, operator = realm
    token, _ = await operator.issue(ACCOUNT)
    foreign, _ = await operator.issue("another")
    async with server.extension() as one, server.extension() as stranger:
        await one.greet(token)
        await stranger.greet(foreign, deviceId="device-2")
        await one.ask(batch(message(1)))
        assert (await one.ask(claim(1)))["type"] == "anchor.snapshot"

        # It would have come before this answer.
        assert (await stranger.ask(heartbeat()))["type"] == "heartbeat.ack"


async def test_the_whole_way_of_a_message_is_the_same(realm: Realm) -> None:
    server, operator = realm
    token, _ = await operator.issue(ACCOUNT)
    async with server.extension() as extension:
        await extension.greet(token)
        assert (await extension.ask(register_page()))["type"] == "page.registered"
        assert (await extension.ask(discovered(CONVERSATION)))["type"] == (
            "conversation.known"
        )
        ack = await extension.ask(batch(message(1), message(2)))
        await extension.send(progress())
        (anchor,) = (await extension.ask(claim(2)))["anchors"]

    assert [each["sequence"] for each in ack["results"]] == [1, 2]
    assert anchor["latestMessageId"] == str(FIRST_ID + 2)
    assert len(await dumped(server.database, "message")) == 2
    status, lines = await server.get("/readyz")
    assert (status, lines) == (200, "store: ok\ncommits: ok\nauthority: ok\n")


ASKING = {
    "batch": batch(message(2)),
    "claim": claim(1),
    "discovery": discovered("another conversation"),
    "progress": progress(page=7),
    "page": register_page(),
    "heartbeat": heartbeat(),
}


async def test_ot_60_a_revoked_binding_ends_with_4401_before_anything_is_done(
    realm: Realm,
) -> None:
    """OT-60: checked on every heartbeat and before every operation."""
    server, operator = realm
    before = await bright("store", "dump", f"--database={server.database}")
    for name, frame in ASKING.items():
        token, binding_id = await operator.issue(ACCOUNT)
        async with server.extension() as extension:
            await extension.greet(token)
            await operator.revoke(binding_id)

            told = await extension.ask(frame)
            assert told == {"type": "binding.revoked", "reason": "revoked"}, name
            assert await extension.close_code() == 4401
        async with server.extension() as again:
            await again.send(hello(token))
            assert await again.close_code() == 4401

    after = await bright("store", "dump", f"--database={server.database}")
    assert after == before


async def test_ot_60_another_authorization_version_ends_the_connection_too(
    realm: Realm,
) -> None:
    """OT-60: and with a new greeting the new version holds."""
    server, operator = realm
    token, binding_id = await operator.issue(ACCOUNT)
    async with server.extension() as extension:
        await extension.greet(token)
        await operator.raise_version(binding_id)

        told = await extension.ask(batch(message(1)))
        assert told == {"type": "binding.revoked", "reason": "version_changed"}
        assert await extension.close_code() == 4401
    async with server.extension() as again:
        assert (await again.greet(token))["authorizationVersion"] == 2
        assert (await again.ask(batch(message(1))))["type"] == "observation.ack"


@pytest.mark.parametrize("back_end", BACK_ENDS)
async def test_ot_60_an_idle_connection_is_found_revoked_by_the_tick(
    back_end: str, tmp_path: Path
) -> None:
    """OT-60: nobody has to send anything for it."""
    async with BACK_ENDS[back_end](tmp_path, tick_seconds=0.1) as realm:
        server, operator = realm
        token, binding_id = await operator.issue(ACCOUNT)
        async with server.extension() as extension:
            await extension.greet(token)
            await operator.revoke(binding_id)

            assert (await extension.receive())["type"] == "binding.revoked"
            assert await extension.close_code() == 4401
