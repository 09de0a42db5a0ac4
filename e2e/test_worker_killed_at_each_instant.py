"""The worker is killed at each instant of a message's way, and nothing is lost (OT-70).

The kill comes in the first sync, while history is read. Nobody touches anything
afterwards: the extension's own alarm, or the page's next observation, wakes it.
"""

from __future__ import annotations

import pytest

from e2e.proof import prove
from e2e.rigs import SHORT, shorten_alarm
from extension_harness.rig import CANDIDATES, CHECKPOINTS, MESSAGES, Rig
from extension_harness.traps import Trap

RECOVERY_SECONDS = 90.0


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.configure(**SHORT)
    shorten_alarm(rig)
    return rig


@pytest.mark.parametrize(
    "trap",
    [
        pytest.param(Trap.transaction(MESSAGES), id="as-the-transaction-is-asked-for"),
        pytest.param(Trap.write(MESSAGES), id="inside-the-transaction"),
        pytest.param(Trap.written(MESSAGES), id="written-and-not-committed"),
    ],
)
def test_killed_before_the_durable_write(rig: Rig, trap: Trap) -> None:
    """OT-30, OT-31: what was not on disk was not sent; the page is asked again."""
    with rig.worker.trap(trap) as armed:
        rig.open_page()
        armed.wait(60)
        assert not rig.proxy.seen("observation.batch")
    prove(rig, RECOVERY_SECONDS)


def test_killed_after_the_durable_write_and_before_the_send(rig: Rig) -> None:
    """OT-30, OT-70: what is on disk and was not sent goes up in another life."""
    with rig.worker.trap(Trap.before_send("observation.batch"), "hold") as armed:
        rig.open_page()
        armed.wait(60)
        store = rig.extension_store()
        assert {each["status"] for each in store.records(CANDIDATES)} == {"pending_ack"}
        assert not rig.proxy.seen("observation.batch")
        armed.kill()
    prove(rig, RECOVERY_SECONDS)


def test_killed_after_the_send_and_before_the_ack(rig: Rig) -> None:
    """OT-42, OT-51: Bright has it and the client cannot know; it goes again."""
    with rig.worker.trap(Trap.after_send("observation.batch"), "hold") as armed:
        rig.open_page()
        armed.wait(60)
        [ack, *_] = rig.proxy.wait_for("observation.ack")
        assert rig.server.dump().messages
        store = rig.extension_store()
        assert {each["status"] for each in store.records(CANDIDATES)} == {"pending_ack"}
        armed.kill()
    prove(rig, RECOVERY_SECONDS)
    assert ack.body is not None
    assert sent_again(rig) >= {each["messageId"] for each in ack.body["results"]}


def test_killed_after_the_ack_and_before_its_own_confirmation(rig: Rig) -> None:
    """OT-18, OT-70, known bug 54: an ACK not written down counts for nothing."""
    trap = Trap.received("observation.ack").then(
        Trap.write(CANDIDATES).where(status="confirmed")
    )
    with rig.worker.trap(trap) as armed:
        rig.open_page()
        armed.wait(60)
        acks = rig.proxy.seen("observation.ack")
        assert acks
    prove(rig, RECOVERY_SECONDS)
    assert sent_again(rig)


@pytest.mark.parametrize(
    "trap",
    [
        pytest.param(Trap.after_send("sync.complete"), id="claim-not-written-down"),
        pytest.param(
            Trap.after_send("sync.complete").then(Trap.committed(CHECKPOINTS)),
            id="claim-written-down",
        ),
        pytest.param(Trap.received("anchor.snapshot"), id="anchor-not-written-down"),
    ],
)
def test_killed_between_the_claim_and_the_anchor(rig: Rig, trap: Trap) -> None:
    """OT-50, OT-51: only the anchor completes; a claim without one is made again."""
    with rig.worker.trap(trap) as armed:
        rig.open_page()
        armed.wait(60)
    claims = len(rig.proxy.seen("sync.complete"))
    prove(rig, RECOVERY_SECONDS)
    assert len(rig.proxy.seen("sync.complete")) > claims


def sent_again(rig: Rig) -> set[str]:
    """Ids that Bright acknowledged as known already."""
    return {
        result["messageId"]
        for frame in rig.proxy.seen("observation.ack")
        for result in (frame.body or {})["results"]
        if result["duplicate"]
    }
