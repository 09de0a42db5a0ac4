"""What a store must know of a conversation's contact, in the profile's form.

Written down from the truth, beside the dialects that spell it for the lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import unescape

from extension_harness.page.truth import Conversation
from extension_harness.page.words import JUNK_COMPANIES

_PORTRAITS = "https://sc04.alicdn.com/kf"


@dataclass(frozen=True, slots=True)
class LedgerProfile:
    """The contact of one conversation; fields that it does not have are None."""

    conversation_id: str
    ali_id: str
    name: str
    company_name: str | None
    login_id: str
    country: str
    level: str
    portrait: str

    @classmethod
    def of(cls, chat: Conversation) -> LedgerProfile:
        """Return what the page's lists say: in plain text, placeholders left out."""
        junk = chat.company in JUNK_COMPANIES
        return cls(
            conversation_id=chat.conversation_id,
            ali_id=chat.buyer_id,
            name=unescape(chat.name).strip(),
            company_name=None if junk else unescape(chat.company).strip(),
            login_id=chat.login_id,
            country=chat.country,
            level=chat.level,
            portrait=f"{_PORTRAITS}/portrait-{chat.number % 12}.svg",
        )

    def profile(self) -> dict[str, str]:
        """Return the fields under the wire's names, absent ones left out."""
        named = {
            "name": self.name,
            "companyName": self.company_name,
            "loginId": self.login_id,
            "country": self.country,
            "level": self.level,
            "portrait": self.portrait,
        }
        return {key: value for key, value in named.items() if value is not None}
