"""`GET /v1/pages` as text: the open pages, and what is wrong with each. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from bright_server.wire.text import compact_json
from bright_server.wire.troubles import KnownTrouble

MAX_SHOWN: Final = 1_000
OTHER: Final = "other"
_KNOWN: Final = frozenset(get_args(KnownTrouble))


@dataclass(frozen=True, slots=True)
class TroubleFacts:
    """One thing that is wrong with a page, and since when by the server's clock."""

    code: str
    since_ms: int


@dataclass(frozen=True, slots=True)
class PageFacts:
    """A page, behind whose connection it is, and what is wrong with it."""

    page_id: str
    channel_account_id: str | None
    """None: nobody knows whose page it is."""

    binding_id: str
    device_id: str
    connection_id: str
    told_at_ms: int
    troubles: Sequence[TroubleFacts]


def pages_text(pages: Sequence[PageFacts]) -> str:
    """Return the body: those in trouble first, the longest troubled before them all.

    At most `MAX_SHOWN` pages; `total` says how many there are.
    """
    shown = sorted(pages, key=_order)[:MAX_SHOWN]
    return compact_json({"total": len(pages), "pages": [_row(page) for page in shown]})


def count_troubles(pages: Iterable[PageFacts]) -> Mapping[str, int]:
    """Return how many pages have each trouble; unknown words are counted as one."""
    found = Counter(
        code if code in _KNOWN else OTHER
        for page in pages
        for code in {each.code for each in page.troubles}
    )
    return {code: found.get(code, 0) for code in (*sorted(_KNOWN), OTHER)}


def _order(page: PageFacts) -> tuple[bool, int, str]:
    since_ms = min((each.since_ms for each in page.troubles), default=page.told_at_ms)
    return not page.troubles, since_ms, page.page_id


def _row(page: PageFacts) -> dict[str, object]:
    return {
        "pageId": page.page_id,
        "channelAccountId": page.channel_account_id,
        "bindingId": page.binding_id,
        "deviceId": page.device_id,
        "connectionId": page.connection_id,
        "toldAtMs": page.told_at_ms,
        "troubles": [
            {"code": each.code, "sinceMs": each.since_ms} for each in page.troubles
        ],
    }
