"""A commit's hash in words, both ways. No I/O.

While it is under way, the hash holds all that later steps need: state, identity, what
is frozen, sequence, publication. Of a committed one the identity (a digest, or the full
form that an older server wrote), the coordinates and the publication stay (MS-13); one
that was never shortened is read all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bright_server.commit.encoding import decode_intent
from bright_server.commit.identity import full_identity
from bright_server.commit.observed_content import canonical_content
from bright_server.commit.records import (
    AuthenticatedSend,
    CommitIntent,
    CommitKey,
    CommitState,
    CommittedMessage,
    Coordinates,
    LoadedCommit,
    MessageRecord,
    OutboxPublication,
)
from bright_server.errors import CommitUnreadable
from bright_server.fanout.contract import LogPosition
from bright_server.messages import ConversationKey, ObservedMessage
from bright_server.stores.observed_commits import observed_of, request_of

INCOMPARABLE: Final = "x"
"""No digest is this: what cannot be compared with a page's message is another."""


@dataclass(frozen=True, slots=True)
class KeptCommit:
    """What stands under a key: the commit, and the identity that it is of."""

    commit: LoadedCommit
    identity: bytes


def kept_commit(
    key: CommitKey, conversation: ConversationKey, reply: Sequence[bytes]
) -> KeptCommit:
    """Return the commit of a hash, given as fields and values in turn.

    Raises:
        CommitUnreadable: it is in no format that is known here.
    """
    where = f"the key {key.client_message_id!a}"
    kept = _Kept(where, reply)
    if kept.state is not CommitState.COMMITTED:
        return KeptCommit(kept.intent(), kept.identity)
    if kept.publication is None:
        raise CommitUnreadable(where, "it is committed and not published")
    place = Coordinates(conversation, kept.message_id(), kept.sequence)
    return KeptCommit(CommittedMessage(key, place, kept.publication), kept.identity)


def under_way(name: str, reply: Sequence[bytes]) -> CommitIntent | None:
    """Return the intent of a hash; None: it is committed, or gone, by now.

    Raises:
        CommitUnreadable: it is in no format that is known here.
    """
    if not reply:
        return None
    kept = _Kept(f"the name {name}", reply)
    return None if kept.state is CommitState.COMMITTED else kept.intent()


class _Kept:
    """A hash as it is kept."""

    def __init__(self, where: str, reply: Sequence[bytes]) -> None:
        self._where = where
        self._fields = dict(zip(reply[::2], reply[1::2], strict=True))
        try:
            self.state = CommitState(int(self._fields[b"s"]))
            self.identity = self._fields[b"d"]
            self.sequence = int(self._fields[b"q"])
            self.publication = _publication(self._fields)
        except (KeyError, ValueError) as error:
            raise CommitUnreadable(where, f"{type(error).__name__}: {error}") from error

    def intent(self) -> CommitIntent:
        frozen = self._fields.get(b"f")
        if frozen is None:
            raise CommitUnreadable(self._where, "what was frozen of it is gone")
        return decode_intent(
            frozen, self.identity, self.sequence, self.state, self.publication
        )

    def message_id(self) -> str:
        # One that was never shortened has it in what is frozen.
        kept = self._fields.get(b"m")
        return self.intent().coordinates.message_id if kept is None else kept.decode()


def grouped_commit(
    key: CommitKey, conversation: ConversationKey, entry: bytes, partition: str
) -> CommittedMessage:
    """Return a message that a group has committed, from its entry among the ids."""
    sequence, offset = entry.decode().split(",")[:2]
    return CommittedMessage(
        key,
        Coordinates(conversation, key.client_message_id, int(sequence)),
        OutboxPublication(LogPosition(partition, int(offset))),
    )


def is_request_of(
    request: AuthenticatedSend,
    conversation: ConversationKey,
    message: ObservedMessage,
) -> bool:
    """Say whether a message that a group has committed is what a request says."""
    return full_identity(request) == full_identity(request_of(conversation, message))


def content_digest(request: AuthenticatedSend, record: MessageRecord) -> str:
    """Return what the script `batch` compares with a page's message.

    It is the one digest that scripts know. Nothing depends on its strength: who could
    write two contents of one digest has both taken for one message, its own.
    """
    observed = observed_of(record)._replace(message_id=request.key.client_message_id)
    if not is_request_of(request, request.conversation, observed):
        return INCOMPARABLE
    content = canonical_content(observed)
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def _publication(fields: Mapping[bytes, bytes]) -> OutboxPublication | None:
    if b"p" not in fields:
        return None
    return OutboxPublication(LogPosition(fields[b"p"].decode(), int(fields[b"o"])))
