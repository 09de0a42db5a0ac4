"""The way to Bright breaks in every manner, in a sync and later, and nothing is lost.

One rig serves all tests of live traffic here: each begins from a proven state, makes
new messages in several conversations while its fault is planned, and ends in a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.proof import progress, prove, prove_listed, rest
from e2e.rigs import SHORT, running_rig, shorten_alarm
from extension_harness.launch.chromium import Chromium
from extension_harness.network.fault import Fault
from extension_harness.network.proxy_connection import Direction
from extension_harness.page.corpus import Corpus
from extension_harness.page.records import LedgerMessage
from extension_harness.rig import Rig
from extension_harness.waiting import wait_until

Plan = Callable[[Rig], Fault]


@pytest.fixture(scope="module")
def synced(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """A rig whose first sync is over and proven."""
    corpus = Corpus.generate(seed=6, conversations=6, messages=60)
    folder: Path = tmp_path_factory.mktemp("rig")
    with running_rig(chromium, folder, corpus, **SHORT) as rig:
        rig.open_page()
        shorten_alarm(rig)
        prove_listed(rig)
        yield rig


@pytest.fixture
def live(synced: Rig) -> Iterator[Rig]:
    """The shared rig at rest, with no fault planned; again without one afterwards."""
    rest(synced, 60)
    yield synced
    synced.proxy.clear()
    synced.proxy.resume()
    synced.proxy.accept()


def say(rig: Rig, count: int = 12) -> list[LedgerMessage]:
    """New messages, in turn in every conversation."""
    chats = rig.page.corpus.conversations
    return [
        rig.page.post_live(chats[n % len(chats)].conversation_id, f"new {n}")
        for n in range(count)
    ]


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(lambda rig: rig.proxy.swallow("observation.ack"), id="lost"),
        pytest.param(
            lambda rig: rig.proxy.swallow("observation.ack", count=3), id="three-lost"
        ),
        pytest.param(
            lambda rig: rig.proxy.duplicate("observation.ack", count=3), id="doubled"
        ),
        pytest.param(
            lambda rig: rig.proxy.delay("observation.ack", 0.5, count=3), id="delayed"
        ),
        pytest.param(
            lambda rig: rig.proxy.delay("observation.ack", 3.0, count=2),
            id="delayed-beyond-the-time-out",
        ),
        pytest.param(
            lambda rig: rig.proxy.reorder("observation.ack", count=2), id="reordered"
        ),
    ],
)
def test_an_ack_on_its_way(live: Rig, plan: Plan) -> None:
    """OT-18, known bugs 29, 42: each ACK counts for what it names, once."""
    fault = plan(live)
    say(live)
    fault.wait(60)
    prove(live)


@pytest.mark.parametrize(
    ("kind", "direction"),
    [
        ("observation.batch", "to_server"),
        ("observation.ack", "to_client"),
        ("sync.complete", "to_server"),
        ("anchor.snapshot", "to_client"),
    ],
)
def test_the_network_is_cut_as_a_frame_comes(
    live: Rig, kind: str, direction: Direction
) -> None:
    """OT-51, OT-62: unconfirmed facts and claims without an anchor go again."""
    connections = live.proxy.connections
    fault = live.proxy.cut_on(kind, direction=direction)
    say(live)
    fault.wait(60)
    prove(live)
    assert live.proxy.connections > connections


@pytest.mark.parametrize(
    ("kind", "direction"),
    [("sync.complete", "to_server"), ("anchor.snapshot", "to_client")],
)
def test_a_claim_or_its_anchor_is_lost(
    live: Rig, kind: str, direction: Direction
) -> None:
    """OT-50: a claim that no anchor answers is made again on the same connection."""
    live.configure(ackTimeoutMs=60_000)  # a slow machine is no reason for another one
    connections = live.proxy.connections
    fault = live.proxy.swallow(kind, direction=direction)
    try:
        say(live, 1)
        fault.wait(60)
        prove(live, 60)
        assert live.proxy.connections == connections
    finally:
        live.configure(**SHORT)


def test_the_connection_is_half_open(live: Rig) -> None:
    """Known bug 15: the socket looks open and is dead; the ACK time-out finds it."""
    wait_until(lambda: live.proxy.open_connections == 1, 40, "one connection")
    assert live.proxy.half_open() == 1
    say(live)
    prove(live)


def test_the_network_stands_still(live: Rig) -> None:
    """Known bug 15: nothing passes and nothing closes; the socket is abandoned."""
    connections = live.proxy.connections
    live.proxy.stall()
    say(live)
    wait_for_connections(live, connections + 1)
    live.proxy.resume()
    prove(live)


def test_the_network_is_away_for_a_while(live: Rig) -> None:
    """OT-62: nothing is sent, all is kept, and it goes up when the way is back."""
    live.proxy.refuse()
    live.proxy.cut()
    sent = len(live.proxy.seen("observation.batch"))
    said = say(live, 24)
    wait_until(lambda: progress(live).pending == len(said), 40, "them to be stored")
    assert len(live.proxy.seen("observation.batch")) == sent
    live.proxy.accept()
    prove(live)


@pytest.mark.corpus(seed=7, conversations=8, messages=240)
def test_everything_breaks_in_one_first_sync(rig: Rig) -> None:
    """All of it in one sync, at different frames."""
    rig.configure(**SHORT, historyPageSize=8, maxBatchMessages=5)
    shorten_alarm(rig)
    proxy = rig.proxy
    faults = [
        proxy.swallow("observation.ack", nth=2),
        proxy.duplicate("observation.ack", nth=4, count=3),
        proxy.reorder("observation.ack", nth=9),
        proxy.delay("observation.ack", 2.5, nth=13),
        proxy.cut_on("observation.batch", nth=20),
        proxy.cut_on("observation.ack", nth=24, direction="to_client"),
        proxy.duplicate("anchor.snapshot", nth=2),
        proxy.swallow("conversation.known", nth=1),
        proxy.cut_on("sync.complete", nth=4),
        proxy.swallow("anchor.snapshot", nth=5),
    ]
    rig.open_page()
    for fault in faults[:6]:
        fault.wait(60)
    prove(rig, 120)


def wait_for_connections(rig: Rig, count: int) -> None:
    wait_until(lambda: rig.proxy.connections >= count, 30, "another connection")
