"""What an open connection wants stored: judged, bounded, and remembered until settled.

No I/O. Batches of messages and frames of the other ledgers are counted apart, so that
neither has to wait for the other.
"""

from __future__ import annotations

from itertools import count
from types import UnionType
from typing import TypeAlias

from bright_server.commit.groups import ObservedBatch
from bright_server.errors import FrameRefused
from bright_server.ingest.admission import admit
from bright_server.ingest.effects import Effect, Submit
from bright_server.ingest.ledgers import AskedLedger, ledger_answer, taken
from bright_server.ingest.operations import Operation, work_of
from bright_server.ingest.replies import (
    Asked,
    AskedBatch,
    batch_answer,
    error_answer,
    failure_answer,
    refusal,
)
from bright_server.messages import ConversationKey, Grant
from bright_server.settings import Settings
from bright_server.wire.batches import WholeBatch
from bright_server.wire.codec import PartialBatch
from bright_server.wire.ledger_codec import LedgerFrame

Wanted: TypeAlias = WholeBatch | PartialBatch | LedgerFrame | Operation


class Intake:
    """Takes frames whose account is in scope, and knows what waits for its outcome."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._asked: dict[int, Asked] = {}
        self._tickets = count(1)

    def take(
        self, frame: Wanted, grant: Grant, size_bytes: int, now_ms: int
    ) -> list[Effect]:
        """Have a frame stored that came at `now_ms`, or answer it at once."""
        if isinstance(frame, WholeBatch | PartialBatch):
            return self._take_batch(frame, grant, size_bytes)
        if isinstance(frame, LedgerFrame):
            return self._take_ledger(frame, grant, size_bytes, now_ms)
        return self._take_operation(frame, grant, size_bytes)

    def settled(self, ticket: int) -> Asked:
        """Return what was asked under a ticket, and make room for more."""
        return self._asked.pop(ticket)

    def _take_operation(
        self, frame: Operation, grant: Grant, size_bytes: int
    ) -> list[Effect]:
        waiting = len(self._asked)
        if waiting >= self._settings.max_pending_operations:
            message = f"{waiting} requests wait for their outcome: send it later"
            return [failure_answer(frame, "overloaded", message)]
        return [Submit(self._ticket(frame), work_of(frame, grant), size_bytes)]

    def _take_batch(
        self, batch: WholeBatch | PartialBatch, grant: Grant, size_bytes: int
    ) -> list[Effect]:
        frame = batch.envelope
        size, most = len(frame.messages), self._settings.max_batch_messages
        if size > most:
            message = f"a batch holds at most {most} messages, this one {size}"
            return refusal("batch_too_large", message, "messages", frame.request_id)
        if refused := self._too_many(AskedBatch, "batches", frame.request_id):
            return refused
        admitted = admit(batch, size_bytes, self._settings.max_message_bytes)
        key = ConversationKey(frame.channel_account_id, frame.conversation_id)
        asked = AskedBatch(frame.request_id, key, admitted)
        if not admitted.messages:
            return [batch_answer(asked, None)]
        work = ObservedBatch(grant, key, frame.received_at_ms, admitted.messages)
        return [Submit(self._ticket(asked), work, size_bytes)]

    def _take_ledger(
        self, frame: LedgerFrame, grant: Grant, size_bytes: int, now_ms: int
    ) -> list[Effect]:
        request_id = frame.envelope.request_id
        if refused := self._too_many(AskedLedger, "frames", request_id):
            return refused
        try:
            asked, work = taken(frame, grant, now_ms, self._settings)
        except FrameRefused as error:
            return [error_answer(error)]
        if work is None:
            answer = ledger_answer(asked, None)
            return [] if answer is None else [answer]
        return [Submit(self._ticket(asked), work, size_bytes)]

    def _too_many(
        self, kind: type[Asked] | UnionType, name: str, request_id: str
    ) -> list[Effect]:
        flying = sum(isinstance(each, kind) for each in self._asked.values())
        if flying < self._settings.max_in_flight_batches:
            return []
        message = f"{flying} {name} wait for their ACK: wait for one of them"
        return refusal("too_many_in_flight", message, None, request_id)

    def _ticket(self, asked: Asked) -> int:
        ticket = next(self._tickets)
        self._asked[ticket] = asked
        return ticket
