"""Sends messages, step by step as a server does, and says of each that is committed.

Run as `python -m tests.power.sending ADDRESS PREFIX`. It writes one line of JSON for
each ACK, and goes on until it is killed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Final

from bright_server.backends import opened
from bright_server.clock import SystemClock
from bright_server.commit.backend import Backend
from bright_server.commit.committer import DurableCommitter
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitKey,
    CommittedMessage,
    FrozenDelivery,
    MessageContent,
    ReserveCandidate,
)
from bright_server.errors import Recoverable
from bright_server.messages import ConversationKey
from bright_server.settings import Settings
from tests.bright_server.frames import ACCOUNT

SENDERS: Final = 4


class AdmitsAll:
    """An admission with nothing against anybody."""

    def check_form(self, request: AuthenticatedSend) -> None:
        """See `Admission.check_form`."""

    async def admit(
        self, request: AuthenticatedSend, candidate: ReserveCandidate
    ) -> None:
        """See `Admission.admit`."""


def conversation_of(sender: int) -> ConversationKey:
    """Return where a sender's messages go."""
    return ConversationKey(ACCOUNT, f"sent-{sender}")


def request_of(sender: int, name: str) -> AuthenticatedSend:
    """Return a sender's message of this name, always the same."""
    return AuthenticatedSend(
        CommitKey("sent", ACCOUNT, f"seller-{sender}", name),
        conversation_of(sender),
        MessageContent(f"seller-{sender}", "outbound", "text", f"text {name}"),
        "device-1",
    )


def places_of(committed: CommittedMessage) -> list[object]:
    """Return the coordinates and the publication of a message."""
    at, log = committed.coordinates, committed.publication.position
    return [at.message_id, at.sequence, log.partition, log.offset]


@asynccontextmanager
async def committing(
    address: str,
) -> AsyncIterator[tuple[Backend, DurableCommitter]]:
    """Hold the database and a committer over it."""
    settings = Settings.model_validate({"database": address})
    async with opened(settings, SystemClock()) as backend:
        yield (
            backend,
            DurableCommitter(backend.commits, backend.publisher, AdmitsAll(), settings),
        )


async def send_forever(
    commit: Callable[..., Awaitable[CommittedMessage]], sender: int, prefix: str
) -> None:
    """Send one message after the other, each until it is committed."""
    for number in count():
        request = request_of(sender, f"{prefix}-{number}")
        now_ms = SystemClock().now_ms()
        message_id = f"{sender}-{prefix}-{number}"
        candidate = ReserveCandidate(message_id, now_ms)
        while True:
            try:
                done = await commit(request, FrozenDelivery("buyer-1"), candidate)
            except Recoverable:
                await asyncio.sleep(0.02)
            else:
                break
        name = request.key.client_message_id
        sys.stdout.write(json.dumps([sender, name, places_of(done)]) + "\n")
        sys.stdout.flush()


async def main() -> None:
    """Send until killed."""
    async with (
        committing(sys.argv[1]) as (_, committer),
        asyncio.TaskGroup() as together,
    ):
        for sender in range(SENDERS):
            together.create_task(send_forever(committer.commit, sender, sys.argv[2]))


if __name__ == "__main__":
    asyncio.run(main())
