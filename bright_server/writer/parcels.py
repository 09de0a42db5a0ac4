"""What goes between the server and its writer process: work, and outcomes. No I/O.

Both ends are the same program over a socket that nobody else has, so objects are
pickled; nothing that a peer wrote is ever unpickled. Batches and what became of them
go as plain tuples, and their columns as MessagePack, which takes a third of the time.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Final, TypeAlias, cast

import msgspec

from bright_server.commit.groups import (
    BatchCommitted,
    ObservedBatch,
    Outcome,
    Work,
)
from bright_server.messages import (
    BindingId,
    ConversationKey,
    Grant,
    ObservedMessages,
    StructuredParts,
)

READY: Final = "ready"
"""The first content that the process sends: work may come."""

_LENGTH_BYTES: Final = 4

_columns_of: Final = attrgetter(*(each.name for each in fields(ObservedMessages)))

_PlainGrant: TypeAlias = tuple[BindingId, int, frozenset[str]]
_PlainBatch: TypeAlias = tuple[_PlainGrant, str, str, int, bytes]
_Texts: TypeAlias = tuple[str, ...]
_Columns: TypeAlias = tuple[
    _Texts,
    _Texts,
    _Texts,
    tuple[int, ...],
    _Texts,
    tuple[str | None, ...],
    tuple[StructuredParts, ...] | None,
]
_PlainOutcome: TypeAlias = tuple[Sequence[int], frozenset[int], frozenset[int]]

_PACKER: Final = msgspec.msgpack.Encoder()
_UNPACKER: Final = msgspec.msgpack.Decoder(_Columns)


@dataclass(frozen=True, slots=True)
class GroupDone:
    """One committed group: what became of each ticket, and what it took."""

    outcomes: list[tuple[int, Outcome]]
    seconds: float


class Parcels:
    """Cuts a stream of bytes into the parcels that were put into it."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[object]:
        """Take bytes; yield the contents of every parcel that they complete."""
        self._buffer += data
        start = 0
        while len(self._buffer) >= start + _LENGTH_BYTES:
            body = start + _LENGTH_BYTES
            end = body + int.from_bytes(self._buffer[start:body], "little")
            if len(self._buffer) < end:
                break
            with memoryview(self._buffer) as view:
                content = pickle.loads(view[body:end])  # noqa: S301 - our own, see above
            yield content
            start = end
        del self._buffer[:start]


def pack(content: object) -> bytes:
    """Return a parcel with this content."""
    body = pickle.dumps(content, protocol=5)
    return len(body).to_bytes(_LENGTH_BYTES, "little") + body


def pack_work(ticket: int, work: Work) -> bytes:
    """Return the parcel of one piece of work."""
    if not isinstance(work, ObservedBatch):
        return pack((ticket, work))
    grant, key = work.grant, work.conversation
    return pack(
        (
            ticket,
            (
                (grant.binding_id, grant.authorization_version, grant.accounts),
                key.channel_account_id,
                key.conversation_id,
                work.received_at_ms,
                _PACKER.encode(_columns_of(work.messages)),
            ),
        )
    )


def unpack_work(content: object) -> tuple[int, Work]:
    """Return what `pack_work` was given."""
    ticket, work = cast("tuple[int, Work | _PlainBatch]", content)
    if not isinstance(work, tuple):
        return ticket, work
    grant, account, conversation, received_at_ms, messages = work
    return ticket, ObservedBatch(
        Grant(*grant),
        ConversationKey(account, conversation),
        received_at_ms,
        ObservedMessages(*_UNPACKER.decode(messages)),
    )


def pack_group(done: GroupDone) -> bytes:
    """Return the parcel of a group's outcomes."""
    outcomes = [
        (ticket, _plain(outcome) if isinstance(outcome, BatchCommitted) else outcome)
        for ticket, outcome in done.outcomes
    ]
    return pack((outcomes, done.seconds))


def unpack_group(content: object) -> GroupDone:
    """Return what `pack_group` was given."""
    outcomes, seconds = cast(
        "tuple[list[tuple[int, Outcome | _PlainOutcome]], float]", content
    )
    return GroupDone(
        [
            (ticket, BatchCommitted(*each) if isinstance(each, tuple) else each)
            for ticket, each in outcomes
        ],
        seconds,
    )


def _plain(batch: BatchCommitted) -> _PlainOutcome:
    return batch.sequences, batch.repeats, batch.conflicts
