"""`FakeBright` is the real server over a real socket, in the test's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from bright_server.testing.fake_bright import FakeBright, fake_bright
from bright_server.testing.sends import DELIVERY, candidate_of, sending
from tests.bright_server.frames import (
    ACCOUNT,
    CONVERSATION,
    batch,
    hello,
    message,
    profile,
    profiles,
)
from tests.bright_server.processes import DEADLINE_SECONDS, PATIENCE, Extension


@asynccontextmanager
async def extension_of(bright: FakeBright) -> AsyncIterator[Extension]:
    async with connect(
        bright.url,
        subprotocols=[Subprotocol("bright.extension.v1")],
        compression=None,
        open_timeout=DEADLINE_SECONDS,
    ) as socket:
        yield Extension(socket)


async def test_what_an_extension_sends_is_acked_and_can_be_looked_at() -> None:
    """MS-27: the ACK is of a committed message, and that is there to be seen."""
    async with fake_bright(**PATIENCE) as bright, extension_of(bright) as extension:
        welcome = await extension.greet(await bright.bind(ACCOUNT))
        assert welcome["type"] == "welcome"
        ack = await extension.ask(batch(message(1), message(2)))
        assert [each["status"] for each in ack["results"]] == ["confirmed"] * 2
        again = await extension.ask(batch(message(2), message(3)))
        await extension.ask(profiles(profile(1)))
        found = await bright.messages(ACCOUNT, CONVERSATION)
        assert [each.sequence for each in found] == [1, 2, 3]
        assert [each.message.text for each in found] == ["text 1", "text 2", "text 3"]
        assert [each["sequence"] for each in again["results"]] == [2, 3]
        assert await bright.profile(ACCOUNT, CONVERSATION) is not None


async def test_a_revoked_binding_is_refused() -> None:
    """OT-60: as `bright serve` refuses it."""
    async with fake_bright(**PATIENCE) as bright:
        token = await bright.bind(ACCOUNT)
        await bright.unbind(ACCOUNT)
        async with extension_of(bright) as extension:
            await extension.send(hello(token))
            assert await extension.close_code() == 4401


async def test_two_of_them_know_nothing_of_each_other() -> None:
    """One test's server is not another's, and each has a free port."""
    async with fake_bright() as one, fake_bright() as other:
        assert one.url != other.url
        account = sending().conversation.channel_account_id
        request = sending(key=replace(sending().key, sender=account))
        message = await one.bright.commits.commit(
            request, DELIVERY, candidate_of(request)
        )
        assert message.coordinates.sequence == 1
        assert await other.bright.commits.resume_existing(request) is None
