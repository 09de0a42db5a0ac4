"""Messages as members of a conversation's history. No I/O.

A member is four numbers (sequence, when it was sent, received and committed), and what
it says: of a message that a group has committed its canonical content, which scripts
compare, its raw form and its id, a line each; of a single commit its whole record.
"""

from __future__ import annotations

from typing import Final, cast

from bright_server.commit.encoding import decode_record, encode_record
from bright_server.commit.observed_content import canonical_content
from bright_server.commit.records import HistoryItem, MessageRecord
from bright_server.errors import CommitUnreadable
from bright_server.messages import ConversationKey, ObservedMessage, StoredMessage
from bright_server.stores.observed_commits import observed_of, record_of_observed
from bright_server.wire.text import parse_json

# Scripts count in doubles; beyond this they could not tell two numbers apart.
LARGEST_NUMBER: Final = 2**53


def exact(number: int) -> int:
    """Return a number that scripts can compare.

    Raises:
        OverflowError: it is too large.
    """
    if not -LARGEST_NUMBER <= number <= LARGEST_NUMBER:
        raise OverflowError(f"the number {number} is too large to be kept")
    return number


def of_batch(message: ObservedMessage) -> tuple[str, int, bytes, str]:
    """Return an observed message as the script `batch` takes it.

    Raises:
        OverflowError: its time is no time.
        UnicodeEncodeError: a text cannot be kept.
    """
    sent = exact(message.sent_at_ms)
    return message.message_id, sent, canonical_content(message), message.raw or ""


def of_record(record: MessageRecord) -> bytes:
    """Return a record as the script `record` takes it: a member but its sequence."""
    sent = observed_of(record).sent_at_ms
    made = record.created_at_ms
    return f"{sent} {made} {made} ".encode() + encode_record(record)


def observed_said(said: bytes, sent_at_ms: int) -> ObservedMessage:
    """Return an observed message from what its member says.

    Raises:
        CommitUnreadable: it is no member's.
    """
    try:
        content, raw, message_id = said.decode().split("\n", 2)
        sender, direction, _, kind, *parts = cast("list[str]", parse_json(content))
        text, structured, quote, recall = parts
    except ValueError as error:
        raise CommitUnreadable("a message of history", str(error)) from error
    return ObservedMessage(
        message_id, sender, direction, sent_at_ms, kind, text, structured, quote,
        recall, raw or None,
    )  # fmt: skip


class Member:
    """A member, read as far as it is asked for."""

    def __init__(self, conversation: ConversationKey, kept: bytes) -> None:
        *numbers, self._said = kept.split(b" ", 4)
        self._conversation = conversation
        self.sequence, self.sent_at_ms, self.received_at_ms, self.committed_at_ms = map(
            int, numbers
        )

    @property
    def is_of_a_group(self) -> bool:
        """Say whether a group has committed it."""
        return self._said.startswith(b"[")

    @property
    def record(self) -> MessageRecord:
        """Return it as a record.

        Raises:
            CommitUnreadable: it cannot be read.
        """
        if not self.is_of_a_group:
            return decode_record(self._said)
        return record_of_observed(
            self._conversation,
            observed_said(self._said, self.sent_at_ms),
            self.received_at_ms,
        )

    @property
    def item(self) -> HistoryItem:
        """Return it as an item of a page."""
        return HistoryItem(self.sequence, self.record)

    @property
    def stored(self) -> StoredMessage:
        """Return it as readers of observed messages know messages."""
        if self.is_of_a_group:
            message = observed_said(self._said, self.sent_at_ms)
        else:
            message = observed_of(decode_record(self._said))
        return StoredMessage(self._conversation, self.sequence, message)
