"""The worker dies at any moment of an observation, and the page's observer goes on.

It asks again until it hears that the row is on disk; a worker that was stopped takes
the observation that wakes it at the first try; and whatever is on disk in between is a
state from which another life goes on.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from e2e.instrumented import instrumented
from e2e.proof import prove
from e2e.rigs import SHORT, running_rig, shorten_alarm
from e2e.workers import ObserverWorld
from extension_harness.armed_trap import ArmedTrap
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.rig import CANDIDATES, CHECKPOINTS, MESSAGES, Rig
from extension_harness.tab import Page
from extension_harness.traps import Trap
from extension_harness.waiting import wait_until
from extension_harness.worker import STOP_METHODS

# Holds back the success of every opening of the database for two seconds, without
# keeping the worker from anything else.
SLOW_OPEN = """
const open = IDBFactory.prototype.open;
IDBFactory.prototype.open = function (...given) {
  const request = open.apply(this, given);
  let handler = null;
  Object.defineProperty(request, "onsuccess", {
    get: () => handler,
    set: (given) => { handler = given; },
  });
  request.addEventListener("success", (event) => {
    setTimeout(() => handler?.call(request, event), 2000);
  });
  return request;
};
"""

Attempts = Callable[[], list[dict[str, str]]]


@pytest.fixture(scope="module")
def opened(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Rig, Page]]:
    """A rig whose worker opens its database slowly, synced and proven; and its page."""
    corpus = Corpus.generate(seed=31, conversations=3, messages=30)
    folder: Path = tmp_path_factory.mktemp("rig")
    extension = instrumented(folder, SLOW_OPEN)
    with running_rig(chromium, folder, corpus, extension=extension, **SHORT) as rig:
        shorten_alarm(rig)
        page = rig.open_page()
        prove(rig)
        yield rig, page


@pytest.fixture
def synced(opened: tuple[Rig, Page]) -> Rig:
    """The shared rig."""
    return opened[0]


@pytest.fixture(scope="module")
def attempts(opened: tuple[Rig, Page]) -> Attempts:
    """Every observation that the page's observer told so far, and what came of it."""
    rig, page = opened
    world = ObserverWorld(rig.browser, page)
    world.note_attempts()
    return world.attempts


def stored_ids(rig: Rig) -> set[str]:
    return {row["messageId"] for row in rig.extension_store().records(MESSAGES)}


def test_each_observation_that_wakes_the_worker_is_taken_at_the_first_try(
    synced: Rig, attempts: Attempts
) -> None:
    """Known bug 36: the listener is there before anything is awaited."""

    def answered(count: int) -> bool:
        found = attempts()
        return len(found) > count and all(each["outcome"] != "open" for each in found)

    for turn in range(8):
        synced.worker.stop(STOP_METHODS[turn % 2])
        before = len(attempts())
        synced.page.post_live(text=f"wakes it {turn}")
        wait_until(partial(answered, before), 40, "the observation to be answered")
    outcomes = [each["outcome"] for each in attempts()]
    assert set(outcomes) == {"stored"}, outcomes
    bodies = [each["body"] for each in attempts()]
    assert len(bodies) == len(set(bodies)), "an observation was sent twice"
    prove(synced)


@pytest.mark.parametrize(
    "trap",
    [
        pytest.param(Trap.transaction(MESSAGES), id="before-the-write"),
        pytest.param(Trap.committed(MESSAGES), id="written-and-not-answered"),
    ],
)
def test_an_observation_that_got_no_answer_is_made_again(
    synced: Rig, trap: Trap
) -> None:
    """OT-30, known bug 33: the observer retries, and the row is there exactly once."""
    with synced.worker.trap(trap) as armed:
        posted = synced.page.post_live(text="nobody answers")
        armed.wait(60)
    wait_until(
        lambda: posted.message_id in stored_ids(synced), 40, "the row", every=0.3
    )
    prove(synced)


def test_what_was_confirmed_to_the_page_is_on_disk(
    synced: Rig, attempts: Attempts
) -> None:
    """OT-30, known bug 60: observed and killed in one moment, fifteen times over."""
    choose = random.Random(60)  # noqa: S311 - no secret
    for turn in range(15):
        synced.worker.wait_running(60)
        synced.page.post_live(text=f"observed and killed {turn}")
        time.sleep(choose.uniform(0, 0.05))  # the instant is what is tried here
        synced.worker.stop(STOP_METHODS[turn % 2])
        confirmed = {
            row["messageId"]
            for each in attempts()
            if each["outcome"] == "stored"
            for row in json.loads(each["body"])["rows"]
            if isinstance(row.get("messageId"), str)
        }
        assert confirmed <= stored_ids(synced), "confirmed to the page and not on disk"
    prove(synced)


