"""Cards as a page rendered them, into their ledger (background/cards.js, OT-90)."""

from __future__ import annotations

from extension_harness.model.ledger_writes import bounded, is_text, written_apart
from extension_harness.model.normal_form import MAX_ID, anomaly_record
from extension_harness.model.redaction import redact
from extension_harness.model.steps import Behaviour, Digest, Json, Value
from extension_harness.model.store import verb
from extension_harness.model.text import digest_of, utf16_length
from storage_schema.onetalk import record_cards
from storage_schema.onetalk.keys import candidate_key

_KINDS = ("inquiry", "product_card", "order_card", "quote_card", "address_card")
_MAX_CANDIDATE_KEY = 1024
_MAX_CARDS = 200
_MAX_TEXT = 500
_MAX_LINES = 20


def record_rendered_cards(account: str, entries: Value, at_ms: int) -> Behaviour[int]:
    """Records cards, the first content of each; gives how many are new.

    Raises:
        StoreError: `cards_not_recorded`, or what the whole store suffers from.
    """
    said = entries[:_MAX_CARDS] if isinstance(entries, list) else []
    write = _record(account, said, at_ms)
    what = f"{len(said)} cards"
    return (yield from written_apart("cards_not_recorded", what, write))


def _record(account: str, said: list[Value], at_ms: int) -> Behaviour[int]:
    by_conversation: dict[str, list[Json]] = {}
    for entry in filter(_is_card, said):
        card = _prepared(account, entry, at_ms)
        if utf16_length(card["candidateKey"]) <= _MAX_CANDIDATE_KEY:
            by_conversation.setdefault(entry["conversationId"], []).append(card)
    if by_conversation:
        yield Digest()
    added = 0
    for conversation, cards in by_conversation.items():
        batch = {
            "channelAccountId": account,
            "conversationId": conversation,
            "observedAtMs": at_ms,
            "cards": cards,
        }
        recorded: Json = yield from verb("recordCards", record_cards, batch)
        added += recorded["added"]
    return added


def _prepared(account: str, entry: Json, at_ms: int) -> Json:
    kind, message_id = entry["cardKind"], entry["messageId"]
    conversation = entry["conversationId"]
    content = _content_of(entry["content"])
    conflict = {
        "code": "card_conflict",
        "messageId": message_id,
        "observed": {"cardKind": kind, **content},
    }
    return {
        "messageId": message_id,
        "candidateKey": candidate_key(
            account, conversation, entry["sentAtMs"], message_id
        ),
        "cardKind": kind,
        "content": content,
        "digest": digest_of(content),
        "ifConflict": anomaly_record(
            conflict,
            account=account,
            conversation=conversation,
            surface="card",
            now_ms=at_ms,
        ),
    }


def _is_card(entry: Value) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("content"), dict):
        return False
    return (
        all(_is_id(entry.get(name)) for name in ("conversationId", "messageId"))
        and isinstance(entry.get("sentAtMs"), int)
        and 0 < entry["sentAtMs"] < 2**53
        and entry.get("cardKind") in _KINDS
        and is_text(entry["content"].get("title"))
    )


def _is_id(value: Value) -> bool:
    return is_text(value) and utf16_length(value) <= MAX_ID


def _content_of(said: Json) -> Json:
    lines = said.get("lines")
    texts = [each for each in lines if is_text(each)] if isinstance(lines, list) else []
    content: Json = redact(
        {
            "title": bounded(said["title"], _MAX_TEXT),
            "lines": [bounded(each, _MAX_TEXT) for each in texts[:_MAX_LINES]],
        }
    )
    return content
