"""Candidates that wait for their ACK go to Bright, oldest first (background/uplink.js).

One batch of a conversation at a time, several conversations at once. All it knows of
the past is in the store; what is in flight is forgotten with the connection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from extension_harness.model.connection import Connection
from extension_harness.model.cooling import Cooling
from extension_harness.model.frames import pack_batch, wire_message
from extension_harness.model.normal_form import anomaly_record
from extension_harness.model.settings import Settings
from extension_harness.model.steps import Behaviour, Digest, Json, Value
from extension_harness.model.store import verb
from extension_harness.model.tasks import Life
from storage_schema.onetalk import (
    apply_results,
    next_pending,
    pending_conversations,
    read_checkpoint,
)
from storage_schema.onetalk.keys import conversation_key

LOOK_AHEAD = 32
BUFFER_LOOK_MS = 50


@dataclass(frozen=True)
class Batch:
    """What is in flight: its scope, its candidates, the timer of its ACK."""

    account: str
    conversation: str
    candidates: Sequence[Json]
    timer: int


class Uplink:
    """The way of messages up, and of their ACKs back."""

    def __init__(
        self,
        life: Life,
        connection: Connection,
        settings: Callable[[], Settings],
        applied: Callable[[Json], None],
        failed: Callable[[Exception], object],
    ) -> None:
        self._life = life
        self._connection = connection
        self._settings = settings
        self._applied = applied
        self._failed = failed
        self._cooling = Cooling(life.steady, life.random, settings)
        self._in_flight: dict[str, Batch] = {}
        self._busy: dict[str, str] = {}
        self._foreign: set[str] = set()
        self._search_from: dict[str, str | None] = {}
        self._open = False
        self._pumping = False
        self._turn = -1
        self._again = False
        self._timer: int | None = None
        self._wake_at_ms: float | None = None

    @property
    def batches_in_flight(self) -> int:
        """Sent and unanswered on this connection."""
        return len(self._in_flight)

    def start(self) -> None:
        """Bright has welcomed us, and what it knows of the past is settled."""
        self._open = True
        self._foreign.clear()
        self.wake()

    def halt(self) -> None:
        """The connection is gone: what was in flight is pending (OT-51)."""
        self._open = False
        for batch in self._in_flight.values():
            self._life.cancel(batch.timer)
        self._in_flight.clear()
        self._busy.clear()
        self._life.cancel(self._timer)
        self._wake_at_ms = None

    def wake(self) -> None:
        """Something may have become sendable."""
        if not self._open:
            return
        self._again = True
        if not self._pumping:
            self._pumping = True
            self._life.spawn("uplink", self._pump())

    def _pump(self) -> Behaviour[None]:
        try:
            while self._again and self._open:
                self._again = False
                yield from self._fill()
        except Exception as error:  # noqa: BLE001 - as the extension does
            self._failed(error)
            self._wake_in(self._settings().retryCoolMs)
        finally:
            self._pumping = False

    def _fill(self) -> Behaviour[None]:
        """Hands batches over until nothing is left, or a bound is met."""
        accounts = self._connection.accounts
        self._turn = (self._turn + 1) % max(1, len(accounts))
        for account in [*accounts[self._turn :], *accounts[: self._turn]]:
            if account in self._foreign:
                continue
            while self._has_room():
                conversations = yield from self._find_work(account)
                if not conversations:
                    break
                for conversation in conversations:
                    if not self._has_room():
                        return
                    yield from self._send_next(account, conversation)

    def _has_room(self) -> bool:
        welcome, settings = self._connection.welcome, self._settings()
        if not self._open or welcome is None:
            return False
        most = min(welcome["limits"]["maxInFlightBatches"], settings.maxInFlightBatches)
        if len(self._in_flight) >= most:
            return False
        if self._connection.buffered_bytes > settings.maxBufferedBytes:
            self._wake_in(BUFFER_LOOK_MS)
            return False
        return True

    def _find_work(self, account: str) -> Behaviour[list[str]]:
        """Conversations with something to send, neither in flight nor cooling."""
        after = self._search_from.get(account)
        wrapped = after is None
        while True:
            found: list[str] = yield from verb(
                "pendingConversations",
                pending_conversations,
                account,
                {"limit": LOOK_AHEAD, "after": after},
            )
            keys = {each: conversation_key(account, each) for each in found}
            free = [each for each in found if self._is_free(keys[each])]
            after = None if len(found) < LOOK_AHEAD else found[-1]
            self._search_from[account] = after
            if free:
                return free
            for each in found:
                if keys[each] not in self._busy:
                    self._wake_in(self._cooling.left_ms(keys[each]))
            if after is None:
                if wrapped:
                    return []
                wrapped = True

    def _is_free(self, key: str) -> bool:
        return key not in self._busy and self._cooling.left_ms(key) == 0

    def _send_next(self, account: str, conversation: str) -> Behaviour[None]:
        welcome = self._connection.welcome
        key = conversation_key(account, conversation)
        if welcome is None or not self._is_free(key):
            return
        limits = welcome["limits"]
        most = min(
            limits["maxBatchMessages"],
            self._settings().maxBatchMessages,
            self._cooling.max_messages(key),
        )
        request_id = self._connection.next_request_id()
        self._busy[key] = request_id
        try:
            pending = yield from verb(
                "nextPending", next_pending, account, conversation, int(most)
            )
            checkpoint = yield from verb(
                "readCheckpoint", read_checkpoint, account, conversation
            )
            if not self._open:
                return
            yield from self._send_pending(
                key, pending, _envelope(request_id, account, conversation, checkpoint)
            )
        finally:
            is_ours = self._busy.get(key) == request_id
            if request_id not in self._in_flight and is_ours:
                del self._busy[key]

    def _send_pending(
        self, key: str, pending: list[Any], envelope: Json
    ) -> Behaviour[None]:
        if not pending:
            # Not where its key says: looked for again, but not at once.
            self._cool(key, math.inf)
            return
        for pair in pending:
            if pair["message"] is None:
                yield from self._park(pair["candidate"], "message_missing")
                return
        envelope["receivedAtMs"] = max(_seen_at(pair["candidate"]) for pair in pending)
        messages = [
            (pair["candidate"], wire_message(pair["candidate"], pair["message"]))
            for pair in pending
        ]
        welcome = self._connection.welcome
        limit = welcome["limits"]["maxFrameBytes"] if welcome else 0
        packed = pack_batch(messages, envelope, limit)
        if packed.too_large is not None:
            yield from self._park(packed.too_large, "too_large")
        elif self._connection.send(packed.frame):
            self._sent(envelope, packed.parts)
        else:
            self._open = False  # it is closing: the next welcome opens

    def _sent(self, envelope: Json, candidates: Sequence[Json]) -> None:
        words = "Bright did not acknowledge in time."
        timer = self._life.after(
            lambda: self._connection.abandon("ack_timeout", words),
            self._settings().ackTimeoutMs,
        )
        self._in_flight[envelope["requestId"]] = Batch(
            envelope["channelAccountId"], envelope["conversationId"], candidates, timer
        )

    def acknowledge(self, ack: Json) -> Behaviour[None]:
        """Takes an ACK: each result by its exact candidate key (OT-18)."""
        account, conversation = ack["channelAccountId"], ack["conversationId"]
        key = conversation_key(account, conversation)
        batch = self._in_flight.get(ack["requestId"])
        results = [each for each in ack["results"] if each["status"] != "retry"]
        is_asked = len(results) < len(ack["results"])
        try:
            applied = yield from self._apply(account, conversation, results)
            if is_asked:
                self._cool(key, math.inf)
            else:
                self._cooling.forget(key)
            self._applied(applied)
        except Exception:
            self._cool(key, math.inf)  # sent again, but not at once
            raise
        finally:
            if batch is not None:
                self._landed(ack["requestId"])
            self.wake()

    def _apply(
        self, account: str, conversation: str, results: list[Json]
    ) -> Behaviour[Json]:
        now_ms = self._life.now()
        prepared = []
        for result in results:
            is_conflict = result["status"] == "conflict"
            entry: Json = {
                name: result[name]
                for name in ("candidateKey", "messageId", "status", "sequence", "code")
                if name in result
            }
            entry["ifConflict"] = (
                _conflict(account, conversation, result["messageId"], now_ms)
                if is_conflict
                else None
            )
            prepared.append(entry)
        if any(each["status"] == "conflict" for each in results):
            yield Digest()
        applied: Json = yield from verb(
            "applyResults", apply_results, account, conversation, prepared, now_ms
        )
        return applied

    def refuse(self, error: Json) -> Behaviour[bool]:
        """Takes an error that answers a batch; False: it answers none of ours."""
        request_id = error["requestId"]
        batch = self._in_flight.get(request_id)
        if batch is None:
            return False
        key = conversation_key(batch.account, batch.conversation)
        try:
            if error["code"] == "out_of_scope":
                self._foreign.add(batch.account)
            elif error["retryable"]:
                self._cool(key, math.inf)
            elif len(batch.candidates) > 1:
                self._cool(key, len(batch.candidates) / 2)
            else:
                yield from self._park(batch.candidates[0], error["code"])
        finally:
            self._landed(request_id)
            self.wake()
        return True

    def _park(self, candidate: Json, code: str) -> Behaviour[None]:
        """Puts aside what can never be taken, where it blocks nothing."""
        result = {
            "candidateKey": candidate["candidateKey"],
            "messageId": candidate["messageId"],
            "status": "rejected",
            "code": code,
        }
        applied: Json = yield from verb(
            "applyResults",
            apply_results,
            candidate["channelAccountId"],
            candidate["conversationId"],
            [result],
            self._life.now(),
        )
        self._applied(applied)
        self._again = True

    def _landed(self, request_id: str) -> None:
        batch = self._in_flight.pop(request_id, None)
        if batch is None:
            return
        self._life.cancel(batch.timer)
        self._busy.pop(conversation_key(batch.account, batch.conversation), None)

    def _cool(self, key: str, max_messages: float) -> None:
        self._wake_in(self._cooling.cool(key, max_messages))

    def _wake_in(self, delay_ms: float) -> None:
        """The earliest of the wakes asked for is kept; the others follow from it."""
        due_ms = self._life.steady() + delay_ms
        if self._wake_at_ms is not None and self._wake_at_ms <= due_ms:
            return
        self._life.cancel(self._timer)
        self._wake_at_ms = due_ms

        def due() -> None:
            self._wake_at_ms = None
            self.wake()

        self._timer = self._life.after(due, delay_ms)


def _envelope(
    request_id: str, account: str, conversation: str, checkpoint: Json | None
) -> Json:
    return {
        "type": "observation.batch",
        "requestId": request_id,
        "channelAccountId": account,
        "conversationId": conversation,
        "mode": checkpoint["syncMode"] if checkpoint else "full",
    }


def _seen_at(candidate: Json) -> Value:
    seen = candidate.get("observedAtMs")
    return candidate["sentAtMs"] if seen is None else seen


def _conflict(account: str, conversation: str, message_id: str, now_ms: int) -> Json:
    observed = {"messageId": message_id, "at": "bright"}
    return anomaly_record(
        {"code": "conflict", "messageId": message_id, "observed": observed},
        account=account,
        conversation=conversation,
        surface="bright",
        now_ms=now_ms,
    )
