"""A binding is revoked on an open connection: nothing more is stored under it."""

from __future__ import annotations

from e2e.proof import open_and_prove, prove
from e2e.rigs import SHORT
from e2e.workers import worker_status
from extension_harness.rig import CANDIDATES, Rig
from extension_harness.waiting import wait_until


def test_a_revoked_binding_closes_4401_and_a_new_one_goes_on(rig: Rig) -> None:
    """OT-60, known bug 44: no write, no reconnect loop, words for it; then all arrives.

    The worker dies in between: that it was refused is remembered, and so are the facts.
    """
    rig.configure(**SHORT)
    open_and_prove(rig)
    stored = len(rig.server.dump().messages)
    rig.server.revoke(rig.binding)
    posted = [rig.page.post_live(text=f"after it {n}") for n in range(5)]
    wait_until(lambda: is_stopped(rig), 40, "the refusal", every=0.2)
    assert rig.proxy.seen("binding.revoked")
    assert worker_status(rig.browser)["connection"]["stop"]["closeCode"] == 4401
    with rig.browser.extension_page("pages/popup.html") as popup:
        popup.wait_for(
            "document.querySelector('#state-detail').textContent.includes('revoked')"
        )
    connections = rig.proxy.connections
    rig.worker.restart()
    rig.worker.wake("alarm")
    posted.append(rig.page.post_live(text="and one to another life"))
    wait_until(
        lambda: {each.message_id for each in posted} <= pending(rig),
        40,
        "the observations to wait",
        every=0.2,
    )
    assert is_stopped(rig)
    assert rig.proxy.connections == connections, "it came back with a dead token"
    assert len(rig.server.dump().messages) == stored
    binding = rig.server.create_binding([rig.page.corpus.account])
    rig.storage.set({"bindingToken": binding.token})
    prove(rig)


def is_stopped(rig: Rig) -> bool:
    return bool(worker_status(rig.browser)["connection"]["state"] == "stopped")


def pending(rig: Rig) -> set[str]:
    rows = rig.extension_store().records(CANDIDATES)
    return {row["messageId"] for row in rows if row["status"] == "pending_ack"}
