"""Browser and Bright are killed in mid-sync: nothing is lost, nothing doubled."""

from __future__ import annotations

import pytest

from e2e.proof import open_and_prove, prove
from e2e.rigs import SHORT
from extension_harness.rig import CANDIDATES, Rig
from extension_harness.waiting import wait_until

# Small pages and batches: a kill in mid-sync meets many of them on their way.
SMALL = {"historyPageSize": 8, "maxBatchMessages": 5}

pytestmark = pytest.mark.usefixtures("outage")  # it lasts meanwhile


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.configure(**SHORT, **SMALL)
    return rig


@pytest.mark.tripwired
@pytest.mark.corpus(seed=4, conversations=8, messages=240)
def test_the_browser_is_killed_twice_in_one_sync_and_opened_again(rig: Rig) -> None:
    """OT-70, known bug 35: the same profile goes on where its store stands."""
    acks = 0
    for more in (4, 10):
        acks += more
        # However late the kill comes: what is sent after these does not arrive.
        rig.proxy.swallow(
            "observation.batch", more + 8, count=10_000, direction="to_server"
        )
        rig.open_page()
        rig.proxy.wait_for("observation.ack", acks, timeout=60)
        rig.browser.kill()
        rig.proxy.clear()
        assert rig.server.dump().messages
        assert len(rig.server.dump().messages) < 240, "killed when it was over"
        rig.browser.reopen()
    rig.open_page()
    prove(rig)


def test_a_backlog_goes_up_after_a_browser_crash_without_any_page(rig: Rig) -> None:
    """OT-70: what was on disk needs no page; the browser's start alone wakes it."""
    open_and_prove(rig)
    rig.proxy.refuse()
    rig.proxy.cut()
    posted = [rig.page.post_live(text=f"said while offline {n}") for n in range(12)]
    ids = {each.message_id for each in posted}
    wait_for_candidates(rig, ids)
    rig.browser.kill()
    rig.browser.reopen()
    rig.proxy.accept()
    prove(rig, 120)


@pytest.mark.corpus(seed=5, conversations=8, messages=240)
def test_bright_is_killed_in_mid_batch_again_and_again(rig: Rig) -> None:
    """MS-27: what was acknowledged is on disk; what was not goes again, once each."""
    rig.open_page()
    for batches in (2, 9, 16):
        rig.proxy.wait_for("observation.batch", batches, timeout=60)
        rig.server.kill()
        rig.server.start()
    prove(rig)


def test_bright_is_killed_after_the_commit_and_before_the_ack(rig: Rig) -> None:
    """MS-20, MS-27: committed, unacknowledged: known again, and takes no sequence."""
    ack = rig.proxy.hold("observation.ack")
    rig.open_page()
    ack.wait(60)
    [(_, held)] = ack.held
    unheard = {result["messageId"] for result in (held.json() or {})["results"]}
    assert unheard <= {each["messageId"] for each in rig.server.dump().messages}
    rig.server.kill()
    ack.drop()
    rig.server.start()
    prove(rig)
    assert unheard <= results(rig, duplicate=True)


def test_bright_stopped_by_sigterm_acknowledges_what_it_took(rig: Rig) -> None:
    """Known bug 45: it closes with 1012, and the client comes back by itself."""
    rig.open_page()
    rig.proxy.wait_for("observation.batch", 3, timeout=60)
    assert rig.server.stop() == 0
    committed = {each["messageId"] for each in rig.server.dump().messages}
    # The last of them may still be on its way through the proxy.
    wait_until(
        lambda: results(rig, status="confirmed") >= committed, 40, "each one's ACK"
    )
    assert committed == results(rig, status="confirmed")
    rig.server.start()
    prove(rig, 100)  # after 1012 a client waits 5 to 30 s


def results(rig: Rig, **fields: object) -> set[str]:
    """Ids that some ACK's result named with these fields."""
    return {
        result["messageId"]
        for frame in rig.proxy.seen("observation.ack")
        for result in (frame.body or {})["results"]
        if all(result[name] == value for name, value in fields.items())
    }


def wait_for_candidates(rig: Rig, ids: set[str]) -> None:
    """Wait until these messages are in the extension's store, and pending there."""

    def probe() -> bool:
        rows = rig.extension_store().records(CANDIDATES)
        found = {row["messageId"]: row["status"] for row in rows}
        return all(found.get(each) == "pending_ack" for each in ids)

    wait_until(probe, 40, "the observations to be stored", every=0.2)
