"""What a session answers, made from what it was asked and what became of it.

No I/O. An ACK is made from a `BatchCommitted` and from nothing else (MS-27).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, repeat, starmap
from typing import TypeAlias

from bright_server.commit.groups import (
    BatchCommitted,
    DiscoveryStored,
    Outcome,
)
from bright_server.errors import FrameRefused
from bright_server.ingest.admission import Admitted
from bright_server.ingest.anchors import snapshots
from bright_server.ingest.effects import Effect, Send
from bright_server.ingest.ledgers import AskedLedger
from bright_server.messages import ConversationKey, Grant
from bright_server.settings import Settings
from bright_server.wire import answers
from bright_server.wire.batches import Result, ack_text
from bright_server.wire.codec import encode, encode_known
from bright_server.wire.commands import RouteReason
from bright_server.wire.requests import (
    ConversationDiscovered,
    HistoryProgress,
    SyncComplete,
)


@dataclass(frozen=True, slots=True)
class AskedBatch:
    """A batch whose valid messages are on their way to the disk."""

    request_id: str
    conversation: ConversationKey
    admitted: Admitted


Asked: TypeAlias = (
    AskedBatch | AskedLedger | ConversationDiscovered | HistoryProgress | SyncComplete
)


def welcome_answer(
    request_id: str,
    connection_id: str,
    store_id: str,
    grant: Grant,
    now_ms: int,
    settings: Settings,
) -> Send:
    """Say that the connection stands, for which accounts and within which limits."""
    return Send(
        encode(
            answers.Welcome(
                request_id=request_id,
                connection_id=connection_id,
                store_id=store_id,
                server_time_ms=now_ms,
                heartbeat_interval_ms=settings.heartbeat_interval_ms,
                authorization_version=grant.authorization_version,
                accounts=sorted(grant.accounts),
                limits=answers.ConnectionLimits(
                    max_frame_bytes=settings.max_frame_bytes,
                    max_batch_messages=settings.max_batch_messages,
                    max_in_flight_batches=settings.max_in_flight_batches,
                ),
            )
        )
    )


def batch_answer(asked: AskedBatch, outcome: Outcome | None) -> Send:
    """Answer a batch: one result per message, in its order.

    Without a `BatchCommitted` nothing of it was stored, and its valid messages are to
    be sent again.
    """
    admitted = asked.admitted
    if not isinstance(outcome, BatchCommitted):
        results = _answered(admitted, repeat(("retry", False, None)))
    elif admitted.refused or outcome.conflicts:
        results = _answered(admitted, _settled(outcome))
    else:
        results = _all_confirmed(admitted, outcome)
    key = asked.conversation
    return Send(
        ack_text(asked.request_id, key.channel_account_id, key.conversation_id, results)
    )


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


def route_refusal(request_id: str, reason: RouteReason) -> Send:
    """Say that a route names no exact conversation, and why (OT-65)."""
    message = "a route that names a conversation names exactly one, by one cid"
    return _error("route_not_exact", message, request_id, path="route", reason=reason)


def refusal(
    code: str, message: str, path: str | None, request_id: str | None
) -> list[Effect]:
    """Say that a frame is not taken, and what to do."""
    return [error_answer(FrameRefused(code, message, path=path, request_id=request_id))]


def failure_answer(asked: Asked, code: str, message: str) -> Send:
    """Say that what was asked could not be done."""
    if isinstance(asked, AskedBatch | AskedLedger | ConversationDiscovered):
        return _error(code, message, asked.request_id)
    # These carry no request id: the conversation says which one it was.
    return _error(
        code,
        message,
        None,
        account=asked.channel_account_id,
        conversation=asked.conversation_id,
    )


def _all_confirmed(admitted: Admitted, outcome: BatchCommitted) -> list[Result]:
    """Answer a batch without a refusal or a conflict, which is nearly every one."""
    rows = zip(
        admitted.candidate_keys,
        admitted.message_ids,
        repeat("confirmed"),
        map(outcome.repeats.__contains__, count()),
        outcome.sequences,
        strict=False,
    )
    return list(starmap(Result, rows))


def _settled(
    outcome: BatchCommitted,
) -> Iterator[tuple[answers.ResultStatus, bool, int | None]]:
    for index, sequence in enumerate(outcome.sequences):
        if index in outcome.conflicts:
            yield "conflict", False, None
        else:
            yield "confirmed", index in outcome.repeats, sequence


def _answered(
    admitted: Admitted,
    settled: Iterator[tuple[answers.ResultStatus, bool, int | None]],
) -> list[Result]:
    """Answer each message: a refused one by its code, a valid one by the next."""
    results = []
    handles = zip(admitted.candidate_keys, admitted.message_ids, strict=True)
    for index, (candidate_key, message_id) in enumerate(handles):
        if code := admitted.refused.get(index):
            results.append(
                Result(candidate_key, message_id, "rejected", False, code=code)
            )
        else:
            results.append(Result(candidate_key, message_id, *next(settled)))
    return results


def _error(
    code: str,
    message: str,
    request_id: str | None,
    *,
    path: str | None = None,
    account: str | None = None,
    conversation: str | None = None,
    reason: RouteReason | None = None,
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
            "reason": reason,
        }
    )
    return Send(encode(frame))
