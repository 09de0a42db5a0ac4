"""The canonical truth of the page: what each conversation and message really is.

The dialects spell these records for the surfaces, `normal` writes them down for the
ledger; neither reads what the other makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DEFAULT_SUFFIX = "#11011"


class Fault(StrEnum):
    """Why a row of the page is no valid message; the value is the anomaly's code."""

    NOT_AN_OBJECT = "not_an_object"
    NO_ID = "missing_message_id"
    BAD_ID = "invalid_id"
    NO_CONVERSATION = "missing_conversation_id"
    FOREIGN = "foreign_conversation"
    NO_SENDER = "missing_sender_id"
    BAD_TIME = "invalid_sent_at"


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of the account, as the page knows it.

    `seller_id` is the account's own id or that of a sub-account; `seller_first` says on
    which side of the page's `cid` it stands.
    """

    number: int
    conversation_id: str
    seller_id: str
    buyer_id: str
    seller_first: bool
    suffix: str
    name: str
    company: str
    login_id: str
    account_id: str
    country: str
    level: str
    unread: int = 0
    visible: bool = True
    muted: bool = False
    blocked: bool = False
    group: bool = False
    complete_ids: bool = True
    codes: frozenset[str] = frozenset()

    @property
    def page_cid(self) -> str:
        """The id as the page writes it most of the time: either side may come first."""
        pair = (self.seller_id, self.buyer_id)
        first, second = pair if self.seller_first else pair[::-1]
        return f"{first}-{second}{self.suffix}@icbu"


@dataclass(frozen=True, slots=True)
class Quote:
    """What a message quotes; the page need not serve the quoted message."""

    message_id: str
    text: str | None
    as_string: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One row of a conversation: a message, or a row that cannot be one (`fault`).

    `text` is the page's own plain string, secrets and lone surrogates included; `body`
    is the JSON text of any other content, or what the page has in its place. Times are
    milliseconds; `position_ms` is where the row stands in the history, also for a row
    whose own time cannot be read.
    """

    conversation_id: str
    number: int
    position_ms: int
    sender_id: str
    outbound: bool
    kind: str
    page_type: int
    text: str | None = None
    body: str | None = None
    quote: Quote | None = None
    recalled: bool = False
    edited_text: str | None = None
    fault: Fault | None = None
    fault_variant: int = 0
    time_spelling: str = "ms"
    id_field: str = "messageId"
    content_spelling: str = "string"
    lacks_receiver: bool = False
    auto_reply: bool = False
    show_time_offset_ms: int = 0
    live: bool = False
    codes: frozenset[str] = frozenset()

    @property
    def message_id(self) -> str:
        """The id in the normal form: digits; of a recall, digits and `:recall`."""
        return f"{self.number}:recall" if self.recalled else str(self.number)


def normal_conversation_id(first: str, second: str, suffix: str) -> str:
    """Return the normal form: ids ascending as numbers, suffix and `@icbu` present."""
    low, high = sorted((first, second), key=int)
    return f"{low}-{high}{suffix or DEFAULT_SUFFIX}@icbu"
