"""What `bright store dump` tells is the same of every store, whatever lies underneath.

So whoever looks for broken promises in a dump need not know whose it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, TypeAlias

import pytest

from bright_server import backends
from bright_server.settings import Settings
from bright_server.wire.text import canonical_json
from tests.bright_server.databases.conftest import Places
from tests.bright_server.databases.filling import OPEN, PUBLISHED, fill
from tests.bright_server.manual_clock import ManualClock

Rows: TypeAlias = dict[str, list[dict[str, Any]]]

STORES = ["sqlite", "postgresql", "redis"]
# What a store gives by itself: its own name, places in its own log.
OF_ITS_OWN = {
    "storeId", "schemaVersion", "bindingId", "position", "partition", "logPartition",
    "logOffset",
}  # fmt: skip
DONE = {"first", "second", "1000"}
SCOPE = ("channelAccountId", "conversationId", "messageId")


async def dumped(settings: Settings) -> Rows:
    rows: Rows = defaultdict(list)
    async for record in backends.dump(settings):
        rows[str(record["type"])].append(record)
    return rows


def same_everywhere(records: Iterable[dict[str, Any]]) -> list[str]:
    """The records of a kind without what is a store's own, in an order of their own.

    Whether there is such a thing is the same everywhere.
    """
    return sorted(
        canonical_json(
            {
                name: value is not None if name in OF_ITS_OWN else value
                for name, value in record.items()
                # Only a log of several parts says which one.
                if name != "partition"
            }
        )
        for record in records
    )


def scope_of(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(record[name] for name in SCOPE)


@pytest.mark.parametrize("kind", STORES[1:])
async def test_the_same_work_is_dumped_alike_kind_by_kind(
    kind: str, places: Places, clock: ManualClock
) -> None:
    one, two = places(STORES[0]), places(kind)
    for settings in (one, two):
        await fill(settings, clock)

    expected, found = await dumped(one), await dumped(two)

    assert found.keys() == expected.keys()
    assert {"commit", "messageDetail", "conflict", "cardConflict"} <= found.keys()
    for each, records in expected.items():
        assert same_everywhere(found[each]) == same_everywhere(records), each


@pytest.mark.parametrize("kind", STORES)
async def test_ms_14_a_dump_tells_how_far_each_commit_is_and_where_the_log_has_it(
    kind: str, places: Places, clock: ManualClock
) -> None:
    """MS-14: recorded is in history and not in the log; reserved is in neither."""
    settings = places(kind)
    await fill(settings, clock)

    rows = await dumped(settings)

    commits = {each["clientMessageId"]: each for each in rows["commit"]}
    assert {name: each["state"] for name, each in commits.items()} == {
        **dict.fromkeys(DONE, "COMMITTED"),
        **{name: state.name for name, state in OPEN.items()},
        PUBLISHED: "RECORDED",
    }
    logged = {scope_of(each): each["position"] for each in rows["outbox"]}
    stored = {scope_of(each): each for each in rows["message"]}
    assert len(logged) == len(rows["outbox"])
    assert len(stored) == len(rows["message"])
    for name, each in commits.items():
        is_told = name in DONE or name == "outboxed"
        assert each["logOffset"] == (logged[scope_of(each)] if is_told else None), name
        assert (scope_of(each) in stored) == (name != "reserved")
    for scope, message in stored.items():
        assert message["position"] == logged.get(scope)
    assert {scope for scope in stored if scope not in logged} == {
        scope_of(commits["recorded"])
    }
    numbers = [
        each["sequence"]
        for each in (*stored.values(), commits["reserved"])
        if each["conversationId"] == commits["reserved"]["conversationId"]
    ]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("kind", STORES)
async def test_only_what_a_group_cannot_say_is_a_detail(
    kind: str, places: Places, clock: ManualClock
) -> None:
    settings = places(kind)
    await fill(settings, clock)

    rows = await dumped(settings)

    sent = {
        scope_of(each): each["clientMessageId"]
        for each in rows["commit"]
        if each["origin"] == "sent" and each["state"] != "RESERVED"
    }
    details = {sent[scope_of(each)]: each for each in rows["messageDetail"]}
    assert len(details) == len(rows["messageDetail"]) == len(sent)
    assert details["first"]["mentions"] == ["a", "b"]
    assert details["first"]["replyTo"] == "0001"
    assert details["recorded"]["mentions"] == ["buyer-1"]
