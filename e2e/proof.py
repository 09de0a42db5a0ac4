"""The one oracle of these tests: everything at rest, and everything held together.

`prove` waits, touching nothing, until the sync rests; then it holds the page's ledger,
the extension's database, Bright's store and the frames that passed the proxy against
each other and raises with every fault in words.
"""

from __future__ import annotations

from extension_harness.demo.progress import Progress, read_progress
from extension_harness.errors import WaitTimeoutError
from extension_harness.oracle.testimony import (
    ack_faults,
    early_anchors,
    unread_frames,
)
from extension_harness.oracle.verdict import DATABASE, Verdict, judge
from extension_harness.rig import Rig
from extension_harness.waiting import countdown, wait_until

LOOK_SECONDS = 0.25
SETTLE_SECONDS = 10.0
"""How long a system that rests may still differ: a message may just be on its way."""


def prove(rig: Rig, timeout: float = 60.0, *, frames_from: int = 0) -> Verdict:
    """Wait until the sync rests, and assert that nothing is lost, doubled or early.

    ``frames_from`` is the number of frames that passed before Bright's present store
    was there: what was acknowledged in them need not be in it under the same sequence.

    Raises WaitTimeoutError with how far it came, AssertionError with the faults.
    """
    rest(rig, timeout)
    left = countdown(SETTLE_SECONDS)
    while True:
        verdict = verdict_of(rig)
        if verdict.holds or not left():
            break
        rest(rig, timeout)
    assert verdict.holds, verdict.as_text()
    seen = rig.proxy.seen()
    broken = [
        *ack_faults(seen[frames_from:], rig.server.dump()),
        *early_anchors(seen, rig.page.ledger),
        *unread_frames(seen),
    ]
    assert not broken, "\n".join(broken[:8])
    return verdict


def verdict_of(rig: Rig) -> Verdict:
    """What the three stores say of each other now."""
    return judge(rig.page.ledger, rig.server.dump(), rig.storage.dump(DATABASE))


def rest(rig: Rig, timeout: float) -> None:
    """Wait until nothing is pending and every conversation is completed."""
    with rig.browser.extension_page() as page:
        last = Progress()

        def probe() -> bool:
            nonlocal last
            last = read_progress(page, rig.page.corpus.account)
            return (
                last.started > 0
                and last.pending == 0
                and last.completed == last.started
                and not rig.page.ledger.unserved()
            )

        try:
            wait_until(probe, timeout, "the sync to rest", every=LOOK_SECONDS)
        except WaitTimeoutError as late:
            told = f"{last}, {len(rig.page.ledger.unserved())} not shown by the page"
            raise WaitTimeoutError(late.what, timeout, told) from late


def progress(rig: Rig) -> Progress:
    """How far the extension is now, from its own store."""
    with rig.browser.extension_page() as page:
        return read_progress(page, rig.page.corpus.account)
