"""What makes two observations of one scope equal: their canonical content. No I/O.

The scope is (account, conversation, message id) (OT-01). Inside it, the sender, the
direction, the time and what was said are compared; `raw`, the candidate's key and the
observing device are not. The same scope with other content is a conflict.
"""

from __future__ import annotations

from bright_server.messages import ObservedMessage
from bright_server.wire.codec import canonical_json

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


def canonical_content(message: ObservedMessage) -> bytes:
    """Return the bytes that are equal exactly when the contents are equal."""
    values = (
        message.sender_id,
        message.direction,
        message.sent_at_ms,
        message.kind,
        message.text,
        message.content,
        message.quote,
        message.recall,
    )
    return canonical_json(values).encode()
