"""The one WebSocket to Bright (OT-60): opening, greeting, heartbeat, coming back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from extension_harness.model.backoff import (
    LONGEST_TIMER_MS,
    after_close,
    is_final,
    stop_holds,
)
from extension_harness.model.configuration import Stored
from extension_harness.model.credentials import mark_of
from extension_harness.model.effects import CloseSocket, Connect, Send
from extension_harness.model.errors import Fault
from extension_harness.model.frames import PROTOCOL_VERSION, read_frame
from extension_harness.model.steps import Json
from extension_harness.model.tasks import Life
from storage_schema import UNDEFINED
from storage_schema.onetalk import DATABASE_VERSION

State = Literal["off", "unconfigured", "stopped", "connecting", "online", "waiting"]
EXTENSION_VERSION = "0.1.0"


@dataclass(frozen=True)
class ConnectionEvents:
    """Who is told of what."""

    online: Callable[[], None]
    frame: Callable[[Json], None]
    offline: Callable[[], None]
    stopped: Callable[[Json], None]


@dataclass
class _Socket:
    number: int
    is_open: bool = False


class Connection:
    """It carries frames and knows nothing of messages."""

    def __init__(
        self,
        life: Life,
        boot_id: str,
        configuration: Callable[[], Stored],
        events: ConnectionEvents,
    ) -> None:
        self.state: State = "off"
        self.welcome: Json | None = None
        self.stop: Json | None = None
        self.trouble: Fault | None = None
        self.retry_at_ms: int | None = None
        self.buffered_bytes = 0
        self.extension_version = EXTENSION_VERSION
        self._life = life
        self._boot_id = boot_id
        self._configuration = configuration
        self._events = events
        self._socket: _Socket | None = None
        self._wanted = False
        self._attempt = 0
        self._last_frame_at_ms = 0.0
        self._next_heartbeat_at_ms = 0.0
        self._retry_due_ms = 0.0
        self._requests = 0
        self._server_ahead_ms = 0
        self._greeted_anew = 0
        self._farewell: str | None = None
        self._mark = ""
        self._timer: int | None = None

    @property
    def accounts(self) -> list[str]:
        """The accounts that Bright takes on this connection."""
        return list(self.welcome["accounts"]) if self.welcome else []

    def next_request_id(self) -> str:
        """Unique in this worker's life."""
        self._requests += 1
        return f"{self._boot_id[:8]}-{self._requests}"

    def server_now_ms(self) -> int:
        """What Bright's clock says now, as far as its last word of it tells."""
        return self._life.now() + self._server_ahead_ms

    def want(self, *, wanted: bool) -> None:
        """Whether a connection is wanted: opens it, or closes it with 1000."""
        self._wanted = wanted
        if not wanted:
            self._leave()
        elif self.state in ("off", "unconfigured"):
            self._open()

    def poke(self) -> None:
        """Opens at once when a try is due."""
        if not self._wanted or self._socket is not None:
            return
        if self.stop is not None and self._holds(self.stop):
            return
        self.stop = None
        if self.retry_at_ms is None or self._life.steady() >= self._retry_due_ms:
            self._open()

    def reconfigure(self, remembered: Json | None) -> None:
        """Starts anew with another configuration, whatever stood in the way before."""
        holds = remembered is not None and self._holds(remembered)
        self.stop = remembered if holds else None
        self.trouble = None
        self._attempt = 0
        self._drop(1000)
        self.retry_at_ms = None
        if self.stop:
            self.state = "stopped"
            return
        self._rest()
        if self._wanted:
            self._open()

    def _holds(self, stop: Json) -> bool:
        """What was said of one token is no word about the next (OT-60)."""
        stored = self._configuration()
        of = stop.get("of", UNDEFINED)
        if of is not UNDEFINED and of != mark_of(stored.endpoint, stored.bindingToken):
            return False
        return stop_holds(stop, self._life.now())

    def send(self, frame: Json) -> bool:
        """Gives whether it was handed to an open socket."""
        socket = self._socket
        if self.state != "online" or socket is None or not socket.is_open:
            return False
        self._life.do(Send(socket.number, frame))
        return True

    def abandon(self, code: str, message: str) -> None:
        """Gives up on a socket that may look open and is not, and comes back."""
        if self._socket is None:
            return
        self.trouble = Fault(code, message)
        self._drop(4000)
        self._retry(1006)

    def opened(self, number: int) -> None:
        """The handshake succeeded: greet."""
        socket = self._socket
        if socket is None or socket.number != number:
            return
        socket.is_open = True
        stored = self._configuration()
        self._mark = mark_of(stored.endpoint, stored.bindingToken)
        hello: Json = {
            "type": "hello",
            "requestId": self.next_request_id(),
            "protocolVersion": PROTOCOL_VERSION,
            "deviceId": stored.deviceId,
            "bindingToken": stored.bindingToken,
            "bootId": self._boot_id,
            "extensionVersion": self.extension_version,
            "storeVersion": DATABASE_VERSION,
        }
        if stored.lastStoreId is not None:
            hello["lastStoreId"] = stored.lastStoreId
        self._life.do(Send(number, hello))

    def received(self, number: int, data: object) -> None:
        """A WebSocket message came."""
        if self._socket is None or self._socket.number != number:
            return
        self._last_frame_at_ms = self._life.steady()
        frame = read_frame(data)
        if frame is None:
            return
        self._note_time(frame.get("serverTimeMs"))
        if frame["type"] == "welcome" and self.state == "connecting":
            self._welcomed(frame)
        elif self.state == "online":
            self._take(frame)

    def _note_time(self, server_time_ms: object) -> None:
        if isinstance(server_time_ms, int) and not isinstance(server_time_ms, bool):
            self._server_ahead_ms = server_time_ms - self._life.now()

    def closing(self, number: int) -> None:
        """What is sent from now on is not sent; the event is still to come."""
        if self._socket is not None and self._socket.number == number:
            self._socket.is_open = False

    def closed(self, number: int, code: int, reason: str) -> None:
        """The socket is closed."""
        if self._socket is None or self._socket.number != number:
            return
        name = _close_name(code, self._farewell)
        self.trouble = Fault(name, reason or f"The connection was closed ({code}).")
        self._drop(None)
        if name == "authorization_changed":
            # The token holds, under another version of the authorization (OT-60).
            self._attempt = self._greeted_anew
            self._greeted_anew += 1
            self._retry(1006)
        elif not is_final(code):
            self._retry(code)
        else:
            self.stop = {
                "closeCode": code,
                "reason": reason,
                "code": name,
                "atMs": self._life.now(),
                "of": self._mark,
            }
            self.state = "stopped"
            self._events.stopped(self.stop)

    def _open(self) -> None:
        stored = self._configuration()
        if self.stop is not None:
            self.state = "stopped"
            return
        if stored.endpoint is None or stored.bindingToken == "":
            self.state = "unconfigured"
            return
        self.retry_at_ms = None
        self._farewell = None
        self._mark = mark_of(stored.endpoint, stored.bindingToken)
        self._life.cancel(self._timer)
        self._socket = _Socket(self._life.new_id())
        self._life.do(Connect(self._socket.number, stored.endpoint))
        self.state = "connecting"
        words = "Bright did not answer the connection in time."
        self._timer = self._life.after(
            lambda: self.abandon("no_welcome", words), stored.settings.openTimeoutMs
        )

    def _take(self, frame: Json) -> None:
        if frame["type"] == "binding.revoked":
            self._farewell = frame["reason"]
        elif frame["type"] == "heartbeat.ack":
            known = self.welcome and self.welcome["authorizationVersion"]
            if frame["authorizationVersion"] != known:
                # Greet again before anything else is done (OT-60).
                self.abandon("authorization_changed", "The authorization changed.")
            else:
                self._greeted_anew = 0
        else:
            self._events.frame(frame)

    def _welcomed(self, welcome: Json) -> None:
        self._life.cancel(self._timer)
        self._attempt = 0
        self.welcome = welcome
        self.trouble = None
        interval = welcome["heartbeatIntervalMs"]
        self._next_heartbeat_at_ms = self._life.steady() + interval
        self.state = "online"
        self._watch(welcome)
        self._events.online()

    def _watch(self, welcome: Json) -> None:
        """Heartbeats, and silence: two and a half intervals of it are death."""
        interval = welcome["heartbeatIntervalMs"]

        def look() -> None:
            now = self._life.steady()
            if now - self._last_frame_at_ms > 2.5 * interval:
                words = "Nothing was heard from Bright for too long."
                self.abandon("half_open", words)
                return
            if now >= self._next_heartbeat_at_ms:
                self._next_heartbeat_at_ms = now + interval
                self.send(
                    {
                        "type": "heartbeat",
                        "requestId": self.next_request_id(),
                        "authorizationVersion": welcome["authorizationVersion"],
                    }
                )
            self._watch(welcome)

        self._timer = self._life.after(look, interval / 4)

    def _retry(self, close_code: int) -> None:
        if not self._wanted:
            self.state = "off"
            return
        settings = self._configuration().settings
        delay = after_close(
            close_code,
            self._attempt,
            settings.backoffBaseMs,
            settings.backoffCapMs,
            self._life.random,
        )
        delay = LONGEST_TIMER_MS if delay is None else delay
        self._attempt += 1
        self.retry_at_ms = self._life.now() + delay
        self._retry_due_ms = self._life.steady() + delay
        self.state = "waiting"
        self._timer = self._life.after(self.poke, delay)

    def _leave(self) -> None:
        was_open = self._socket is not None
        self._drop(1000)
        self.retry_at_ms = None
        if was_open:
            self.trouble = None
        if self.state != "stopped":
            self._rest()

    def _rest(self) -> None:
        stored = self._configuration()
        is_usable = stored.endpoint is not None and stored.bindingToken != ""
        self.state = "off" if is_usable else "unconfigured"

    def _drop(self, close_code: int | None) -> None:
        """Forgets the socket; closes it with a code, where it is not closed already."""
        socket = self._socket
        self._life.cancel(self._timer)
        self._socket = None
        was_online = self.welcome is not None
        self.welcome = None
        if socket is not None and close_code is not None:
            self._life.do(CloseSocket(socket.number, close_code))
        if was_online:
            self._events.offline()


def _close_name(close_code: int, farewell: str | None) -> str:
    """What a close means, in a stable word."""
    if close_code != 4401:
        return f"closed_{close_code}"
    if farewell is None:
        return "binding_unknown"  # it was never taken
    is_other = farewell == "version_changed"
    return "authorization_changed" if is_other else "binding_revoked"
