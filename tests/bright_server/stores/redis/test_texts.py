"""Texts and numbers that Redis, or one of its scripts, would stumble over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bright_server.commit.groups import ClaimProven
from bright_server.commit.records import (
    CommitIntent,
    HistoryQuery,
    ReserveCandidate,
)
from bright_server.errors import StoreUnavailable
from bright_server.messages import BindingId, ConversationKey, Grant
from bright_server.settings import Settings
from bright_server.stores.observed_commits import request_of
from bright_server.stores.redis.dump import dump
from bright_server.stores.redis.store import RedisBackend, opened
from tests.bright_server.frames import ACCOUNT
from tests.bright_server.manual_clock import ManualClock
from tests.bright_server.stores.redis.commits import DELIVERY, Everybody, published
from tests.bright_server.stores.sqlite.works import (
    KEY,
    batch,
    claim,
    observed,
    sequences,
)

HALF = "\ud800"
"""No text: half of a surrogate pair."""
NOWHERE = ConversationKey(ACCOUNT, HALF)
DOORS: dict[str, Callable[[RedisBackend], Awaitable[object]]] = {
    "history": lambda store: store.commits.history_page(
        HistoryQuery("anybody", NOWHERE, "newer", None, 1, 1)
    ),
    "messages": lambda store: store.messages.messages_after(NOWHERE, 0, 1),
    "lease": lambda store: store.commits.hold_lease(HALF, "holder", 1),
    "revoke": lambda store: store.bindings.revoke(BindingId(HALF), 1),
    "bindings": lambda store: store.bindings.by_ids([BindingId(HALF)]),
}


@pytest.mark.parametrize("door", DOORS)
async def test_ms_30_what_cannot_be_text_is_refused_at_every_door(
    door: str, settings: Settings, clock: ManualClock
) -> None:
    async with opened(settings, clock, Everybody()) as store:
        with pytest.raises(StoreUnavailable, match="text that cannot be kept"):
            await DOORS[door](store)


async def test_ms_30_what_cannot_be_sent_fails_nobody_that_it_travels_with(
    settings: Settings, clock: ManualClock
) -> None:
    """MS-30: commands of many callers go together."""
    async with opened(settings, clock) as store:
        one, two, three = await asyncio.gather(
            store.bindings.all(),
            store.bindings.revoke(BindingId(HALF), 1),
            store.bindings.all(),
            return_exceptions=True,
        )

    assert isinstance(two, StoreUnavailable)
    assert (one, three) == ([], [])


async def test_ot_50_a_time_from_before_1970_proves_an_anchor_too(
    store: RedisBackend, grant: Grant
) -> None:
    request = request_of(KEY, observed(1))
    message_id = request.key.client_message_id
    intent = await store.commits.reserve(
        request, DELIVERY, ReserveCandidate(message_id, -5)
    )
    assert isinstance(intent, CommitIntent)
    await store.commits.put_record(intent)
    publication = await published(store, intent)
    await store.commits.mark_published_and_committed(intent, publication)

    (outcome,) = await store.observations.commit_group([claim(grant, 1)])

    assert isinstance(outcome, ClaimProven)
    assert outcome.anchor.latest_message_id == message_id


@pytest.mark.parametrize(
    "name", ["{7}", "}{", "\n", "a\nb 1", "\x00", "😀" * 256, "x" * 256]
)
async def test_ms_20_a_name_that_looks_like_part_of_a_key_is_a_name(
    name: str, store: RedisBackend, grant: Grant, settings: Settings
) -> None:
    """MS-20: also of a message, and in a dump."""
    key = ConversationKey(ACCOUNT, name)
    work = batch(grant, observed(1, message_id=name), observed(2), key=key)

    (first,) = await store.observations.commit_group([work])
    (again,) = await store.observations.commit_group([work])

    assert sequences(first) == [(1, False), (2, False)]
    assert sequences(again) == [(1, True), (2, True)]
    told = [each async for each in dump(settings) if each["type"] == "message"]
    assert [(each["conversationId"], each["messageId"]) for each in told] == [
        (name, name),
        (name, observed(2).message_id),
    ]


async def test_a_dump_beside_a_server_that_writes_tells_what_comes_meanwhile(
    store: RedisBackend, grant: Grant, settings: Settings
) -> None:
    await store.observations.commit_group([batch(grant, observed(1))])
    told = []
    async for each in dump(settings):
        told.append(each)
        if each["type"] == "conversation":
            await store.observations.commit_group([batch(grant, observed(2))])

    assert [each["position"] for each in told if each["type"] == "message"] == [1, 2]


async def test_a_number_that_the_server_has_no_database_of_is_said(
    settings: Settings, clock: ManualClock
) -> None:
    there = str(settings.database).rpartition("/")[0]
    too_high = settings.model_copy(
        update={
            "database": Settings.model_validate(
                {"database": f"{there}/{2**31 - 1}"}
            ).database
        }
    )
    with pytest.raises(StoreUnavailable, match="no database of this number"):
        async with opened(too_high, clock):
            pass
