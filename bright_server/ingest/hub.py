"""All connections of the extension's channel: who is here, the regular tick, the end.

The tick keeps the extensions' service workers alive and asks the authority about every
binding in one question (OT-60, OT-61). One device of one binding has one connection: a
newer one displaces the older.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from itertools import count
from typing import Literal

from starlette.websockets import WebSocket

from bright_server.authorization.contract import Authority, Standing
from bright_server.clock import Clock
from bright_server.commands.contract import CommandWatch
from bright_server.commit.group_committer import Committer
from bright_server.errors import AuthorityUnavailable
from bright_server.ingest.connection import Connection
from bright_server.ingest.session import ExtensionSession
from bright_server.messages import Anchor, Grant
from bright_server.settings import Settings
from bright_server.wire.commands import CommandResult
from bright_server.wire.pages import PageFacts, TroubleFacts

logger = logging.getLogger(__name__)


class Hub:
    """The company of connections; see `Company`, and `Crew` for commands."""

    def __init__(
        self,
        committer: Committer,
        authority: Authority,
        store_id: str,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._committer = committer
        self._authority = authority
        self._store_id = store_id
        self._settings = settings
        self._clock = clock
        self._connections: dict[Connection, int] = {}
        """Each with its arrival: the larger, the later."""
        self._of_device: dict[tuple[str, str], Connection] = {}
        self._page_holders: dict[str, list[Connection]] = {}
        self._arrivals = count(1)
        self._draining = False
        self.command_watch: CommandWatch | None = None
        """Who hears what connections say of commands; set once, by the root."""

    @property
    def size(self) -> int:
        """Return how many connections there are."""
        return len(self._connections)

    @property
    def is_full(self) -> bool:
        """Say whether no further connection is taken."""
        return self._draining or self.size >= self._settings.max_connections

    async def serve(self, websocket: WebSocket) -> None:
        """Serve an accepted WebSocket to its end."""
        session = ExtensionSession(uuid.uuid4().hex, self._store_id, self._settings)
        connection = Connection(
            websocket,
            session,
            self,
            self._committer,
            self._authority,
            self._settings,
            self._clock,
        )
        self._connections[connection] = next(self._arrivals)
        try:
            await connection.run()
        finally:
            del self._connections[connection]
            for key, other in list(self._of_device.items()):
                if other is connection:
                    del self._of_device[key]
            self._forget_pages(connection)
            if self.command_watch is not None:
                self.command_watch.lost(connection.channel_id)

    def join(self, connection: Connection, device_id: str, grant: Grant) -> None:
        """See `Company.join`."""
        key = (grant.binding_id, device_id)
        other = self._of_device.get(key)
        # Whose `hello` is answered last is not the newer one: a worker that has died
        # may have left its `hello` behind.
        arrivals = self._connections
        is_newest = other is None or arrivals[other] < arrivals[connection]
        if is_newest:
            self._of_device[key] = connection
        older = other if is_newest else connection
        if older is not None:
            older.perform(older.session.displaced())

    def announce(self, anchor: Anchor, by: Connection) -> None:
        """See `Company.announce`."""
        account = anchor.conversation.channel_account_id
        for other in list(self._connections):
            grant = other.session.grant
            if other is not by and grant is not None and account in grant.accounts:
                other.perform(other.session.anchor_moved(anchor))

    def registered(self, connection: Connection, account: str) -> None:
        """See `Company.registered`."""
        holders = self._page_holders.setdefault(account, [])
        if connection in holders:
            holders.remove(connection)
        holders.append(connection)

    def answered(self, connection: Connection, result: CommandResult) -> None:
        """See `Company.answered`."""
        if self.command_watch is not None:
            self.command_watch.answered(connection.channel_id, result)

    def channel_for(
        self, account: str
    ) -> Connection | Literal["no_connection", "no_page", "server_stopping"]:
        """See `Crew.channel_for`."""
        if self._draining:
            return "server_stopping"
        for connection in reversed(self._page_holders.get(account, [])):
            grant = connection.grant
            is_held = grant is not None and account in grant.accounts
            if is_held and connection.session.pages.has(account):
                return connection
        grants = [each.grant for each in self._connections]
        if any(grant is not None and account in grant.accounts for grant in grants):
            return "no_page"
        return "no_connection"

    def pages(self) -> list[PageFacts]:
        """Return every page that an open connection has told of."""
        return [
            PageFacts(
                page_id=page_id,
                channel_account_id=page.channel_account_id,
                binding_id=grant.binding_id,
                device_id=connection.session.device_id,
                connection_id=connection.channel_id,
                told_at_ms=page.told_at_ms,
                troubles=[
                    TroubleFacts(code=code, since_ms=since_ms)
                    for code, since_ms in page.troubles.items()
                ],
            )
            for connection in self._connections
            if (grant := connection.session.grant) is not None
            for page_id, page in connection.session.pages.items()
        ]

    def _forget_pages(self, connection: Connection) -> None:
        for account, holders in list(self._page_holders.items()):
            if connection in holders:
                holders.remove(connection)
            if not holders:
                del self._page_holders[account]

    async def tick_forever(self) -> None:
        """Let the tick pass at its interval, until cancelled."""
        while True:
            await asyncio.sleep(self._settings.keepalive_interval_seconds)
            await self.tick()

    async def tick(self) -> None:
        """Ask the authority about every binding; give every worker a sign of life."""
        open_ones = [
            (connection, grant)
            for connection in self._connections
            if (grant := connection.session.grant) is not None
        ]
        if not open_ones:
            return
        try:
            standings = await self._authority.standings(
                {grant for _, grant in open_ones}
            )
        except AuthorityUnavailable as error:
            logger.warning("%d connections are closed: %s", len(open_ones), error)
            for connection, _ in open_ones:
                connection.perform(connection.session.silent())
            return
        now_ms = self._clock.now_ms()
        for connection, grant in open_ones:
            standing = standings.get(grant, Standing.REVOKED)
            connection.perform(connection.session.keepalive(standing, now_ms))

    async def drain(self) -> None:
        """Take no more frames, have what was taken committed and ACKed, close 1012."""
        self._draining = True
        connections = list(self._connections)
        for connection in connections:
            connection.stop_taking()
        try:
            async with asyncio.timeout(self._settings.drain_deadline_seconds):
                await self._committer.drain()
        except TimeoutError:
            logger.warning(
                "%d requests were not committed before the end",
                self._committer.pending_items,
            )
            self._committer.abandon()
        # The outcomes' callbacks run before this task goes on.
        await asyncio.sleep(0)
        for connection in connections:
            connection.perform(connection.session.restarting())
        ends = [asyncio.create_task(each.ended.wait()) for each in connections]
        if ends:
            await asyncio.wait(ends, timeout=self._settings.close_deadline_seconds)
            for end in ends:
                end.cancel()
