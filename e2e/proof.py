"""The one oracle of these tests: everything at rest, and everything held together.

`prove` waits, touching nothing, until the sync rests; then it holds the page's ledger,
the extension's database, Bright's store and the frames that passed the proxy against
each other and raises with every fault in words.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from e2e.workers import worker_status
from extension_harness.demo.progress import Progress, read_progress
from extension_harness.errors import WaitTimeoutError
from extension_harness.oracle.testimony import (
    ack_faults,
    early_anchors,
    unread_frames,
)
from extension_harness.oracle.verdict import DATABASE, Verdict, judge
from extension_harness.rig import Rig
from extension_harness.tab import Page
from extension_harness.waiting import countdown, wait_until

LOOK_SECONDS = 0.25
LIST_SECONDS = 60.0
PROFILES = "onetalk_contact_profiles"
SETTLE_SECONDS = 30.0
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
    """Wait until nothing is pending, and every conversation is completed and walked."""
    with rig.browser.extension_page() as page:
        last = Progress()

        def probe() -> bool:
            nonlocal last
            last = read_progress(page, rig.page.corpus.account)
            return (
                last.started > 0
                and last.pending == 0
                and last.completed == last.started
                and last.behind == 0
                and not rig.page.ledger.unserved()
            )

        try:
            wait_until(probe, timeout, "the sync to rest", every=LOOK_SECONDS)
        except WaitTimeoutError as late:
            told = f"{last}, {len(rig.page.ledger.unserved())} not shown by the page"
            raise WaitTimeoutError(late.what, timeout, told) from late


def open_and_prove(rig: Rig) -> Page:
    """Open a page, and prove the sync once the page's whole list was read.

    A sync may rest before: what the list tells is then walked once more, after the
    proof. A test that closes the page, or cuts the way to Bright, must not meet that.
    """
    since_ms = int(time.time() * 1000)
    page = rig.open_page()
    prove_listed(rig, since_ms)
    return page


def prove_listed(rig: Rig, since_ms: int = 0) -> Verdict:
    """Prove the sync once a page's whole list was read, later than ``since_ms``."""
    account = rig.page.corpus.account

    def is_listed() -> bool:
        rows = rig.storage.dump(DATABASE).records(PROFILES)
        seen = {
            row["conversationId"]: last_seen_ms(row)
            for row in rows
            if row["channelAccountId"] == account
        }
        names = rig.page.ledger.profiles()
        return all(seen.get(each, -1) >= since_ms for each in names)

    wait_until(is_listed, LIST_SECONDS, "the page's whole list", every=LOOK_SECONDS)
    # What the list tells is marked right after its contacts were stored: before this is
    # answered.
    worker_status(rig.browser)
    return prove(rig)


def last_seen_ms(profile: Mapping[str, Any]) -> int:
    """When a list told of this contact last."""
    pending = profile.get("pending") or {}
    told = (pending.get("observedAtMs", 0), profile["uploadedObservedAtMs"])
    return int(max(told))


def progress(rig: Rig) -> Progress:
    """How far the extension is now, from its own store."""
    with rig.browser.extension_page() as page:
        return read_progress(page, rig.page.corpus.account)
