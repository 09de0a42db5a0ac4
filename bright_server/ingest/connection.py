"""One connection's I/O: carries frames to its session, and effects out of it.

Nothing is decided here but when to give up on a peer that does not read. Frames go out
through one bounded queue, in order.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import FIRST_COMPLETED, Future
from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect

from bright_server.authorization.contract import Authority, Standing
from bright_server.clock import Clock
from bright_server.commit.group_committer import Committer
from bright_server.commit.groups import Outcome
from bright_server.errors import AuthorityUnavailable, BindingRefused, CommitError
from bright_server.ingest.effects import (
    Announce,
    Answered,
    Authenticate,
    CheckStanding,
    Close,
    Effect,
    Join,
    Registered,
    Send,
    Submit,
)
from bright_server.ingest.session import ExtensionSession
from bright_server.messages import Anchor, Grant
from bright_server.settings import Settings
from bright_server.wire.commands import Command, CommandResult

logger = logging.getLogger(__name__)


class Company(Protocol):
    """The other connections, as one of them needs them."""

    def join(self, connection: Connection, device_id: str, grant: Grant) -> None:
        """Let the newest connection of a device stand, and displace the other."""
        ...

    def announce(self, anchor: Anchor, by: Connection) -> None:
        """Tell the account's other connections of a moved anchor."""
        ...

    def registered(self, connection: Connection, account: str) -> None:
        """Note that a page of the account is open behind a connection."""
        ...

    def answered(self, connection: Connection, result: CommandResult) -> None:
        """Tell whoever asked for a command what became of it."""
        ...


class Connection:
    """Runs one session over one accepted WebSocket."""

    def __init__(
        self,
        websocket: WebSocket,
        session: ExtensionSession,
        company: Company,
        committer: Committer,
        authority: Authority,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._websocket = websocket
        self.session = session
        self._company = company
        self._committer = committer
        self._authority = authority
        self._settings = settings
        self._clock = clock
        self._queue: deque[str] = deque()
        self._queued_bytes = 0
        self._close: Close | None = None
        self._to_send = asyncio.Event()
        self._draining = False
        self._receiver: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()

    async def run(self) -> None:
        """Serve the connection to its end; raises nothing of the peer's doing."""
        loop = asyncio.get_running_loop()
        hello_timer = loop.call_later(
            self._settings.hello_deadline_seconds,
            lambda: self.perform(self.session.hello_overdue()),
        )
        self._receiver = asyncio.create_task(self._receive_all())
        sender = asyncio.create_task(self._send_all())
        try:
            await asyncio.wait({self._receiver, sender}, return_when=FIRST_COMPLETED)
            if self._draining and not sender.done():
                await asyncio.wait({sender})
        finally:
            hello_timer.cancel()
            self.session.gone()
            for task in (self._receiver, sender):
                task.cancel()
            results = await asyncio.gather(
                self._receiver, sender, return_exceptions=True
            )
            self.ended.set()
            for result in results:
                if isinstance(result, Exception):
                    logger.error("a connection failed", exc_info=result)

    def stop_taking(self) -> None:
        """Take no more frames; what was taken is still answered."""
        self._draining = True
        if self._receiver is not None:
            self._receiver.cancel()

    @property
    def channel_id(self) -> str:
        """See `Channel.channel_id`."""
        return self.session.connection_id

    @property
    def grant(self) -> Grant | None:
        """See `Channel.grant`."""
        return None if self._draining else self.session.grant

    def command(self, command: Command) -> bool:
        """See `Channel.command`."""
        effects = [] if self._draining else self.session.command(command)
        self.perform(effects)
        return bool(effects)

    def perform(self, effects: Iterable[Effect]) -> list[Authenticate | CheckStanding]:
        """Carry out effects; return the questions, which have to be waited for."""
        questions: list[Authenticate | CheckStanding] = []
        for effect in effects:
            if isinstance(effect, Send):
                if self._close is None:  # after that nothing is said any more
                    self._enqueue(effect.text)
            elif isinstance(effect, Submit):
                self._submit(effect)
            elif isinstance(effect, Close):
                self._close_by(effect)
            elif isinstance(effect, Join):
                self._company.join(self, effect.device_id, effect.grant)
            elif isinstance(effect, Announce):
                self._company.announce(effect.anchor, self)
            elif isinstance(effect, Registered):
                self._company.registered(self, effect.channel_account_id)
            elif isinstance(effect, Answered):
                self._company.answered(self, effect.result)
            else:
                questions.append(effect)
        return questions

    # In.

    async def _receive_all(self) -> None:
        try:
            await self._take_frames()
        except Exception:
            # A fault of this program ends this connection, in words, and no other.
            logger.exception("a connection failed")
            self.perform(self.session.failed())
            self._draining = True  # the close frame is still to be sent

    async def _take_frames(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            if text is None:
                effects = self.session.receive_binary()
            else:
                # Our own server has the bytes still; another encodes them again.
                data = message.get("utf8") or text.encode()
                effects = self.session.receive_text(data, self._clock.now_ms())
            for question in self.perform(effects):
                self.perform(await self._ask(question))

    async def _ask(self, question: Authenticate | CheckStanding) -> list[Effect]:
        # The next frame is read only after the answer: nothing happens unauthorized.
        try:
            if isinstance(question, Authenticate):
                grant = await self._authority.authenticate(question.token)
                return self.session.admitted(grant, self._clock.now_ms())
            standings = await self._authority.standings([question.grant])
        except BindingRefused:
            return self.session.refused()
        except AuthorityUnavailable as error:
            logger.warning("a connection is closed: %s", error)
            return self.session.silent()
        return self.session.standing_known(
            question.asked_by,
            standings.get(question.grant, Standing.REVOKED),
            self._clock.now_ms(),
        )

    def _submit(self, effect: Submit) -> None:
        try:
            outcome = self._committer.submit(effect.work, effect.size_bytes)
        except CommitError as error:
            self.perform(self.session.work_refused(effect.ticket, error))
            return
        outcome.add_done_callback(partial(self._settle, effect.ticket))

    def _settle(self, ticket: int, outcome: Future[Outcome]) -> None:
        if not outcome.cancelled():
            self.perform(self.session.work_done(ticket, outcome.result()))

    # Out.

    def _enqueue(self, text: str) -> None:
        self._queue.append(text)
        self._queued_bytes += len(text)
        self._to_send.set()
        if (
            len(self._queue) > self._settings.max_send_queue_frames
            or self._queued_bytes > self._settings.max_send_queue_bytes
        ):
            self._queue.clear()
            self._queued_bytes = 0
            self.perform(self.session.slow())

    def _close_by(self, effect: Close) -> None:
        self._close = effect
        self._to_send.set()
        # A peer that does not read cannot be told; it is not waited for longer.
        asyncio.get_running_loop().call_later(
            self._settings.close_deadline_seconds, self._give_up
        )

    def _give_up(self) -> None:
        if self._receiver is not None:
            self._draining = False
            self._receiver.cancel()

    async def _send_all(self) -> None:
        while True:
            await self._to_send.wait()
            self._to_send.clear()
            try:
                while self._queue:
                    text = self._queue.popleft()
                    self._queued_bytes -= len(text)
                    await self._websocket.send_text(text)
                if self._close is not None:
                    await self._websocket.close(self._close.code, self._close.reason)
                    return
            except (WebSocketDisconnect, RuntimeError):
                return  # the peer is gone
