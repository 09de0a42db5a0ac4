"""What the page shows beside its messages, and what a store must know of it.

Cards as the page draws them, and facts about buyers. Written down from the truth,
beside the dialects that spell it for the page's scripts.
"""

from __future__ import annotations

from dataclasses import dataclass

from extension_harness.page.normal import clean_text
from extension_harness.page.truth import Conversation, Message

_TITLES = {
    "inquiry": "Inquiry",
    "product_card": "Product",
    "order_card": "Trade Assurance order",
    "quote_card": "Quotation",
    "address_card": "Delivery address",
}
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class LedgerCard:
    """One card that the page drew: its message, its kind and its texts."""

    conversation_id: str
    message_id: str
    card_kind: str
    title: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, row: Message) -> LedgerCard | None:
        """Return the card of a row; None: the page draws none for it."""
        title = _TITLES.get(row.kind)
        if title is None or row.fault is not None or row.recalled:
            return None
        return cls(
            conversation_id=row.conversation_id,
            message_id=row.message_id,
            card_kind=row.kind,
            title=f"{title} {row.number % 100_000}",
            lines=(
                f"US${row.number % 900}.50 · MOQ {row.number % 40 + 1}",
                f"https://www.alibaba.com/card?id={row.number}&sign=ABCDEF0123",
            ),
        )

    def content(self) -> dict[str, object]:
        """Return what is to be stored: without the page's secrets."""
        return {"title": self.title, "lines": [clean_text(line) for line in self.lines]}


def buyer_facts(chat: Conversation) -> dict[str, object]:
    """Return what the customer card says of a buyer: hidden and absent counts left out.

    How to reach the buyer is no part of it.
    """
    facts: dict[str, object] = {
        "country": chat.country,
        "level": chat.level,
        "registeredAtMs": (1_600_000_000 + chat.number * _DAY_S) * 1_000,
        "industries": ["Hardware"],
        "validInquiryCount": chat.number % 9,
        "orderCount": chat.number % 5,
    }
    if chat.number % 4:
        facts["productViewCount"] = chat.number
    if chat.number % 3:
        facts["loginDays"] = chat.number % 90
    return facts
