"""The simulated page as an object: start it, open it, drive it, ask its ledger.

Two listeners in one thread of its own: TLS for the page at its real host names
(Chromium is told to come here by `host_rules` and to accept the certificate by `spki`),
and plain HTTP on this machine for the control address and for a human's look.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette

from extension_harness.page.certificate import (
    PAGE_HOST,
    Certificate,
    TlsFactory,
    host_rules,
    make_certificate,
)
from extension_harness.page.channel import Channel
from extension_harness.page.control import Control
from extension_harness.page.corpus import Corpus
from extension_harness.page.document import Timeline
from extension_harness.page.endpoints import Endpoints
from extension_harness.page.errors import PageNotReadyError, PageNotRunningError
from extension_harness.page.ledger import Ledger
from extension_harness.page.live import Live
from extension_harness.page.lwp_socket import LwpSocket
from extension_harness.page.records import LedgerAnomaly, LedgerMessage
from extension_harness.page.serving import Serving
from extension_harness.page.simulator_routes import PAGE_PATH, SimulatorRoutes
from extension_harness.page.state import Clock, PageState, wall_clock_ms
from extension_harness.page.switches import SwitchBoard, Switches
from extension_harness.page.truth import Fault, Message

START_SECONDS = 60.0
EDIT_SECONDS = 0.2
LOOPBACK = "127.0.0.1"
_NOT_STARTED = "the simulated page was not started: call start()"


class SimulatedPage:
    """One simulated OneTalk page; a context manager, or `start()` and `stop()`.

    `port` is the TLS listener's, 0 for any; `control_port` the plain one's. `surfaces`
    is the initial setting of the switches. Every method is safe from any thread.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        port: int = 0,
        control_port: int = 0,
        surfaces: Switches | None = None,
        timeline: Timeline | None = None,
        now_ms: Clock = wall_clock_ms,
    ) -> None:
        self.corpus = corpus
        self.switches = SwitchBoard(surfaces)
        self.state = PageState(corpus, self.switches, now_ms)
        self._serving = Serving(self.state)
        self._channel = Channel(self.state)
        self._live = Live(self._serving, self._channel)
        self._lwp = LwpSocket(self._serving)
        self._live.on_announced = self._push_lwp
        self._timeline = timeline or Timeline()
        self._ports = (port, control_port)
        self._certificate: Certificate | None = None
        self._servers: list[uvicorn.Server] = []
        self._sockets: list[socket.socket] = []
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self.switches.listen(self._tell_switches)
        self.state.on_first_version_shown = self._edit_soon

    def _tell_switches(self, current: Switches) -> None:
        self._channel.broadcast({"type": "switches", "switches": current.public()})

    # Life.

    def start(self) -> Self:
        """Start both listeners and return when they take connections.

        After a stop the page comes back at the same ports with the same certificate.

        Raises:
            PageNotRunningError: a port is taken, or the server did not come up in time.
        """
        if self._thread is not None:
            return self
        self._failure = None
        self._certificate = self._certificate or make_certificate()
        try:
            self._sockets = [_listen(port) for port in self._ports]
        except (OSError, OverflowError) as error:
            raise PageNotRunningError(
                f"the simulated page cannot listen on ports {self._ports}: {error}"
            ) from error
        self._ports = (self._port(0), self._port(1))
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(started,), name="simulated-page", daemon=True
        )
        self._thread.start()
        self._check_started(in_time=started.wait(START_SECONDS))
        return self

    def _check_started(self, *, in_time: bool) -> None:
        if self._failure is not None or not in_time:
            reason = self._failure or "time is over"
            raise PageNotRunningError(
                f"the simulated page did not start: {reason}"
            ) from self._failure

    def stop(self) -> None:
        """Close every connection and both listeners; harmless when not running."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        for server in self._servers:
            server.should_exit = True
            server.force_exit = True
        thread.join(START_SECONDS)
        for each in self._sockets:
            each.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self, started: threading.Event) -> None:
        try:
            asyncio.run(self._serve(started))
        except BaseException as error:  # noqa: BLE001 - told to whoever started it
            self._failure = error
        finally:
            started.set()

    async def _serve(self, started: threading.Event) -> None:
        self._channel.attach(asyncio.get_running_loop())
        routes = SimulatorRoutes(
            self._serving, self._live, self._channel, self._lwp, self._timeline
        ).routes()
        routes = [*routes, *Endpoints(self._serving).routes()]
        control = Control(self.state, self._live, self._channel).routes()
        page = _config(Starlette(routes=routes), self._made().server_context)
        plain = _config(Starlette(routes=[*routes, *control]))
        self._servers = [uvicorn.Server(page), uvicorn.Server(plain)]
        serving = [
            asyncio.create_task(server.serve(sockets=[each]))
            for server, each in zip(self._servers, self._sockets, strict=True)
        ]
        while not all(server.started for server in self._servers):
            if any(task.done() for task in serving):
                break
            await asyncio.sleep(0.01)
        started.set()
        await asyncio.gather(*serving)

    # Where it is.

    @property
    def port(self) -> int:
        """The port of the TLS listener."""
        return self._port(0)

    def _port(self, index: int) -> int:
        if not self._sockets:
            raise PageNotRunningError(
                "the simulated page was not started: call start()"
            )
        return int(self._sockets[index].getsockname()[1])

    @property
    def url(self) -> str:
        """The page's address in a browser that has the host rules."""
        return f"https://{PAGE_HOST}{PAGE_PATH}?isGray=1&from=menu&hideMenu=1#/"

    @property
    def local_url(self) -> str:
        """The page over plain HTTP, for a human's look in any browser."""
        return f"http://{LOOPBACK}:{self._port(1)}{PAGE_PATH}"

    @property
    def control_url(self) -> str:
        """The control address for other processes."""
        return f"http://{LOOPBACK}:{self._port(1)}/__control__"

    @property
    def host_rules(self) -> str:
        """The value of Chromium's `--host-resolver-rules`."""
        return host_rules(self.port)

    @property
    def spki(self) -> str:
        """The value of Chromium's `--ignore-certificate-errors-spki-list`."""
        return self._made().spki

    @property
    def authority_pem(self) -> bytes:
        """The certificate of the authority, for clients that check."""
        return self._made().authority_pem

    def _made(self) -> Certificate:
        if self._certificate is None:
            raise PageNotRunningError(
                "the simulated page was not started: call start()"
            )
        return self._certificate

    # What it holds, and what happens in it.

    @property
    def ledger(self) -> Ledger:
        """The ground truth."""
        return self.state.ledger

    def post_live(
        self,
        conversation_id: str | None = None,
        text: str | None = None,
        direction: str = "inbound",
        messy: str | None = None,
        sent_at_ms: int | None = None,
    ) -> LedgerMessage:
        """Put a new message into the page; it goes to open pages and into the history.

        None as conversation: the one on top of the list. `messy` seasons the message
        with a messy input. Without `sent_at_ms` it is the conversation's newest.

        Raises:
            CorpusError: no message can carry `messy`.
            UnknownConversationError: there is no such conversation.
        """
        return self._live.post(
            conversation_id, text, direction, messy, sent_at_ms=sent_at_ms
        )

    def post_invalid(
        self, fault: Fault, conversation_id: str | None = None
    ) -> LedgerAnomaly:
        """Announce a payload that cannot be a message to the open pages."""
        return self._live.post_invalid(fault, conversation_id)

    def recall(self, message_id: str) -> LedgerMessage:
        """Recall a message and return the recall that is expected now."""
        return self._live.recall(message_id)

    def vanish(self, message_id: str) -> None:
        """Take a message out of the history without a trace."""
        self._live.vanish(message_id)

    def edit(self, message_id: str, text: str) -> None:
        """Change a text message's content under its id."""
        self._live.edit(message_id, text)

    def rename(self, conversation_id: str, name: str) -> None:
        """Give the contact of a conversation another name."""
        self._live.rename(conversation_id, name)

    def repeat(self, message_id: str) -> None:
        """Announce a message once more, unchanged."""
        self._live.repeat(message_id)

    def reload(self) -> None:
        """Make every open page reload itself."""
        self._channel.broadcast({"type": "reload"})

    def drop_socket(self) -> None:
        """Close the open pages' own socket, as a broken network would."""
        self._channel.broadcast({"type": "drop-socket"})

    def wait_for_page(self, n: int = 1, timeout: float = 30.0) -> None:
        """Wait until `n` pages are open and have finished their boot.

        Raises:
            PageNotReadyError: they were not, within `timeout` seconds.
        """
        if not self._channel.wait_ready(n, timeout):
            raise PageNotReadyError(n, self._channel.ready_pages(), timeout)

    def wait_for_no_page(self, timeout: float = 30.0) -> None:
        """Wait until every page is closed.

        Raises:
            PageNotReadyError: one is still open after `timeout` seconds.
        """
        if not self._channel.wait_closed(timeout):
            raise PageNotReadyError(0, self._channel.ready_pages(), timeout)

    def _push_lwp(self, row: Message) -> None:
        loop = self._channel.loop
        if loop is not None and not loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._lwp.push(row), loop)

    def _edit_soon(self, row: Message) -> None:
        """Announce an edit after the answer that shows the first version is out."""
        loop = self._channel.loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(
                loop.call_later, EDIT_SECONDS, self._live.announce_edit, row
            )


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError:
        listener.close()
        raise
    return listener


def _config(app: Starlette, tls: TlsFactory | None = None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        ssl_context_factory=tls,
        lifespan="off",
        ws="websockets-sansio",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=1,
    )
