"""The catalogue of messy inputs M01 to M44: what each is and where the page shows it.

docs/simulated-page.md describes each in full; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Where(StrEnum):
    """What carries a messy input."""

    MESSAGE = "message"  # a valid message of the corpus
    ROW = "row"  # a row that cannot be a message: an anomaly
    CONVERSATION = "conversation"  # a conversation or its contact
    SURFACE = "surface"  # the way in which a surface answers, for every message
    LIVE = "live"  # something that happens while the page is open
    SWITCH = "switch"  # breaks completeness by its nature: off until a test asks


@dataclass(frozen=True, slots=True)
class MessyInput:
    """One messy input: its code, what it is, and what carries it."""

    code: str
    title: str
    where: Where


_M, _R, _C = Where.MESSAGE, Where.ROW, Where.CONVERSATION
_S, _L, _W = Where.SURFACE, Where.LIVE, Where.SWITCH
_ALL = (
    ("M01", "message without messageId: another id field, or none at all", _M),
    ("M02", "the same id as number, string and .PNM string", _S),
    ("M03", "conversation id without @icbu, without #…, reversed", _S),
    ("M04", "the same message on two pages, in history and live", _S),
    ("M05", "many messages in one millisecond at a page edge", _M),
    ("M06", "a page repeats the same oldest time for ever", _W),
    ("M07", "pages newest first, oldest first, or unsorted", _S),
    ("M08", 'code "200" and 200, list keys, empty page with hasMore', _S),
    ("M09", "content as string, JSON string, object, empty, missing", _M),
    ("M10", "HTML breaks, entities and emoji images in a text", _M),
    ("M11", "zero-width, bidirectional, NBSP, NUL, lone surrogate", _M),
    ("M12", "non-Latin text, emoji, mojibake", _M),
    ("M13", "one- and two-character messages", _M),
    ("M14", "very long text, 10 to 60 kB", _M),
    ("M15", "image or file without any text", _M),
    ("M16", "sizes as strings, a file name without ending", _M),
    ("M17", "card without a body, unknown cardType", _M),
    ("M18", "JSON in a JSON string, base64 JSON in card params", _M),
    ("M19", "extension as object, string or malformed", _M),
    ("M20", "system notices", _M),
    ("M21", "automatic replies on the seller's side", _M),
    ("M22", "recalled message", _M),
    ("M23", "edited message: the same id, other content later", _M),
    ("M24", "the read flag flips later", _S),
    ("M25", "quote of a message that is not there, object or string", _M),
    ("M26", "times as seconds, digit string, ISO", _M),
    ("M27", "clock skew, showTime is not sendTime", _M),
    ("M28", "missing or invalid time", _R),
    ("M29", "sender missing, or spelled in other ways", _R),
    ("M30", "outbound row without a receiver", _M),
    ("M31", "a sub-account's own id on the seller's side", _C),
    ("M32", "encrypted ids rotate, two contacts share a name", _C),
    ("M33", "placeholder company names, hidden and null metrics", _C),
    ("M34", "invisible, muted, blocked, group, incomplete rows", _C),
    ("M35", "the conversation list moves while it is paged", _S),
    ("M36", "rows of another conversation, or no row at all", _R),
    ("M37", "attachment whose parent message is not there", _M),
    ("M38", "signed and protocol-relative addresses", _M),
    ("M39", "secrets inside texts and cards", _M),
    ("M40", "personal data in address and business cards", _M),
    ("M41", "noise on the event bus, null, number and string payloads", _S),
    ("M42", "own echo before the send promise, no id in it", _L),
    ("M43", "the same text sent twice on purpose", _M),
    ("M44", "text that imitates a tool's own marks", _M),
)

CATALOGUE: dict[str, MessyInput] = {row[0]: MessyInput(*row) for row in _ALL}
ALL_CODES: frozenset[str] = frozenset(CATALOGUE)
DEFAULT_CODES: frozenset[str] = frozenset(
    code for code, entry in CATALOGUE.items() if entry.where is not Where.SWITCH
)