def test_a_retry_carries_the_first_key(synced: Rig) -> None:
    """OT-01, known bug 43: killed in mid-send eight times, the id stays the same."""
    lost = synced.proxy.swallow("observation.ack", count=8)
    posted = synced.page.post_live(text="sent again and again")

    def mine() -> list[Mapping[str, Any]]:
        return [
            message
            for frame in synced.proxy.seen("observation.batch")
            for message in (frame.body or {})["messages"]
            if message["messageId"] == posted.message_id
        ]

    def sent(times: int) -> bool:
        return len(mine()) >= times

    for turn in range(1, 9):
        wait_until(partial(sent, turn), 40, f"send {turn}")
        synced.worker.stop()
        synced.worker.wake()
    lost.drop()
    synced.proxy.clear()
    prove(synced)
    assert len({json.dumps(each, sort_keys=True) for each in mine()}) == 1
    assert len(mine()) >= 8


@pytest.mark.corpus(seed=32, conversations=6, messages=300)
def test_at_no_instant_does_a_checkpoint_name_what_is_not_stored(rig: Rig) -> None:
    """OT-43, OT-44, known bugs 32, 38: data first; what a kill leaves has no hole."""
    rig.configure(**SHORT, historyPageSize=6, maxBatchMessages=5)
    shorten_alarm(rig)
    seed = random.randrange(2**32)  # noqa: S311 - no secret
    rig.timeline.record("seed", value=seed)  # in the evidence of a failure
    choose = random.Random(seed)  # noqa: S311 - no secret
    points: list[Callable[[str], Trap]] = [Trap.written, Trap.committed, Trap.write]
    stores = [MESSAGES, CANDIDATES, CHECKPOINTS]
    rig.open_page()
    for _ in range(14):
        trap = choose.choice(points)(choose.choice(stores)).times(choose.randint(1, 4))
        with rig.worker.trap(trap) as armed:
            rig.page.switches.set(delay_ms=0)
            wait_until(partial(hit_or_complete, armed, rig), 60, f"{trap}", every=0.1)
            # A life between two traps must not read on to the end.
            rig.page.switches.set(delay_ms=3_000)
            if armed.hit is not None:
                armed.wait()  # until it is dead
        check_whole(rig)
        if complete(rig):
            break
    rig.page.switches.set(delay_ms=0)
    prove(rig)
    assert len(rig.timeline.events("trap.hit")) >= 6, "it was over before the kills"


def hit_or_complete(armed: ArmedTrap, rig: Rig) -> bool:
    return armed.hit is not None or complete(rig)


def complete(rig: Rig) -> bool:
    store = rig.extension_store()
    if not store.present:
        return False
    rows = store.records(CHECKPOINTS)
    return len(rows) > 0 and all(row["phase"] == "completed" for row in rows)


def check_whole(rig: Rig) -> None:
    """Hold candidates against messages, and checkpoints against what they stand for.

    A checkpoint says how far back the page's history was read: all that the page has
    since then must be on disk. The stores are read in the order of their names, so that
    one that goes on meanwhile has the messages of its checkpoints, and more.
    """
    store = rig.extension_store()
    if not store.present:
        return
    candidates = {row["messageId"]: row["status"] for row in store.records(CANDIDATES)}
    messages = {row["messageId"] for row in store.records(MESSAGES)}
    assert candidates.keys() <= messages, "a candidate without its message"
    for row in store.records(CHECKPOINTS):
        for name in ("latestMessageId", "anchorMessageId"):
            if row[name] is not None:
                assert row[name] in messages, f"{name} of {row} is not stored"
        since = 0 if row["historyComplete"] else row["nextTimeStamp"]
        if since is None:
            continue
        read = {
            each.message_id
            for each in rig.page.ledger.expected()
            if each.conversation_id == row["conversationId"] and each.sent_at_ms > since
        }
        assert read <= messages, f"a hole above {row}: {read - messages}"
