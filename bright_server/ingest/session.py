"""One extension's connection as a conversation: frames in, effects out. No I/O.

The session knows the protocol and nothing of sockets, tasks or databases: what it wants
done comes out as effects, what became of it is told to it. It is handed the time. After
it has asked for `Close` it is deaf.

States: waiting for `hello` → asking the authority → open → closed.
"""

from __future__ import annotations

from enum import Enum

from bright_server.authorization.contract import Standing
from bright_server.commit.groups import Denied, Outcome
from bright_server.errors import BrightError, FrameRefused, Overloaded
from bright_server.ingest.anchors import snapshots
from bright_server.ingest.effects import (
    Answered,
    Authenticate,
    CheckStanding,
    Close,
    CloseCode,
    Effect,
    Join,
    Registered,
    Send,
)
from bright_server.ingest.intake import Intake
from bright_server.ingest.outcomes import answers_to
from bright_server.ingest.pages import RegisteredPages
from bright_server.ingest.replies import (
    error_answer,
    failure_answer,
    refusal,
    route_refusal,
    welcome_answer,
)
from bright_server.messages import (
    Anchor,
    Grant,
)
from bright_server.settings import Settings
from bright_server.wire import answers
from bright_server.wire.batches import WholeBatch
from bright_server.wire.codec import (
    PartialBatch,
    Request,
    decode_request,
    encode,
)
from bright_server.wire.commands import Command, CommandResult
from bright_server.wire.ledger_codec import LedgerFrame
from bright_server.wire.requests import (
    Heartbeat,
    Hello,
    PageHealth,
    PageRegister,
)
from bright_server.wire.routes import claim_fault

PROTOCOL_VERSION = 1
SUBPROTOCOL = "bright.extension.v1"

# A close frame has room for 123 bytes of reason; these are plain ASCII.
_REASON_LENGTH = 120


class _State(Enum):
    AWAITING_HELLO = "awaiting hello"
    AUTHENTICATING = "authenticating"
    OPEN = "open"
    CLOSED = "closed"


