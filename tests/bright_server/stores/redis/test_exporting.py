"""A large store is read in pages that are no larger than was asked for."""

from __future__ import annotations

from itertools import pairwise

from bright_server.commit.groups import RenderedCards, Work
from bright_server.commit.transfer import COPIED_KINDS, StoreExport
from bright_server.messages import ConversationKey, Grant, RenderedCard
from bright_server.settings import Settings
from bright_server.stores.redis.store import RedisBackend
from bright_server.stores.redis.transfer import exporting
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.redis.commits import committed
from tests.bright_server.stores.sqlite.works import batch, observed

LIMIT = 6
CONVERSATIONS = 30


async def sizes(export: StoreExport, kind: str) -> list[int]:
    found = []
    cursor: str | None = None
    while True:
        page = await export.page(kind, cursor, LIMIT)
        found.append(len(page.records))
        cursor = page.cursor
        if cursor is None:
            return found


async def test_pages_are_bounded_and_not_one_for_each_shard(
    store: RedisBackend, grant: Grant, settings: Settings, clock: ManualClock
) -> None:
    keys = [ConversationKey(ACCOUNT, f"c{n}") for n in range(CONVERSATIONS)]
    cards = [RenderedCard(f"{n}", "order", "{}") for n in range(4)]
    others = [card._replace(content="[]") for card in cards]
    many = [RenderedCard(f"{n}", "order", "{}") for n in range(4, 4 + LIMIT)]
    works: list[Work] = [
        *(batch(grant, observed(1), observed(2), key=key) for key in keys),
        *(batch(grant, observed(1, "otherwise"), key=key) for key in keys),
        *(RenderedCards(grant, key, cards) for key in keys),
        *(RenderedCards(grant, key, others) for key in keys),
        RenderedCards(grant, keys[0], many),
    ]
    await store.observations.commit_group(works)
    for number in range(20):
        await committed(store, number)

    async with exporting(settings, clock) as export:
        pages = {kind: await sizes(export, kind) for kind in COPIED_KINDS}

    assert {kind: sum(pages[kind]) for kind in pages} == {
        "bindings": 1,
        "conversations": CONVERSATIONS + 1,
        "log": 2 * CONVERSATIONS + 20,
        "commits": 20,
        "conflicts": CONVERSATIONS,
        "anchors": 0,
        "profiles": 0,
        "cards": 4 * CONVERSATIONS + LIMIT,
        "card conflicts": 4 * CONVERSATIONS,
        "facts": 0,
    }
    # What one conversation has is not torn; all else is bounded.
    assert sorted(pages["cards"])[-1] == 4 + LIMIT
    assert sum(size > LIMIT for kind in pages for size in pages[kind]) == 1
    # What there is none of takes one page.
    assert pages["anchors"] == [0]
    for kind in ("conversations", "conflicts", "log", "commits"):
        assert all(one == LIMIT for one, _ in pairwise(pages[kind])), (kind, pages)
