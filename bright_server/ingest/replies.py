"""What a session answers, made from what it was asked and what became of it.

No I/O. An ACK is made from a `CommittedMessage` and from nothing else (MS-27).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from bright_server.commit.contract import (
    BatchCommitted,
    CommittedMessage,
    DiscoveryStored,
    MessageOutcome,
    Outcome,
)
from bright_server.errors import FrameRefused
from bright_server.ingest.anchors import snapshots
from bright_server.ingest.effects import Send
from bright_server.messages import ObservedMessage, RefusedMessage
from bright_server.wire import answers
from bright_server.wire.codec import encode, encode_known
from bright_server.wire.requests import (
    ConversationDiscovered,
    HistoryProgress,
    ObservationBatch,
    ObservationEnvelope,
    SyncComplete,
)


@dataclass(frozen=True, slots=True)
class AskedBatch:
    """A batch whose valid messages are on their way to the disk."""

    frame: ObservationBatch | ObservationEnvelope
    entries: Sequence[ObservedMessage | RefusedMessage]


Asked: TypeAlias = AskedBatch | ConversationDiscovered | HistoryProgress | SyncComplete


def batch_answer(asked: AskedBatch, outcome: Outcome | None) -> Send:
    """Answer a batch: one result per message, in its order.

    Without a `BatchCommitted` nothing of it was stored, and its valid messages are to
    be sent again.
    """
    if isinstance(outcome, BatchCommitted):
        if not outcome.conflicts and len(outcome.outcomes) == len(asked.entries):
            results = _all_confirmed(asked.entries, outcome.outcomes)
        else:
            results = list(_settled(asked.entries, iter(outcome.outcomes)))
    else:
        results = [
            _rejected(entry)
            if isinstance(entry, RefusedMessage)
            else _result(entry, "retry")
            for entry in asked.entries
        ]
    # Built from this server's own values: there is nothing to validate in them.
    ack = answers.ObservationAck.model_construct(
        type="observation.ack",
        request_id=asked.frame.request_id,
        channel_account_id=asked.frame.channel_account_id,
        conversation_id=asked.frame.conversation_id,
        results=results,
    )
    return Send(encode(ack))


def discovery_answer(
    asked: ConversationDiscovered, stored: DiscoveryStored
) -> list[Send]:
    """Answer a discovery, then tell the anchors of what is known."""
    known = answers.ConversationKnown(
        request_id=asked.request_id,
        conversations=[
            answers.KnownConversation(
                conversation_id=each.conversation_id,
                anchor=None
                if anchor is None
                else answers.KnownAnchor(latest_message_id=anchor.latest_message_id),
            )
            for each, anchor in zip(asked.conversations, stored.anchors, strict=True)
        ],
    )
    anchors = [anchor for anchor in stored.anchors if anchor is not None]
    return [
        Send(encode_known(known)),
        *(Send(encode(frame)) for frame in snapshots(anchors)),
    ]


def error_answer(error: FrameRefused) -> Send:
    """Say what was wrong with a frame."""
    return _error(error.code, error.message, error.request_id, path=error.path)


def failure_answer(asked: Asked, code: str, message: str) -> Send:
    """Say that what was asked could not be done."""
    if isinstance(asked, AskedBatch):
        return _error(code, message, asked.frame.request_id)
    if isinstance(asked, ConversationDiscovered):
        return _error(code, message, asked.request_id)
    # These carry no request id: the conversation says which one it was.
    return _error(
        code,
        message,
        None,
        account=asked.channel_account_id,
        conversation=asked.conversation_id,
    )


def _all_confirmed(
    entries: Sequence[ObservedMessage | RefusedMessage],
    outcomes: Sequence[MessageOutcome],
) -> list[answers.MessageResult]:
    """Answer a batch without a refusal or a conflict, which is nearly every one."""
    committed = cast("Sequence[CommittedMessage]", outcomes)
    return [
        {
            "candidateKey": entry.candidate_key,
            "messageId": entry.message_id,
            "status": "confirmed",
            "duplicate": duplicate,
            "sequence": sequence,
        }
        for entry, (_, sequence, duplicate) in zip(entries, committed, strict=True)
    ]


def _settled(
    entries: Sequence[ObservedMessage | RefusedMessage],
    outcomes: Iterator[MessageOutcome],
) -> Iterator[answers.MessageResult]:
    for entry in entries:
        if isinstance(entry, RefusedMessage):
            yield _rejected(entry)
            continue
        outcome = next(outcomes)
        if isinstance(outcome, CommittedMessage):
            yield {
                "candidateKey": entry.candidate_key,
                "messageId": entry.message_id,
                "status": "confirmed",
                "duplicate": outcome.duplicate,
                "sequence": outcome.sequence,
            }
        else:
            yield _result(entry, "conflict")


def _result(
    entry: ObservedMessage | RefusedMessage, status: answers.ResultStatus
) -> answers.MessageResult:
    return {
        "candidateKey": entry.candidate_key,
        "messageId": entry.message_id,
        "status": status,
        "duplicate": False,
    }


def _rejected(entry: RefusedMessage) -> answers.MessageResult:
    return {**_result(entry, "rejected"), "code": entry.code}


def _error(
    code: str,
    message: str,
    request_id: str | None,
    *,
    path: str | None = None,
    account: str | None = None,
    conversation: str | None = None,
) -> Send:
    frame = answers.WsError.model_validate(
        {
            "request_id": request_id,
            "code": code,
            "message": message,
            "path": path,
            "retryable": code in answers.RETRYABLE_CODES,
            "channel_account_id": account,
            "conversation_id": conversation,
        }
    )
    return Send(encode(frame))
