"""What a page missed while it was away is older than what it shows then (OT-43)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from extension_harness.model.events import Event, PageGone, PageHello, PageTroubles
from extension_harness.model.truth import Truth
from storage_schema.onetalk.names import CHECKPOINTS
from tests.extension_harness.model.lives import ACCOUNT, Life, new_disk, observed
from tests.extension_harness.model.test_claims import answer_page

GREETING = {"channelAccountId": ACCOUNT, "route": "message", "lost": []}
ELSEWHERE = {**GREETING, "route": "another"}
OTHERS = {**GREETING, "channelAccountId": "2500000000009"}


def troubled(*words: str) -> PageTroubles:
    body = {"channelAccountId": ACCOUNT, "troubles": list(words)}
    return PageTroubles(0, 1, "page-1", body)


def hello(body: Mapping[str, object]) -> PageHello:
    return PageHello(0, 1, "page-1", body)


@pytest.mark.parametrize(
    ("meanwhile", "is_behind"),
    [
        ([PageGone(0, 1, "page-1"), hello(GREETING)], True),
        ([PageGone(0, 1, "page-1")], True),
        ([hello(OTHERS), hello(GREETING)], True),
        ([troubled("disconnected"), troubled()], True),
        ([troubled("page_busy"), troubled()], False),
        ([hello(ELSEWHERE)], False),
    ],
    ids=["cached", "unheard", "another account's", "blind", "busy", "elsewhere"],
)
def test_a_page_that_may_have_missed_something_hides_nothing_older(
    meanwhile: list[Event], *, is_behind: bool
) -> None:
    """OT-43, P3, P8: a conversation that it shows is walked again, from its newest."""
    disk = new_disk()
    life = Life(disk)
    life.welcome()
    while not life.sent("observation.batch"):
        answer_page(life)
    for event in meanwhile:
        life.wake(event)
        life.run()
    life.wake(observed(Truth(ACCOUNT)))
    life.run()

    [checkpoint] = disk.records(CHECKPOINTS)
    assert (checkpoint.get("isBehind") is True) == is_behind
