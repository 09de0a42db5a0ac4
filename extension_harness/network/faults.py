"""A proxy before the server that makes the faults a network makes, on command.

It forwards TCP on a port of its own and reads the WebSocket messages that pass, so that
a fault can be aimed at one message ("the second ``observation.ack``") or at the
connection (cut, stalled, half-open, refused). Each fault is one call; a `Fault` tells
when it happened. Everything is bounded and seen messages are recorded; the timeline
gets names and sizes only.
"""

import socket
import threading
import time
from collections import deque
from collections.abc import Callable

from extension_harness.errors import FaultRefusedError, WaitTimeoutError
from extension_harness.network.fault import Fault, Seen
from extension_harness.network.proxy_connection import Direction, Link
from extension_harness.network.websocket_frames import WireMessage
from extension_harness.timeline import Timeline
from extension_harness.waiting import countdown

SEEN_LIMIT = 100_000
"""Messages that `seen` keeps; the oldest leave first."""


class FaultProxy:
    """A TCP proxy on a fixed port; use it as a context manager."""

    def __init__(
        self,
        upstream_host: str,
        upstream_port: int,
        *,
        port: int = 0,
        timeline: Timeline | None = None,
    ) -> None:
        """Listen at once; the upstream may come, go and come back at any time."""
        self.upstream = (upstream_host, upstream_port)
        self.timeline = timeline or Timeline()
        self._listener: socket.socket | None = None
        self._port = port
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._links: list[Link] = []
        self._faults: list[Fault] = []
        self._seen: deque[Seen] = deque(maxlen=SEEN_LIMIT)
        self._connections = 0
        self._pause = 0.0
        self._stalled: set[Direction] = set()
        self._closed = False
        self.accept()

    def __enter__(self) -> "FaultProxy":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        """Where it listens; the same after `refuse` and `accept`."""
        return self._port

    @property
    def url(self) -> str:
        """Where an extension connects instead of the server."""
        return f"ws://127.0.0.1:{self._port}/v1/extension"

    @property
    def connections(self) -> int:
        """How many connections have been taken so far."""
        with self._lock:
            return self._connections

    @property
    def open_connections(self) -> int:
        """How many are open to the client now."""
        with self._lock:
            return sum(link.open for link in self._links)

    # Faults on messages

    def swallow(
        self,
        kind: str,
        nth: int = 1,
        count: int = 1,
        direction: Direction = "to_client",
    ) -> Fault:
        """Lose ``count`` messages of a type from the ``nth`` from now on."""
        return self._plan(Fault("swallow", kind, direction, nth, count))

    def duplicate(
        self,
        kind: str,
        nth: int = 1,
        count: int = 1,
        direction: Direction = "to_client",
    ) -> Fault:
        """Send messages on twice."""
        return self._plan(Fault("duplicate", kind, direction, nth, count))

    def delay(
        self,
        kind: str,
        seconds: float,
        nth: int = 1,
        count: int = 1,
        direction: Direction = "to_client",
    ) -> Fault:
        """Send messages on ``seconds`` later, those behind them first."""
        return self._plan(Fault("delay", kind, direction, nth, count, seconds))

    def hold(
        self,
        kind: str,
        nth: int = 1,
        count: int = 1,
        direction: Direction = "to_client",
    ) -> Fault:
        """Keep messages until `Fault.release` or `Fault.drop`; others pass."""
        return self._plan(Fault("hold", kind, direction, nth, count))

    def reorder(
        self,
        kind: str,
        count: int = 2,
        nth: int = 1,
        direction: Direction = "to_client",
    ) -> Fault:
        """Keep ``count`` messages and send them on in reverse."""
        return self._plan(Fault("reorder", kind, direction, nth, count))

    def cut_on(
        self, kind: str, nth: int = 1, direction: Direction = "to_server"
    ) -> Fault:
        """Cut the connection, both ends by RST, when a message comes; it is lost."""
        return self._plan(Fault("cut", kind, direction, nth, 1))

    # Faults on connections

    def cut(self) -> int:
        """Cut all connections, both ends by RST; gives how many."""
        return self._each("cut", Link.cut)

    def hang_up(self) -> int:
        """Close all connections by FIN without a close frame; gives how many."""
        return self._each("hang_up", Link.hang_up)

    def half_open(self) -> int:
        """Lose the server's side; the client's stays open and hears nothing more."""
        return self._each("half_open", Link.half_open)

    def stall(self, direction: Direction | None = None) -> None:
        """Stop forwarding, for one direction or both, in this and later connections."""
        with self._lock:
            self._stalled |= {direction} if direction else {"to_server", "to_client"}
            stalled, links = frozenset(self._stalled), list(self._links)
        for link in links:
            link.stall(stalled)
        self.timeline.record("proxy.stall", direction=direction or "both")

    def resume(self) -> None:
        """End every stall; what waited goes on, in order."""
        with self._lock:
            self._stalled.clear()
            links = list(self._links)
        for link in links:
            link.stall(frozenset())
        self.timeline.record("proxy.resume")

    def slow(self, seconds: float) -> None:
        """Let at most one message pass in this time, per direction and connection."""
        with self._lock:
            self._pause = seconds

    def refuse(self) -> None:
        """Refuse new connections (the port is closed); those that are open stay."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            # A thread in accept() keeps the socket alive after close() alone.
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            self.timeline.record("proxy.refuse")

    def accept(self) -> None:
        """Take new connections, on the same port as before."""
        with self._lock:
            if self._closed:
                raise FaultRefusedError("this proxy is closed; make another one")
            if self._listener is not None:
                return
            listener = socket.create_server(("127.0.0.1", self._port), backlog=128)
            self._port = int(listener.getsockname()[1])
            self._listener = listener
        threading.Thread(
            target=self._listen, args=(listener,), name="fault-proxy", daemon=True
        ).start()

    # What passed

    def seen(
        self, kind: str | None = None, direction: Direction | None = None
    ) -> tuple[Seen, ...]:
        """The messages that came, oldest first, of a type and direction when named."""
        with self._lock:
            return self._matching(kind, direction)

    def wait_for(
        self,
        kind: str,
        count: int = 1,
        timeout: float = 30.0,
        direction: Direction | None = None,
        where: Callable[[Seen], bool] = lambda _: True,
    ) -> tuple[Seen, ...]:
        """Wait until ``count`` messages of a type have come since the start.

        ``where`` chooses among them. Raises WaitTimeoutError.
        """
        left = countdown(timeout)
        with self._arrived:
            while True:
                found = tuple(filter(where, self._matching(kind, direction)))
                if len(found) >= count:
                    return found
                if not left():
                    raise WaitTimeoutError(
                        f"{count} {kind} through the proxy", timeout, f"{len(found)}"
                    )
                self._arrived.wait(left())

    def clear(self) -> None:
        """Forget planned faults (what they hold is sent on) and the slowness."""
        with self._lock:
            faults, self._faults = self._faults, []
            self._pause = 0.0
        for fault in faults:
            fault.release()

    def close(self) -> None:
        """End the listening and every connection."""
        self.refuse()
        with self._lock:
            self._closed = True
            links, self._links = list(self._links), []
        for link in links:
            link.cut()

    def _plan(self, fault: Fault) -> Fault:
        with self._lock:
            self._faults = [each for each in self._faults if not each.spent] + [fault]
        return fault

    def _each(self, what: str, act: Callable[[Link], None]) -> int:
        with self._lock:
            links = [link for link in self._links if link.open]
        for link in links:
            act(link)
        self.timeline.record(f"proxy.{what}", connections=len(links))
        return len(links)

    def _matching(
        self, kind: str | None, direction: Direction | None
    ) -> tuple[Seen, ...]:
        return tuple(
            each
            for each in self._seen
            if kind in (None, each.kind) and direction in (None, each.direction)
        )

    def _listen(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # `refuse` or `close`
            with self._lock:
                self._connections += 1
                number = self._connections
                self._links = [link for link in self._links if link.open]
                stalled = frozenset(self._stalled)
            link = Link(number, client, self.upstream, self._on_message)
            link.stall(stalled)
            with self._lock:
                self._links.append(link)
            self.timeline.record("proxy.connection", number=number)
            link.start()

    def _on_message(
        self, link: Link, direction: Direction, message: WireMessage
    ) -> None:
        kind = message.kind
        size = len(message.payload)
        with self._arrived:
            self._seen.append(
                Seen(
                    time.monotonic(),
                    link.number,
                    direction,
                    kind,
                    size,
                    message.json(),
                )
            )
            faults, pause = list(self._faults), self._pause
            self._arrived.notify_all()
        fault = next((each for each in faults if each.meets(direction, kind)), None)
        action = "pass" if fault is None else fault.action
        self.timeline.record(
            "frame", direction=direction, type=kind, size=size, fate=action
        )
        if pause:
            time.sleep(pause)  # on this direction's own thread: the order stays
        if fault is None:
            link.forward(direction, message.raw)
        else:
            fault.suffer(link, message)
