"""Observed messages as commits: one message, whichever way it came in. No I/O.

A page's messages are committed in groups, without an intent for each. These say what
such a message would have been as a single commit, and the other way round, so that
both ways see one another (OT-01, MS-12).
"""

from __future__ import annotations

from bright_server.commit.records import (
    AuthenticatedSend,
    CommitKey,
    MessageContent,
    MessageRecord,
)
from bright_server.messages import ConversationKey, ObservedMessage


def observed_key(conversation: ConversationKey, message_id: str) -> CommitKey:
    """Return the key of an observation: its scope."""
    return CommitKey(
        "observed",
        conversation.channel_account_id,
        conversation.conversation_id,
        message_id,
    )


def request_of(
    conversation: ConversationKey, message: ObservedMessage
) -> AuthenticatedSend:
    """Return the request that an observed message stands for; `raw` is no part."""
    return AuthenticatedSend(
        observed_key(conversation, message.message_id),
        conversation,
        _content(message),
    )


def record_of_observed(
    conversation: ConversationKey, message: ObservedMessage, received_at_ms: int
) -> MessageRecord:
    """Return the record of a message that a group has committed."""
    return MessageRecord(
        message_id=message.message_id,
        conversation=conversation,
        content=_content(message),
        mentions=(),
        reply_to=None,
        created_at_ms=received_at_ms,
        history_expires_at_ms=None,
        raw=message.raw,
    )


def observed_of(record: MessageRecord) -> ObservedMessage:
    """Return a record as readers of observed messages know messages.

    One that was sent counts as sent when the server made it.
    """
    said = record.content
    sent_at_ms = record.created_at_ms if said.sent_at_ms is None else said.sent_at_ms
    return ObservedMessage(
        record.message_id,
        said.author_id,
        said.direction,
        sent_at_ms,
        said.kind,
        said.text,
        said.content,
        said.quote,
        said.recall,
        record.raw,
    )


def _content(message: ObservedMessage) -> MessageContent:
    return MessageContent(
        author_id=message.sender_id,
        direction=message.direction,
        kind=message.kind,
        text=message.text,
        content=message.content,
        quote=message.quote,
        recall=message.recall,
        sent_at_ms=message.sent_at_ms,
    )
