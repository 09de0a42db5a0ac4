"""A Bright of a test's own: the real wire over a real socket, the store in memory.

For whoever builds an extension, or another client of Bright, and wants to see what
arrives. Fake is only that nothing outlives it: frames, sessions, ACKs and refusals are
those of `bright serve`, for it is the same server in the test's process.

    async with fake_bright() as bright:
        token = await bright.bind("my-account")
        ...  # connect to bright.url with the token, send a batch
        assert [m.message.text for m in await bright.messages("my-account", "c-1")]
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

from bright_server.app import Bright, running
from bright_server.authorization.embedded import issue_binding
from bright_server.clock import Clock, SystemClock
from bright_server.http_server import HttpServer
from bright_server.ingest.endpoint import PATH
from bright_server.messages import (
    BindingId,
    ContactProfile,
    ConversationKey,
    StoredMessage,
)
from bright_server.settings import Settings

_HOST: Final = "127.0.0.1"
_PAGE: Final = 500
_DEADLINE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class FakeBright:
    """A running server; see `fake_bright`."""

    url: str
    """Where an extension connects: `ws://127.0.0.1:…/v1/extension`."""
    origin: str
    """Where its HTTP pages are: `http://127.0.0.1:…`."""
    bright: Bright
    """The server's own parts, for whoever must look closer."""
    clock: Clock

    async def bind(self, *accounts: str, label: str = "test") -> str:
        """Return the token of a new binding for these accounts."""
        bindings = self.bright.backend.bindings
        issued = await issue_binding(bindings, accounts, label, self.clock.now_ms())
        return issued.token

    async def unbind(self, account: str) -> None:
        """Revoke every binding that holds an account."""
        bindings = self.bright.backend.bindings
        for binding in await bindings.all():
            if account in binding.accounts:
                name = BindingId(binding.binding_id)
                await bindings.revoke(name, self.clock.now_ms())

    async def messages(
        self, account: str, conversation: str
    ) -> Sequence[StoredMessage]:
        """Return every committed message of a conversation, in its order."""
        key = ConversationKey(account, conversation)
        found: list[StoredMessage] = []
        while True:
            last = found[-1].sequence if found else 0
            page, _ = await self.bright.backend.messages.messages_after(
                key, last, _PAGE
            )
            found += page
            if len(page) < _PAGE:
                return found

    async def profile(self, account: str, conversation: str) -> ContactProfile | None:
        """Return the newest profile of a conversation that has messages."""
        key = ConversationKey(account, conversation)
        _, profile = await self.bright.backend.messages.messages_after(key, 0, 1)
        return profile


class _Server(HttpServer):
    """Serves inside a test, whose signals are the test runner's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def fake_bright(
    clock: Clock | None = None, /, **changes: object
) -> AsyncIterator[FakeBright]:
    """Serve on a free port for as long as the block lasts.

    `changes` are settings by their names.

    Raises:
        TimeoutError: it did not begin to listen, or did not end.
    """
    given = {"database": "memory:", **changes}
    settings = Settings(**cast("dict[str, Any]", given))
    clock = clock or SystemClock()
    listening = asyncio.Event()
    with socket.create_server((_HOST, 0)) as bound:
        host, port = bound.getsockname()
        async with running(settings, clock) as bright:
            server = _Server(
                bright.application,
                settings,
                drain=bright.hub.drain,
                listening=listening.set,
            )
            serving = asyncio.create_task(server.serve(sockets=[bound]), name="serve")
            try:
                async with asyncio.timeout(_DEADLINE_SECONDS):
                    await listening.wait()
                address = f"{host}:{port}"
                yield FakeBright(
                    f"ws://{address}{PATH}", f"http://{address}", bright, clock
                )
            finally:
                server.should_exit = True
                async with asyncio.timeout(_DEADLINE_SECONDS):
                    await serving
