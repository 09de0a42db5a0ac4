"""Messages as they are shown: a contact's card is filled in when it is read. No I/O.

A stored `business_card` is a marker alone, and messages never wait for profiles. The
contact's current profile comes in here, at read time, by account and conversation
(OT-86). What is stored is left as it is.
"""

from __future__ import annotations

from typing import Final

from bright_server.commit.reading import MessageReader
from bright_server.messages import (
    ContactProfile,
    ConversationKey,
    Grant,
    StoredMessage,
)
from bright_server.wire.text import parse_json

BUSINESS_CARD: Final = "business_card"
MARKER: Final = {"version": 1, "kind": BUSINESS_CARD}
"""What a message says of a business card, all of it."""


async def message_views(
    reader: MessageReader,
    grant: Grant,
    conversation: ConversationKey,
    after_sequence: int,
    limit: int,
) -> list[dict[str, object]] | None:
    """Return messages as they are shown; None for an account out of the grant's scope.

    Raises:
        StoreUnavailable: they could not be read.
    """
    if conversation.channel_account_id not in grant.accounts:
        return None
    found, profile = await reader.messages_after(conversation, after_sequence, limit)
    return [message_view(each, profile) for each in found]


def message_view(
    stored: StoredMessage, profile: ContactProfile | None
) -> dict[str, object]:
    """Return a message as it is shown, with its contact's current profile.

    `profile` is that of the message's own conversation. A business card without one
    stays a marker; the signed-in user's own profile is never shown as a contact's
    (OT-86).
    """
    message, key = stored.message, stored.conversation
    content = None if message.content is None else parse_json(message.content)
    if message.kind == BUSINESS_CARD:
        content = _business_card(key, profile)
    view: dict[str, object] = {
        "channelAccountId": key.channel_account_id,
        "conversationId": key.conversation_id,
        "messageId": message.message_id,
        "sequence": stored.sequence,
        "senderId": message.sender_id,
        "direction": message.direction,
        "sentAtMs": message.sent_at_ms,
        "kind": message.kind,
        "text": message.text,
        "content": content,
        "quote": None if message.quote is None else parse_json(message.quote),
        "recall": None if message.recall is None else parse_json(message.recall),
    }
    return {name: value for name, value in view.items() if value is not None}


def _business_card(
    key: ConversationKey, profile: ContactProfile | None
) -> dict[str, object]:
    # Whoever is signed in is the account itself.
    if profile is None or profile.ali_id == key.channel_account_id:
        return {**MARKER}
    return {
        **MARKER,
        "contactProfile": {
            "aliId": profile.ali_id,
            "observedAtMs": profile.observed_at_ms,
            "profile": parse_json(profile.profile),
        },
    }
