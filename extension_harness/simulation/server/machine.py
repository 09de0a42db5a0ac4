"""Bright as a process over its disk and sockets: started, killed, ended in order."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, cast

from pydantic import SecretStr
from starlette.websockets import WebSocket, WebSocketDisconnect

from bright_server.authorization.contract import (
    Authority,
    Binding,
    Standing,
    standing_of,
)
from bright_server.authorization.embedded import EmbeddedAuthority
from bright_server.authorization.tokens import token_digest
from bright_server.commit.authorizing_committer import AuthorizingCommitter
from bright_server.commit.group_committer import Committer, GroupCommitter, GroupReport
from bright_server.errors import AuthorityUnavailable, BindingRefused
from bright_server.ingest.hub import Hub
from bright_server.messages import BindingId, Grant
from bright_server.settings import Settings
from bright_server.stores.sqlite.queries import SQL
from bright_server.stores.sqlite.store import SqliteStore
from bright_server.wire.text import compact_json
from extension_harness.simulation.clock import SteadyTime, WallClock
from extension_harness.simulation.network import Closing, Link, Text
from extension_harness.simulation.server.disk import IN_MEMORY, ServerDisk
from extension_harness.simulation.server.loop import VirtualLoop, virtual_loop

PING_GIVES_UP_MS = 40_000
"""After this Bright's own pings have told it that a connection is dead."""


class WireWatch(Protocol):
    """Is told what passes at Bright's end of the wire, as it passes."""

    def server_sends(self, link: Link, text: str) -> None:
        """A frame is about to leave Bright; the disk is as it is at that moment."""
        ...


class Socket:
    """An accepted WebSocket, as far as Bright uses one."""

    def __init__(self, link: Link, loop: VirtualLoop, watch: WireWatch) -> None:
        self.link = link
        self._loop = loop
        self._watch = watch
        self._inbox: deque[dict[str, Any]] = deque()
        self._waiting: Future[dict[str, Any]] | None = None

    async def receive(self) -> dict[str, Any]:
        """Return the next message, or the end."""
        if self._inbox:
            return self._inbox.popleft()
        self._waiting = self._loop.create_future()
        try:
            return await self._waiting
        finally:
            self._waiting = None

    async def send_text(self, text: str) -> None:
        """Send a frame; a peer that is gone is an error, as in Starlette."""
        if not self.link.is_server_open:
            raise WebSocketDisconnect(1006)
        self._watch.server_sends(self.link, text)
        self.link.send("down", Text(text))

    async def close(self, code: int = 1000, reason: str | None = None) -> None:
        """Close the connection, after what was sent before."""
        if self.link.is_server_open:
            self.link.is_server_open = False
            self.link.send("down", Closing(code, reason or ""))

    def arrive(self, item: Text | Closing) -> None:
        """Take what has arrived."""
        if isinstance(item, Text):
            self._give({"type": "websocket.receive", "text": item.text})
        else:
            self.link.is_server_open = False
            self._give({"type": "websocket.disconnect", "code": item.code})

    def _give(self, message: dict[str, Any]) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(message)
        else:
            self._inbox.append(message)


class RemoteAuthority:
    """An authority beside Bright: asked over the network, and at times not there."""

    def __init__(self, deadline_seconds: float) -> None:
        self._deadline_seconds = deadline_seconds
        self.is_reachable = True
        self._bindings: dict[bytes, Binding] = {}

    def put(self, binding: Binding, token: str) -> None:
        """Keep a binding as it is now."""
        self._bindings[token_digest(token)] = binding

    async def authenticate(self, token: str) -> Grant:
        """See `Authority.authenticate`."""
        await self._answer()
        binding = self._bindings.get(token_digest(token))
        if binding is None or binding.revoked_at_ms is not None:
            raise BindingRefused
        return Grant(
            binding.binding_id,
            binding.authorization_version,
            frozenset(binding.accounts),
        )

    async def standings(self, grants: Iterable[Grant]) -> Mapping[Grant, Standing]:
        """See `Authority.standings`."""
        await self._answer()
        known = {each.binding_id: each for each in self._bindings.values()}
        return {
            grant: standing_of(grant, known.get(grant.binding_id)) for grant in grants
        }

    async def _answer(self) -> None:
        if not self.is_reachable:
            await asyncio.sleep(self._deadline_seconds)
            raise AuthorityUnavailable(f"no answer in {self._deadline_seconds:g} s")
        await asyncio.sleep(0)


class _Watch:
    """A `CommitWatch` that counts groups."""

    def __init__(self) -> None:
        self.groups = 0

    def group_committed(self, report: GroupReport) -> None:
        """See `CommitWatch.group_committed`."""
        self.groups += 1


@dataclass(slots=True)
class _Life:
    loop: VirtualLoop
    hub: Hub
    tasks: list[asyncio.Task[Any]]


