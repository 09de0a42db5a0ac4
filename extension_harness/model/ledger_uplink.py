"""The uplink of the ledgers beside the messages (background/ledger-uplink.js).

What goes up is read from the store alone, one request of an account and ledger at a
time; no batch of messages waits for any of it (OT-87). There is no timer without an end
(OT-82): after a few tries in vain a ledger rests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from extension_harness.model.backoff import full_jitter
from extension_harness.model.connection import Connection
from extension_harness.model.ledgers import Bounds, FactsLedger, Ledger
from extension_harness.model.settings import Settings
from extension_harness.model.steps import Behaviour, Json
from extension_harness.model.tasks import Life

MAX_ATTEMPTS = 5
BUFFER_LOOK_MS = 50
_OF_THE_ENTRIES = ("invalid_frame", "malformed_json", "batch_too_large")
_OF_THE_REQUEST = ("profile_observed_at_future", "facts_observed_at_future")


@dataclass
class _InFlight:
    request_id: str
    parts: Sequence[Json]


@dataclass(eq=False)
class _Lane:
    """One ledger of one account, on the present connection."""

    ledger: Ledger
    account: str
    in_flight: _InFlight | None = None
    timer: int | None = None
    attempts: int = 0
    most: float = math.inf
    is_resting: bool = False
    is_pumping: bool = False
    again: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.ledger.name, self.account


class LedgerUplink:
    """The lanes of one connection."""

    def __init__(
        self,
        life: Life,
        connection: Connection,
        ledgers: Sequence[Ledger],
        settings: Callable[[], Settings],
        idle: Callable[[], None],
        failed: Callable[[Exception], object],
    ) -> None:
        self._life = life
        self._connection = connection
        self._ledgers = ledgers
        self._settings = settings
        self._idle = idle
        self._failed = failed
        self._lanes: dict[tuple[str, str], _Lane] = {}

    def start(self) -> None:
        """Bright has welcomed us: all that is pending of its accounts goes (again)."""
        self.halt()
        for account in self._connection.accounts:
            for ledger in self._ledgers:
                lane = _Lane(ledger, account)
                self._lanes[lane.key] = lane
        for ledger in self._ledgers:
            ledger.reset()
        self._pump_all()

    def halt(self) -> None:
        """The connection is gone: what was in flight is unanswered and pending."""
        for lane in self._lanes.values():
            self._life.cancel(lane.timer)
        self._lanes.clear()

    def observed(self, name: str, account: str, conversation: str | None) -> None:
        """Something is on disk that Bright does not know yet."""
        if conversation is not None:
            for ledger in self._ledgers:
                if ledger.name == name:
                    ledger.observed(account, conversation)
        self._try_once(name, account)

    def met(self, account: str, conversations: Sequence[str]) -> None:
        """Conversations have a checkpoint only now: what it finds may wait."""
        if not conversations:
            return
        for ledger in self._ledgers:
            if isinstance(ledger, FactsLedger):
                ledger.met(account, conversations)
                self._try_once(ledger.name, account)

    def _try_once(self, name: str, account: str) -> None:
        lane = self._lanes.get((name, account))
        if lane is not None:
            lane.is_resting = False  # for one more try
            self._pump(lane)

    def retry(self, account: str) -> None:
        """A page is new: what rests of its account is tried anew (OT-82)."""
        for lane in list(self._lanes.values()):
            if lane.account == account:
                lane.is_resting = False
                lane.attempts = 0
                self._pump(lane)

    def is_unfinished(self, account: str) -> Behaviour[bool]:
        """Whether there is anything to tell that it is of use to be connected for."""
        is_online = bool(self._lanes)
        for ledger in self._ledgers:
            lane = self._lanes.get((ledger.name, account))
            if is_online and (lane is None or lane.is_resting):
                continue
            if (yield from ledger.is_any_pending(account)):
                return True
        return False

    def acknowledge(self, ack: Json) -> Behaviour[None]:
        """Takes an ACK, also one that comes late: it settles exactly what it names."""
        ledger = next(each for each in self._ledgers if each.ack == ack["type"])
        lane = self._lanes.get((ledger.name, ack["channelAccountId"]))
        flight = lane.in_flight if lane else None
        is_answer = flight is not None and flight.request_id == ack.get("requestId")
        settled = 0
        try:
            settled = yield from ledger.acknowledge(ack)
        finally:
            if lane is not None and is_answer:
                self._answered(lane, is_of_use=settled > 0)

    def refuse(self, error: Json) -> Behaviour[bool]:
        """Takes an error that answers a request; False: it answers none of ours."""
        lane = self._asked_with(error["requestId"])
        if lane is None or lane.in_flight is None:
            return False
        parts, code = lane.in_flight.parts, error["code"]
        is_alone = len(parts) == 1 and code in _OF_THE_ENTRIES
        if is_alone or code in _OF_THE_REQUEST:
            try:
                yield from lane.ledger.refuse(lane.account, parts, code)
            finally:
                self._answered(lane, is_of_use=True)
        elif code in _OF_THE_ENTRIES:
            lane.most = math.ceil(len(parts) / 2) / 2  # an answer of use doubles it
            self._answered(lane, is_of_use=True)
        elif error["retryable"]:
            self._answered(lane, is_of_use=False)
        else:
            lane.in_flight = None
            self._rest(lane)
        return True

    def _asked_with(self, request_id: str | None) -> _Lane | None:
        if request_id is None:
            return None
        for lane in self._lanes.values():
            if lane.in_flight and lane.in_flight.request_id == request_id:
                return lane
        return None

    def _pump_all(self) -> None:
        for lane in list(self._lanes.values()):
            self._pump(lane)

    def _pump(self, lane: _Lane) -> None:
        lane.again = True
        if not lane.is_pumping:
            lane.is_pumping = True
            self._life.spawn(f"ledger {lane.ledger.name}", self._pumping(lane))

    def _pumping(self, lane: _Lane) -> Behaviour[None]:
        try:
            while lane.again and self._may_send(lane):
                lane.again = False
                yield from self._send_next(lane)
        except Exception as error:  # noqa: BLE001 - as the extension does
            self._failed(error)
            self._cool(lane)
        finally:
            lane.is_pumping = False

    def _may_send(self, lane: _Lane) -> bool:
        welcome, settings = self._connection.welcome, self._settings()
        is_held = (
            lane.in_flight is not None or lane.is_resting or lane.timer is not None
        )
        if welcome is None or is_held or not self._is_present(lane):
            return False
        in_flight = sum(1 for each in self._lanes.values() if each.in_flight)
        limits = welcome["limits"]
        if in_flight >= min(limits["maxInFlightBatches"], settings.maxInFlightBatches):
            return False  # whoever is answered wakes all of them
        if self._connection.buffered_bytes <= settings.maxBufferedBytes:
            return True
        self._pause(lane, BUFFER_LOOK_MS)
        return False

    def _is_present(self, lane: _Lane) -> bool:
        return self._lanes.get(lane.key) is lane

    def _send_next(self, lane: _Lane) -> Behaviour[None]:
        welcome, settings = self._connection.welcome, self._settings()
        if welcome is None:
            return
        limits = welcome["limits"]
        request_id = self._connection.next_request_id()
        most = min(limits["maxBatchMessages"], settings.maxBatchMessages, lane.most)
        following = yield from lane.ledger.next(
            lane.account, Bounds(request_id, int(most), limits["maxFrameBytes"])
        )
        if not self._may_send(lane):
            return
        if following is None:
            self._settle_idle()
            return
        if following.too_large is not None:
            parts = [following.too_large]
            yield from lane.ledger.refuse(lane.account, parts, "too_large")
            lane.again = True
            return
        if not self._connection.send(following.frame):
            return
        lane.in_flight = _InFlight(request_id, following.parts)
        lane.timer = self._life.after(
            # Not heard of; the ACK may still come.
            lambda: self._answered(lane, is_of_use=False),
            self._settings().ackTimeoutMs,
        )
        # Others go before it, where not all have room.
        self._lanes[lane.key] = self._lanes.pop(lane.key)

    def _answered(self, lane: _Lane, *, is_of_use: bool) -> None:
        """Not of use: it has to go again, but not at once, nor for ever."""
        self._life.cancel(lane.timer)
        lane.timer = None
        lane.in_flight = None
        if is_of_use:
            lane.attempts = 0
            lane.most *= 2
        else:
            self._cool(lane)
        self._pump_all()

    def _cool(self, lane: _Lane) -> None:
        lane.attempts = min(MAX_ATTEMPTS, lane.attempts + 1)
        if lane.attempts == MAX_ATTEMPTS:
            self._rest(lane)
            return
        settings = self._settings()
        delay = full_jitter(
            lane.attempts,
            settings.retryCoolMs,
            settings.backoffCapMs,
            self._life.random,
        )
        self._pause(lane, delay)

    def _pause(self, lane: _Lane, delay_ms: float) -> None:
        if not self._is_present(lane):
            return
        self._life.cancel(lane.timer)

        def due() -> None:
            lane.timer = None
            self._pump(lane)

        lane.timer = self._life.after(due, delay_ms)

    def _rest(self, lane: _Lane) -> None:
        self._life.cancel(lane.timer)
        lane.timer = None
        lane.is_resting = True
        self._settle_idle()

    def _settle_idle(self) -> None:
        if all(lane.in_flight is None for lane in self._lanes.values()):
            self._idle()
