"""A small synchronous client of the Chrome DevTools Protocol.

One WebSocket to the browser, one thread that reads it, flat sessions. It attaches to
nothing by itself: a client that never attaches to the service worker does not keep it
alive (docs/harness.md, "detached mode"). Calls may come from any thread; a listener
runs on the reading thread and must neither block nor call.
"""

import contextlib
import itertools
import json
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from extension_harness.errors import (
    DevToolsClosedError,
    DevToolsError,
    DevToolsTimeoutError,
    WaitTimeoutError,
)

Json = dict[str, Any]
"""A JSON object of the protocol; its fields are what the protocol's pages say."""

CALL_TIMEOUT = 30.0
"""Seconds that a call may take: four times what the slowest took under full load."""
CONNECT_TIMEOUT = 30.0

QUEUE_LIMIT = 10_000
"""Events that a subscription keeps; more is an error at the next read, not growth."""


@dataclass(frozen=True)
class ProtocolEvent:
    """One event: its method, its parameters, the session it belongs to."""

    method: str
    params: Json
    session_id: str | None


class Subscription:
    """Events of the chosen methods, kept in order until they are read.

    Raises DevToolsError at the next read once more than ``QUEUE_LIMIT`` waited unread.
    """

    def __init__(self, methods: frozenset[str]) -> None:
        self._methods = methods
        self._queue: queue.Queue[ProtocolEvent | None] = queue.Queue(QUEUE_LIMIT)
        self._overflowed = False

    def offer(self, event: ProtocolEvent) -> None:
        """Take the event if it is one of ours. Never blocks."""
        if event.method in self._methods:
            try:
                self._queue.put_nowait(event)
            except queue.Full:
                self._overflowed = True

    def end(self) -> None:
        """Wake a reader: nothing more will come."""
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(None)

    def get(self, timeout: float) -> ProtocolEvent:
        """The next event; raises WaitTimeoutError after ``timeout`` seconds.

        Raises DevToolsClosedError when the connection ended.
        """
        if self._overflowed:
            raise DevToolsError(f"more than {QUEUE_LIMIT} events waited unread")
        try:
            event = self._queue.get(timeout=timeout)
        except queue.Empty:
            names = ", ".join(sorted(self._methods))
            raise WaitTimeoutError(f"an event of {names}", timeout) from None
        if event is None:
            self.end()  # the next reader must see it too
            raise DevToolsClosedError("the browser closed the DevTools connection")
        return event


class DevTools:
    """The connection to one browser; close it to end its thread."""

    def __init__(self, url: str) -> None:
        """Connect to the browser's own DevTools address (``ws://127.0.0.1:…``)."""
        self.url = url
        self._stack = contextlib.ExitStack()
        try:
            self._socket: ClientConnection = self._stack.enter_context(
                connect(
                    url,
                    max_size=None,
                    compression=None,
                    open_timeout=CONNECT_TIMEOUT,
                    close_timeout=1,
                    proxy=None,
                )
            )
        except (OSError, InvalidHandshake, TimeoutError) as cause:
            raise DevToolsClosedError(
                f"no DevTools at the browser's address: {cause}"
            ) from cause
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._answers: dict[int, Future[Json]] = {}
        self._listeners: list[Callable[[ProtocolEvent], None]] = []
        self._subscriptions: list[Subscription] = []
        self._closed = False
        self._reader = threading.Thread(target=self._read, name="devtools", daemon=True)
        self._reader.start()

    @property
    def closed(self) -> bool:
        """Whether the browser is gone for this connection."""
        return self._closed

    def post(
        self, method: str, params: Json | None = None, *, session: str | None = None
    ) -> "Future[Json]":
        """Send a call and return at once; the future has its answer.

        Raises DevToolsClosedError when the connection is gone.
        """
        identifier = next(self._ids)
        message: Json = {"id": identifier, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        answer: Future[Json] = Future()
        with self._lock:
            if self._closed:
                raise DevToolsClosedError(f"{method}: the browser is gone")
            self._answers[identifier] = answer
        try:
            self._socket.send(json.dumps(message))
        except (ConnectionClosed, OSError) as cause:
            with self._lock:
                self._answers.pop(identifier, None)
            raise DevToolsClosedError(f"{method}: the browser is gone") from cause
        return answer

    def call(
        self,
        method: str,
        params: Json | None = None,
        *,
        session: str | None = None,
        timeout: float = CALL_TIMEOUT,
    ) -> Json:
        """Send a call and wait for its result.

        Raises DevToolsTimeoutError, DevToolsClosedError, or DevToolsError with what the
        browser said.
        """
        answer = self.post(method, params, session=session)
        try:
            return answer.result(timeout)
        except FutureTimeout as cause:
            raise DevToolsTimeoutError(
                f"{method}: no answer within {timeout:g} s"
            ) from cause

    def listen(self, listener: Callable[[ProtocolEvent], None]) -> Callable[[], None]:
        """Call ``listener`` with each event; returns what removes it."""
        with self._lock:
            self._listeners.append(listener)

        def remove() -> None:
            with self._lock, contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return remove

    @contextlib.contextmanager
    def subscribe(self, *methods: str) -> Iterator[Subscription]:
        """Keep the events of these methods while the block runs."""
        subscription = Subscription(frozenset(methods))
        with self._lock:
            self._subscriptions.append(subscription)
            if self._closed:
                subscription.end()
        try:
            yield subscription
        finally:
            with self._lock:
                self._subscriptions.remove(subscription)

    @contextlib.contextmanager
    def attached(self, target_id: str) -> Iterator[str]:
        """Attach to a target while the block runs; gives the session id."""
        answer = self.call(
            "Target.attachToTarget", {"targetId": target_id, "flatten": True}
        )
        session = str(answer["sessionId"])
        try:
            yield session
        finally:
            with contextlib.suppress(
                DevToolsError
            ):  # gone with its target: detached too
                self.call("Target.detachFromTarget", {"sessionId": session})

    def targets(self) -> list[Json]:
        """Every target there is, the browser's own pages included. Attaches to none."""
        answer = self.call("Target.getTargets", {"filter": [{}]})
        return list(answer["targetInfos"])

    def close(self) -> None:
        """End the connection; the browser goes on. Waits for the reading thread."""
        self._stack.close()
        if threading.current_thread() is not self._reader:
            self._reader.join(timeout=5)

    def _read(self) -> None:
        try:
            for text in self._socket:
                self._take(json.loads(text))
        except (ConnectionClosed, OSError):
            pass  # the browser is gone; whoever waits is told below
        with self._lock:
            self._closed = True
            waiting = list(self._answers.values())
            self._answers.clear()
            subscriptions = list(self._subscriptions)
        for answer in waiting:
            with contextlib.suppress(InvalidStateError):
                answer.set_exception(DevToolsClosedError("the browser is gone"))
        for subscription in subscriptions:
            subscription.end()

    def _take(self, message: Json) -> None:
        identifier = message.get("id")
        if identifier is None:
            event = ProtocolEvent(
                message["method"], message.get("params", {}), message.get("sessionId")
            )
            with self._lock:
                listeners = list(self._listeners)
                subscriptions = list(self._subscriptions)
            for subscription in subscriptions:
                subscription.offer(event)
            for listener in listeners:
                listener(event)
            return
        with self._lock:
            answer = self._answers.pop(identifier, None)
        if answer is None:
            return
        with contextlib.suppress(InvalidStateError):  # given up for dead just before
            if "error" in message:
                error = message["error"]
                answer.set_exception(
                    DevToolsError(f"{error.get('message')} (code {error.get('code')})")
                )
            else:
                answer.set_result(message.get("result", {}))