class ExtensionSession:
    """The server's side of `/v1/extension` for one connection."""

    def __init__(self, connection_id: str, store_id: str, settings: Settings) -> None:
        self._connection_id = connection_id
        self._store_id = store_id
        self._settings = settings
        self._state = _State.AWAITING_HELLO
        self._hello: Hello | None = None
        self._grant: Grant | None = None
        self._pages = RegisteredPages(settings.max_registered_pages)
        self._intake = Intake(settings)

    # What the endpoint may want to know.

    @property
    def connection_id(self) -> str:
        """Return the name of this connection."""
        return self._connection_id

    @property
    def pages(self) -> RegisteredPages:
        """Return the registered pages."""
        return self._pages

    @property
    def device_id(self) -> str:
        """Return the device, once it has said hello."""
        return "" if self._hello is None else self._hello.device_id

    @property
    def grant(self) -> Grant | None:
        """Return what the binding allows, once the connection is open."""
        return self._grant if self._state is _State.OPEN else None

    # What comes in.

    def receive_text(self, data: bytes, now_ms: int) -> list[Effect]:
        """Take one text frame, as its UTF-8, that came at `now_ms`."""
        if self._state is _State.CLOSED:
            return []
        try:
            frame = decode_request(data)
        except FrameRefused as error:
            if self._state is not _State.OPEN:
                fault = f"hello must come first: {error.code} {error.path or ''}"
                return self._close(CloseCode.BROKEN_HANDSHAKE, fault[:_REASON_LENGTH])
            return [error_answer(error)]
        if self._state is not _State.OPEN:
            return self._greet(frame)
        return self._take(frame, len(data), now_ms)

    def receive_binary(self) -> list[Effect]:
        """Take a binary frame: the protocol has none."""
        return self._close(CloseCode.UNSUPPORTED_DATA, "frames are text")

    def hello_overdue(self) -> list[Effect]:
        """Learn that the time for `hello` is over."""
        if self._state is not _State.AWAITING_HELLO:
            return []
        return self._close(CloseCode.NO_HELLO, "no hello in time")

    def admitted(self, grant: Grant, now_ms: int) -> list[Effect]:
        """Learn that the authority has granted the connection."""
        if self._state is not _State.AUTHENTICATING or self._hello is None:
            return []
        self._state = _State.OPEN
        self._grant = grant
        welcome = welcome_answer(
            self._hello.request_id,
            self._connection_id,
            self._store_id,
            grant,
            now_ms,
            self._settings,
        )
        return [Join(self._hello.device_id, grant), welcome]

    def refused(self) -> list[Effect]:
        """Learn that the binding is unknown or revoked: fail closed (OT-60)."""
        return self._close(
            CloseCode.BINDING_REFUSED, "binding missing, unknown or revoked"
        )

    def silent(self) -> list[Effect]:
        """Learn that the authority does not answer: fail closed (OT-60)."""
        if self._settings.authority is None:
            who = "the database that holds the bindings"
        else:
            who = "the authorization service"
        return self._close(CloseCode.AUTHORITY_SILENT, f"{who} does not answer")

    def standing_known(
        self,
        asked_by: Heartbeat | PageRegister | PageHealth,
        standing: Standing,
        now_ms: int,
    ) -> list[Effect]:
        """Learn what the authority says, and go on with what it was asked for."""
        if self._state is not _State.OPEN:
            return []
        if standing is not Standing.VALID:
            return self._revoke(standing)
        if isinstance(asked_by, Heartbeat):
            return [Send(encode(self._heartbeat_ack(asked_by, now_ms)))]
        if isinstance(asked_by, PageHealth):
            self._pages.take_health(asked_by, now_ms)
            return []
        return self._register(asked_by, now_ms)

    def keepalive(self, standing: Standing, now_ms: int) -> list[Effect]:
        """Let the regular tick pass: a sign of life, or the end of the binding."""
        if self._state is not _State.OPEN:
            return []
        if standing is not Standing.VALID:
            return self._revoke(standing)
        return [Send(encode(answers.Keepalive(server_time_ms=now_ms)))]

    def work_done(self, ticket: int, outcome: Outcome) -> list[Effect]:
        """Learn what became of submitted work."""
        asked = self._intake.settled(ticket)
        if self._state is not _State.OPEN:
            return []
        if isinstance(outcome, Denied):
            return self._revoke(outcome.standing)
        return answers_to(asked, outcome)

    def work_refused(self, ticket: int, error: BrightError) -> list[Effect]:
        """Learn that work was not even taken."""
        asked = self._intake.settled(ticket)
        if self._state is not _State.OPEN:
            return []
        code = "overloaded" if isinstance(error, Overloaded) else "internal"
        return [failure_answer(asked, code, str(error))]

    def anchor_moved(self, anchor: Anchor) -> list[Effect]:
        """Learn that another connection of the account has proven an anchor."""
        if self._state is not _State.OPEN:
            return []
        return [Send(encode(frame)) for frame in snapshots([anchor])]

    def command(self, command: Command) -> list[Effect]:
        """Learn that somebody asks the page for something; nothing when not open."""
        if self._state is not _State.OPEN:
            return []
        return [Send(encode(command))]

    def gone(self) -> None:
        """Learn that there is no connection any more."""
        self._state = _State.CLOSED

    def displaced(self) -> list[Effect]:
        """Learn that the same device has connected anew."""
        return self._close(CloseCode.DISPLACED, "a newer connection of this device")

    def slow(self) -> list[Effect]:
        """Learn that the peer does not read what it is sent."""
        return self._close(CloseCode.TRY_AGAIN_LATER, "too much waits to be read")

    def failed(self) -> list[Effect]:
        """Learn that the server has a fault of its own."""
        return self._close(CloseCode.INTERNAL_ERROR, "a fault of the server")

    def restarting(self) -> list[Effect]:
        """Learn that the server goes down, and that all that was taken is answered."""
        return self._close(CloseCode.SERVICE_RESTART, "the server restarts")

    # The handshake.

    def _greet(self, frame: object) -> list[Effect]:
        if self._state is not _State.AWAITING_HELLO or not isinstance(frame, Hello):
            return self._close(CloseCode.BROKEN_HANDSHAKE, "hello must come first")
        if frame.protocol_version != PROTOCOL_VERSION:
            return self._close(
                CloseCode.BROKEN_HANDSHAKE, "this server speaks protocol version 1"
            )
        self._state = _State.AUTHENTICATING
        self._hello = frame
        return [Authenticate(frame.binding_token)]

    # Frames of an open connection.

    def _take(self, frame: Request, size_bytes: int, now_ms: int) -> list[Effect]:
        if isinstance(frame, Hello):
            return refusal(
                "invalid_frame", "hello comes once", "type", frame.request_id
            )
        if isinstance(frame, Heartbeat):
            return self._take_heartbeat(frame)
        if isinstance(frame, CommandResult):
            return [Answered(frame)]
        if isinstance(frame, PageHealth) and frame.channel_account_id is None:
            return [CheckStanding(self._granted(), frame)]
        envelope = (
            frame.envelope
            if isinstance(frame, WholeBatch | PartialBatch | LedgerFrame)
            else frame
        )
        account = envelope.channel_account_id
        if account not in self._granted().accounts:
            return refusal(
                "out_of_scope",
                "this binding does not hold the account: make one that does",
                "channelAccountId",
                getattr(envelope, "request_id", None),
            )
        if isinstance(frame, PageRegister | PageHealth):
            return [CheckStanding(self._granted(), frame)]
        return self._intake.take(frame, self._granted(), size_bytes, now_ms)

    def _take_heartbeat(self, frame: Heartbeat) -> list[Effect]:
        grant = self._granted()
        if frame.authorization_version != grant.authorization_version:
            return self._revoke(Standing.VERSION_CHANGED)
        return [CheckStanding(grant, frame)]

    def _register(self, frame: PageRegister, now_ms: int) -> list[Effect]:
        if (fault := claim_fault(frame.route)) is not None:
            return [route_refusal(frame.request_id, fault)]
        self._pages.register(frame, now_ms)
        registered = answers.PageRegistered(
            request_id=frame.request_id, page_id=frame.page_id
        )
        told = Send(encode(registered))
        return [Registered(frame.channel_account_id), told]

    # What several of the above need.

    def _granted(self) -> Grant:
        assert self._grant is not None  # noqa: S101 - every caller is in state OPEN
        return self._grant

    def _heartbeat_ack(self, frame: Heartbeat, now_ms: int) -> answers.HeartbeatAck:
        return answers.HeartbeatAck(
            request_id=frame.request_id,
            server_time_ms=now_ms,
            authorization_version=self._granted().authorization_version,
        )

    def _revoke(self, standing: Standing) -> list[Effect]:
        if standing is Standing.UNKNOWN:
            return self.silent()
        reason: answers.RevokedReason = (
            "revoked" if standing is Standing.REVOKED else "version_changed"
        )
        frame = answers.BindingRevoked(reason=reason)
        return [
            Send(encode(frame)),
            *self._close(CloseCode.BINDING_REFUSED, f"binding: {reason}"),
        ]

    def _close(self, code: CloseCode, reason: str) -> list[Effect]:
        if self._state is _State.CLOSED:
            return []
        self._state = _State.CLOSED
        return [Close(code, reason)]