class Server:
    """Bright's machine: the disk, the clock, and at most one server process."""

    def __init__(
        self, steady: SteadyTime, disk: ServerDisk, watch: WireWatch, *, is_remote: bool
    ) -> None:
        self.clock = WallClock(steady)
        self.disk = disk
        self.remote = RemoteAuthority(2.0) if is_remote else None
        self._steady = steady
        self._watch = watch
        self._settings = _settings(is_remote=is_remote)
        self._life: _Life | None = None
        self._draining: asyncio.Task[None] | None = None
        self._sockets: dict[int, Socket] = {}
        self.wrap: Callable[[SqliteStore], SqliteStore] = lambda store: store
        self.faults: list[dict[str, Any]] = []

    @property
    def is_up(self) -> bool:
        """Say whether a server process lives."""
        return self._life is not None

    def start(self) -> None:
        """Start a server over the disk as it is."""
        loop = virtual_loop(self._steady.now_ms)
        store = self.wrap(
            SqliteStore(
                self.disk.writer(loop),
                self.disk.reader(loop),
                self.disk.store_id,
                self._settings,
                self.clock,
            )
        )
        tasks: list[asyncio.Task[Any]] = []
        with _running(loop):
            authority: Authority = self.remote or EmbeddedAuthority(
                store.bindings, self._settings.authority_deadline_seconds
            )
            group = GroupCommitter(store, self._settings, self.clock, _Watch())
            tasks.append(loop.create_task(group.run()))
            committer: Committer = group
            if self.remote is not None:
                gate = AuthorizingCommitter(group, authority, self._settings)
                tasks.append(loop.create_task(gate.run()))
                committer = gate
            hub = Hub(committer, authority, store.store_id, self._settings, self.clock)
            tasks.append(loop.create_task(hub.tick_forever()))
        self._draining = None
        self._life = _Life(loop, hub, tasks)

    def run(self) -> None:
        """Let the server do what it can do now."""
        if self._life is not None:
            loop = self._life.loop
            loop.run_ready(self._steady.now_ms)
            if loop.faults:
                self.faults += loop.faults
                loop.faults = []

    def due_ms(self) -> float | None:
        """Return when a timer of the server is due."""
        return None if self._life is None else self._life.loop.due_ms()

    def accept(self, link: Link) -> bool:
        """Take a connection; False: nobody listens."""
        life = self._life
        if life is None:
            return False
        socket = Socket(link, life.loop, self._watch)
        self._sockets[link.number] = socket
        link.is_accepted = link.is_server_open = True
        with _running(life.loop):
            serving = life.hub.serve(cast("WebSocket", socket))
            life.tasks.append(life.loop.create_task(serving))
        self.run()
        return True

    def arrive(self, link: Link, item: Text | Closing) -> None:
        """Give what has arrived to its socket."""
        socket = self._sockets.get(link.number)
        if socket is not None and self._life is not None:
            socket.arrive(item)
            self.run()

    def kill(self, links: Iterable[Link]) -> None:
        """End the process at once: what was not committed was never there."""
        life, self._life = self._life, None
        self._draining = None
        self.disk.forget_jobs()
        for link in links:
            if link.is_server_open:
                link.end_server()
        if life is not None:
            # Python would complain of tasks thrown away; they end without effect.
            for task in life.tasks:
                task.cancel()
            life.loop.run_ready(self._steady.now_ms)
        self._sockets.clear()
        self.disk.forget_jobs()

    def drain(self) -> None:
        """Begin to end in good order, as at SIGTERM; `is_drained` says when."""
        life = self._life
        if life is not None and self._draining is None:
            with _running(life.loop):
                self._draining = life.loop.create_task(life.hub.drain())
            life.tasks.append(self._draining)
            self.run()

    @property
    def is_drained(self) -> bool:
        """Say whether a server that was to end has nothing more to do."""
        return self._draining is not None and self._draining.done()

    # What an operator does.

    def bind(self, number: int, accounts: Iterable[str]) -> str:
        """Make a binding for these accounts; returns its token."""
        token = f"brt_{number}"
        binding = Binding(
            BindingId(f"bnd_{number}"),
            "",
            tuple(accounts),
            1,
            self.clock.now_ms(),
            None,
        )
        if self.remote is not None:
            self.remote.put(binding, token)
        self.keep(number, accounts)
        return token

    def keep(self, number: int, accounts: Iterable[str]) -> None:
        """See to it that a binding is in the store, also in one that was restored."""
        self.disk.database.execute(
            "DELETE FROM binding WHERE binding_id = ?", (f"bnd_{number}",)
        )
        self.disk.database.execute(
            SQL["add_binding"],
            (
                f"bnd_{number}",
                token_digest(f"brt_{number}"),
                "",
                compact_json(tuple(accounts)),
                1,
                self.clock.now_ms(),
                None,
            ),
        )

    def revoke(self, number: int, accounts: Iterable[str]) -> None:
        """Revoke a binding."""
        now_ms = self.clock.now_ms()
        self.disk.database.execute(SQL["revoke_binding"], (now_ms, f"bnd_{number}"))
        if self.remote is not None:
            binding = Binding(
                BindingId(f"bnd_{number}"), "", tuple(accounts), 2, 0, now_ms
            )
            self.remote.put(binding, f"brt_{number}")

    def reach_authority(self, *, is_reachable: bool) -> None:
        """Say whether whoever is asked about bindings answers."""
        if self.remote is not None:
            self.remote.is_reachable = is_reachable
        else:
            self.disk.reach(is_reachable=is_reachable)
        self.run()


@cache
def _settings(*, is_remote: bool) -> Settings:
    return Settings(
        database=IN_MEMORY,
        writer_process=False,
        authority="https://authority.example" if is_remote else None,
        authority_credential=SecretStr("s") if is_remote else None,
    )


class _running:  # noqa: N801 - a context manager, used as a function
    """Makes a loop the running one while tasks are made."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def __enter__(self) -> None:
        self._before = asyncio.events._get_running_loop()  # noqa: SLF001
        asyncio.events._set_running_loop(self._loop)  # noqa: SLF001

    def __exit__(self, *_: object) -> None:
        asyncio.events._set_running_loop(self._before)  # noqa: SLF001
