"""Idle death is real here: no debugger is attached, so Chromium ends the worker itself.

Both idle workers die in the same half minute, and the outage of three minutes goes on
while other tests run; the last one here ends it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from e2e.outage import BACKLOG, Outage
from e2e.proof import open_and_prove, progress, prove
from e2e.rigs import SHORT, running_rig, shorten_alarm
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.rig import Rig
from extension_harness.waiting import countdown, wait_until

OUTAGE_SECONDS = 180.0
ALARM_PERIOD_SECONDS = 30.0
DEATH_SECONDS = 150.0
"""An idle life of 30 s, after a last alarm, on a machine that may be busy."""
QUICK_TO_REST = {**SHORT, "idleGraceMs": 500}

pytestmark = pytest.mark.usefixtures("outage")


@dataclass(frozen=True)
class AtRest:
    """Two systems whose sync is over and proven, and whose workers begin to idle."""

    page_open: Rig
    page_closed: Rig


@pytest.fixture(scope="module")
def at_rest(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AtRest]:
    folder = tmp_path_factory.mktemp
    closed = Corpus.generate(seed=13, conversations=3, messages=30)
    watched = Corpus.generate(seed=12, conversations=3, messages=30)
    with (
        running_rig(chromium, folder("closed"), closed, **QUICK_TO_REST) as page_closed,
        running_rig(
            chromium,
            folder("open"),
            watched,
            **QUICK_TO_REST,
            connectWhilePageOpen=False,
        ) as page_open,
    ):
        page = open_and_prove(page_closed)
        open_and_prove(page_open)
        shorten_alarm(page_closed)  # it is what notices that the page is gone
        page.close()
        yield AtRest(page_open, page_closed)


def test_an_idle_worker_dies_and_the_next_observation_wakes_it(at_rest: AtRest) -> None:
    """OT-61, known bugs 4, 10: nothing is kept alive for its own sake."""
    rig = at_rest.page_open
    before = boots(rig)
    rig.worker.wait_idle_death(DEATH_SECONDS)
    wait_until(lambda: rig.proxy.open_connections == 0, 20, "the connection's end")

    said = rig.page.post_live(text="said to a dead worker")

    prove(rig, 20)  # sooner than an alarm would bring it
    assert len(boots(rig)) == len(before) + 1, "one observation, one new life"
    assert said.message_id in {row["messageId"] for row in rig.server.dump().messages}


def test_the_connection_ends_with_the_last_page_and_the_worker_dies(
    at_rest: AtRest,
) -> None:
    """OT-61: a page opened later is a new beginning, and its messages arrive."""
    rig = at_rest.page_closed
    wait_until(
        lambda: rig.proxy.open_connections == 0,
        2 * ALARM_PERIOD_SECONDS,
        "the connection to close after its last page",
        every=0.25,
    )
    rig.worker.wait_idle_death(DEATH_SECONDS)

    rig.open_page()
    rig.page.post_live(text="said in a new page")

    prove(rig, 20)  # sooner than an alarm would bring it


def test_the_backlog_of_three_minutes_arrives_by_itself(outage: Outage) -> None:
    """Known bugs 18, 22: no page, no person; the alarm alone finds Bright and all."""
    rig = outage.rig
    left = countdown(outage.began + OUTAGE_SECONDS - time.monotonic())
    wait_until(lambda: not left(), OUTAGE_SECONDS + 1, "the end of the outage", every=1)
    assert progress(rig).pending == BACKLOG
    rig.server.start()
    prove(rig, 2 * ALARM_PERIOD_SECONDS + 5)


def boots(rig: Rig) -> set[str]:
    """The boot ids that said hello."""
    return {(frame.body or {})["bootId"] for frame in rig.proxy.seen("hello")}
