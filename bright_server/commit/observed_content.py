"""What makes two observations of one scope equal: their canonical content. No I/O.

The scope is (account, conversation, message id) (OT-01). Inside it, the sender, the
direction, the time and what was said are compared; `raw`, the candidate's key and the
observing device are not. The same scope with other content is a conflict.
"""

from __future__ import annotations

from bright_server.messages import ObservedMessage
from bright_server.wire.text import canonical_json

CONTENT_FIELDS = (
    "senderId",
    "direction",
    "sentAtMs",
    "kind",
    "text",
    "content",
    "quote",
    "recall",
)


def is_same_content(one: ObservedMessage, other: ObservedMessage) -> bool:
    """Say whether two observations of one scope are the same fact."""
    return _content(one) == _content(other)


def canonical_content(message: ObservedMessage) -> bytes:
    """Return the bytes that are equal exactly when the contents are equal."""
    return canonical_json(_content(message)).encode()


def _content(message: ObservedMessage) -> tuple[str | int | None, ...]:
    # Structured parts are canonical JSON already, so equal parts are equal strings.
    return (
        message.sender_id,
        message.direction,
        message.sent_at_ms,
        message.kind,
        message.text,
        message.content,
        message.quote,
        message.recall,
    )
