"""Text to frames and frames to text; the home of JSON, with `batches`. No I/O.

A batch that is right, which is nearly all of the traffic, is parsed in one pass. Every
other frame is looked at slowly, to say what is wrong with it, and to save the good
messages of a batch from its bad ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError

from bright_server.errors import FrameRefused
from bright_server.messages import RefusalCode, RefusedMessage
from bright_server.wire import requests
from bright_server.wire.batches import (
    WholeBatch,
    WireMessage,
    message_of,
    read_whole_batch,
)
from bright_server.wire.commands import CommandResult
from bright_server.wire.ledger_codec import (
    LEDGER_ENVELOPES,
    LedgerFrame,
    ledger_frame,
)
from bright_server.wire.requests import Message, ObservationEnvelope
from bright_server.wire.scalars import CandidateKey, Frame, Identifier, RequestId
from bright_server.wire.text import is_storable, unstorable_path

_BATCH_TYPE: Final = b'"observation.batch"'
_HEAD: Final = 200

_REQUEST_ID: Final = TypeAdapter[str](RequestId)
_IDENTIFIER: Final = TypeAdapter[str](Identifier)

_MESSAGE: Final[TypeAdapter[Message]] = TypeAdapter(Message)
# What the server does not know goes nowhere, and is not looked at.
_MESSAGE_FIELDS: Final = frozenset(Message.__annotations__)

_MODELS: Final[dict[str, type[Frame]]] = {
    "hello": requests.Hello,
    "heartbeat": requests.Heartbeat,
    "page.register": requests.PageRegister,
    "page.health": requests.PageHealth,
    "conversation.discovered": requests.ConversationDiscovered,
    "history.progress": requests.HistoryProgress,
    "sync.complete": requests.SyncComplete,
    "command.result": CommandResult,
}

# What pydantic adds to the path of a field that may be of several types.
_UNION_LABELS: Final = frozenset({"constrained-int", "constrained-str"})

# Frames of the other role, and frames that only a server sends: known words in the
# wrong mouth (OT-64).
_WRONG_ROLE: Final = frozenset(
    {
        "mailbox.deliver", "mailbox.ack", "command.request", "command.accepted",
        "command.outcome", "conversation.changed", "sync.changed", "delivery.changed",
        "welcome", "heartbeat.ack", "page.registered", "conversation.known",
        "observation.ack", "anchor.snapshot", "contact.profile.ack",
        "card.rendered.ack", "buyer.facts.ack", "command", "binding.revoked",
        "keepalive", "ws.error",
    }
)  # fmt: skip


class _MessageHandle(Frame):
    """What it takes to answer for one message at all."""

    candidate_key: CandidateKey
    message_id: Identifier


@dataclass(frozen=True, slots=True)
class PartialBatch:
    """A batch of which some messages cannot be stored; the others can."""

    envelope: ObservationEnvelope
    entries: Sequence[WireMessage | RefusedMessage]


Request: TypeAlias = (
    requests.Hello
    | requests.Heartbeat
    | requests.PageRegister
    | requests.PageHealth
    | requests.ConversationDiscovered
    | requests.HistoryProgress
    | requests.SyncComplete
    | CommandResult
    | WholeBatch
    | PartialBatch
    | LedgerFrame
)


def decode_request(data: bytes) -> Request:
    """Return the frame that an extension sent, from its UTF-8.

    Raises:
        FrameRefused: with the stable code, the field's path and, where it could be
        read,
            the frame's own `requestId`.
    """
    # Known by its first words, a batch need not be looked at once for its type and then
    # again.
    if data.find(_BATCH_TYPE, 0, _HEAD) >= 0 and (batch := read_whole_batch(data)):
        return batch
    return decode_slowly(data)


def decode_slowly(data: bytes) -> Request:
    """Do the same for any frame, right or wrong; a batch comes out as a partial one."""
    frame = _parse(data)
    kind = frame.get("type")
    request_id = _request_id(frame)
    if not isinstance(kind, str):
        raise FrameRefused(
            "invalid_frame",
            "a frame needs a type, as a string",
            path="type",
            request_id=request_id,
        )
    if kind in _WRONG_ROLE:
        raise FrameRefused(
            "wrong_role",
            "an extension does not send this frame on /v1/extension",
            path="type",
            request_id=request_id,
        )
    if kind == "observation.batch":
        return _decode_batch(frame, request_id)
    if kind in LEDGER_ENVELOPES:
        envelope = _validated(LEDGER_ENVELOPES[kind], frame, request_id)
        return ledger_frame(envelope, frame)
    model = _MODELS.get(kind)
    if model is None:
        raise FrameRefused(
            "unknown_type",
            "this server does not know this type of frame",
            path="type",
            request_id=request_id,
        )
    return cast("Request", _validated(model, frame, request_id))


def encode(frame: Frame) -> str:
    """Return a frame as text for the wire; absent fields are left out."""
    return frame.model_dump_json(by_alias=True, exclude_none=True)


def encode_known(frame: Frame) -> str:
    """Return a frame in which null is a value and not an absence."""
    return frame.model_dump_json(by_alias=True)


def is_identifier(text: str) -> bool:
    """Say whether a frame can carry this text as an id."""
    try:
        _IDENTIFIER.validate_python(text, strict=True)
    except ValidationError:
        return False
    return is_storable(text)


def _parse(data: bytes) -> dict[str, object]:
    try:
        frame = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise FrameRefused(
            "malformed_json", "the text of a frame must be one JSON object"
        ) from error
    if not isinstance(frame, dict):
        raise FrameRefused("invalid_frame", "a frame must be a JSON object", path="")
    return frame


def _request_id(frame: dict[str, object]) -> str | None:
    try:
        found = _REQUEST_ID.validate_python(frame.get("requestId"), strict=True)
    except ValidationError:
        return None
    return found if is_storable(found) else None


def _validated(
    model: type[Frame], value: object, request_id: str | None, *at: str
) -> Frame:
    try:
        frame = model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        loc = (str(part) for part in first["loc"] if part not in _UNION_LABELS)
        path = ".".join((*at, *loc))
        message = first["msg"]
    else:
        # Only what the model knows goes anywhere; messages are judged one by one.
        facts = frame.model_dump(by_alias=True, exclude={"messages"})
        found = unstorable_path(facts)
        if found is None:
            return frame
        path = ".".join((*at, found))
        message = "a lone surrogate or NUL cannot be stored"
    raise FrameRefused("invalid_frame", message, path=path, request_id=request_id)


def _decode_batch(frame: dict[str, object], request_id: str | None) -> PartialBatch:
    envelope = cast(
        "ObservationEnvelope", _validated(ObservationEnvelope, frame, request_id)
    )
    entries = [
        _decode_entry(value, index, request_id)
        for index, value in enumerate(envelope.messages)
    ]
    return PartialBatch(envelope, entries)


def _decode_entry(
    value: object, index: int, request_id: str | None
) -> WireMessage | RefusedMessage:
    # Without both handles there is nothing to address a result to: the whole batch is
    # refused, with the path.
    handle = cast(
        "_MessageHandle",
        _validated(_MessageHandle, value, request_id, "messages", str(index)),
    )
    code: RefusalCode = "unstorable_text"
    fields = cast("dict[str, object]", value)
    known = {name: part for name, part in fields.items() if name in _MESSAGE_FIELDS}
    if unstorable_path(known) is None:
        try:
            return message_of(_MESSAGE.validate_python(known))
        except ValidationError:
            code = "invalid_message"
    return RefusedMessage(handle.candidate_key, handle.message_id, code)
