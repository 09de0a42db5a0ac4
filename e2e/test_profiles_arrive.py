"""What waits in the ledger of profiles comes to Bright, once, whatever dies on the way.

One rig for all of it: each claim begins with a contact's new name, which the page's
list tells, and ends with Bright's table held against what the page said.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.instrumented import instrumented
from e2e.proof import prove
from e2e.rigs import SHORT, running_rig, shorten_alarm
from e2e.workers import worker_status
from extension_harness.errors import WaitTimeoutError
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.rig import Rig
from extension_harness.traps import Trap
from extension_harness.waiting import wait_until

PROFILES = "onetalk_contact_profiles"
OBSERVED, ACK = "contact.profile.observed", "contact.profile.ack"
AHEAD_MS = 600_000
# The worker's clock can be set forward, and its ledger can refuse the commit.
INSTRUMENT = """
const now = Date.now;
Date.now = () => now() + (globalThis.aheadMs ?? 0);
const put = IDBObjectStore.prototype.put;
IDBObjectStore.prototype.put = function (...given) {
  const request = put.apply(this, given);
  const isProfile = this.name === "onetalk_contact_profiles";
  if (isProfile && globalThis.isFull) this.transaction.abort();
  return request;
};
"""
NAMES = (f"Ines Okafor {n}" for n in itertools.count(1))


@pytest.fixture(scope="module")
def shared(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    corpus = Corpus.generate(seed=24, conversations=6, messages=60)
    folder: Path = tmp_path_factory.mktemp("rig")
    extension = instrumented(folder, INSTRUMENT)
    # Not given up, nor sent again, because the machine is slow.
    settings = {**SHORT, "listRefreshMs": 300, "ackTimeoutMs": 10_000}
    with running_rig(chromium, folder, corpus, extension=extension, **settings) as made:
        shorten_alarm(made, 1)
        made.open_page()
        wait_until_told(made)
        yield made
        prove(made)


@pytest.fixture
def rig(shared: Rig) -> Iterator[Rig]:
    """The rig at rest; afterwards every contact is at Bright as the page says."""
    yield shared
    shared.proxy.clear()
    wait_until_told(shared)


def said(rig: Rig) -> dict[str, tuple[str, dict[str, str]]]:
    return {
        chat: (each.ali_id, each.profile())
        for chat, each in rig.page.ledger.profiles().items()
    }


def at_bright(rig: Rig) -> dict[str, tuple[str, dict[str, str]]]:
    rows = rig.server.dump().of("contactProfile")
    assert {row["channelAccountId"] for row in rows} <= {rig.page.corpus.account}
    assert len({row["conversationId"] for row in rows}) == len(rows)
    return {row["conversationId"]: (row["aliId"], row["profile"]) for row in rows}


def in_store(rig: Rig) -> dict[str, dict[str, Any]]:
    rows = rig.extension_store().records(PROFILES)
    return {row["conversationId"]: row for row in rows}


def wait_until_told(rig: Rig) -> None:
    """Wait until Bright has what the page says, and nothing waits any more."""

    def probe() -> bool:
        rows = in_store(rig)
        return (
            at_bright(rig) == said(rig)
            and {chat: (row["aliId"], row["profile"]) for chat, row in rows.items()}
            == said(rig)
            and not any(row.get("pending") for row in rows.values())
        )

    try:
        wait_until(probe, 60, "the profiles at Bright", every=0.3)
    except WaitTimeoutError:
        assert at_bright(rig) == said(rig)
        assert {
            each: row for each, row in in_store(rig).items() if "pending" in row
        } == {}
        raise


def rename(rig: Rig, place: int = 0) -> tuple[str, str]:
    """A contact has another name from now on: its conversation, and the name."""
    chat, name = rig.page.corpus.conversations[place].conversation_id, next(NAMES)
    rig.page.rename(chat, name)
    return chat, name


def waiting_name(rig: Rig, chat: str) -> str | None:
    pending = in_store(rig)[chat].get("pending")
    return None if pending is None else str(pending["profile"].get("name"))


def names_told(rig: Rig, chat: str) -> list[str]:
    """Each name of a contact that passed the proxy, as often as it did."""
    return [
        each["profile"]["name"]
        for frame in rig.proxy.seen(OBSERVED)
        for each in (frame.body or {})["profiles"]
        if each["conversationId"] == chat
    ]


def name_at_bright(rig: Rig, chat: str) -> str:
    return str(at_bright(rig)[chat][1]["name"])


def test_every_contact_is_at_bright_and_the_newest_name_wins(rig: Rig) -> None:
    """OT-80, OT-81: marks and fingerprint are the ACK's; the same again is not sent."""
    for row in in_store(rig).values():
        assert row["lastUploadedFingerprint"]
        assert row["uploadedObservedAtMs"] > 0
        assert row["lastUploadedAtMs"] > 0
    before = len(rig.proxy.seen(OBSERVED))
    marks = {chat: row["uploadedObservedAtMs"] for chat, row in in_store(rig).items()}
    wait_until(
        lambda: all(
            row["uploadedObservedAtMs"] > marks[chat]
            for chat, row in in_store(rig).items()
        ),
        40,
        "another look at the list",
        every=0.3,
    )
    assert len(rig.proxy.seen(OBSERVED)) == before, "told again, and it was the same"
    chat, name = rename(rig)
    wait_until(lambda: name_at_bright(rig, chat) == name, 40, "the name", every=0.3)


def test_killed_between_the_write_and_the_send(rig: Rig) -> None:
    """OT-82: what is pending is told from the store alone, by another worker."""
    with rig.worker.trap(Trap.before_send(OBSERVED), "hold") as armed:
        chat, name = rename(rig, 1)
        armed.wait(60)
        assert name_at_bright(rig, chat) != name
        armed.kill()
    wait_until(lambda: name_at_bright(rig, chat) == name, 60, "the name", every=0.3)


def test_killed_between_the_send_and_the_ack(rig: Rig) -> None:
    """OT-82, OT-83: Bright has it and nobody knows; it goes again, and is one."""
    with rig.worker.trap(Trap.after_send(OBSERVED), "hold") as armed:
        chat, name = rename(rig, 2)
        armed.wait(60)
        wait_until(lambda: name_at_bright(rig, chat) == name, 40, "it", every=0.2)
        assert names_told(rig, chat).count(name) == 1
        armed.kill()
    wait_until(lambda: names_told(rig, chat).count(name) > 1, 60, "it again", every=0.3)


def test_a_late_ack_leaves_the_newer_pending(rig: Rig) -> None:
    """OT-83: an ACK of an older observation confirms nothing of a newer one."""
    held = rig.proxy.hold(ACK)
    chat, first = rename(rig, 3)
    held.wait(60)
    assert name_at_bright(rig, chat) == first
    unheard = rig.proxy.swallow(OBSERVED, direction="to_server")
    _, newest = rename(rig, 3)
    wait_until(lambda: waiting_name(rig, chat) == newest, 40, "the newer", every=0.2)
    held.release()
    unheard.wait(60)  # it goes again, because the old ACK settled nothing of it
    assert waiting_name(rig, chat) == newest
    assert in_store(rig)[chat]["profile"]["name"] != newest


def test_no_message_waits_for_a_profile(rig: Rig) -> None:
    """OT-82, OT-86, OT-87: profiles go unanswered; messages are confirmed meanwhile."""
    lost = rig.proxy.swallow(ACK, count=100)
    connections = rig.proxy.connections
    rename(rig, 4)
    rig.proxy.wait_for(OBSERVED, len(rig.proxy.seen(OBSERVED)) + 1)
    wait_for_message(rig, "not held up")
    assert rig.proxy.connections == connections, "the connection paid for it"
    lost.release()


def test_a_commit_that_fails_tells_nothing(rig: Rig) -> None:
    """OT-85: the disk is full as the ledger is written: it is said, and not sent."""
    rig.worker.evaluate("globalThis.isFull = true")
    before = in_store(rig)
    sent = len(rig.proxy.seen(OBSERVED))
    chat, name = rename(rig, 0)
    wait_until(
        lambda: fault_code(rig) == "profiles_not_recorded", 40, "it is said", every=0.2
    )
    wait_for_message(rig, "stored all the same")
    assert len(rig.proxy.seen(OBSERVED)) == sent
    assert in_store(rig)[chat]["profile"] == before[chat]["profile"]
    assert name_at_bright(rig, chat) != name
    rig.worker.evaluate("globalThis.isFull = false")


def test_an_observation_of_the_future_is_dropped_and_said(rig: Rig) -> None:
    """OT-84: nothing of its request is stored; exactly it is dropped; it is shown."""
    rig.worker.evaluate(f"globalThis.aheadMs = {AHEAD_MS}")
    chat, name = rename(rig, 5)
    [refusal, *_] = rig.proxy.wait_for(
        "ws.error",
        timeout=60,
        where=lambda seen: (seen.body or {})["code"] == "profile_observed_at_future",
    )
    wait_until(lambda: waiting_name(rig, chat) is None, 40, "its drop", every=0.2)
    assert refusal.body is not None
    acked = [(frame.body or {})["requestId"] for frame in rig.proxy.seen(ACK)]
    assert refusal.body["requestId"] not in acked
    assert name_at_bright(rig, chat) != name
    assert in_store(rig)[chat]["rejectedObservedAtMs"] > 0
    wait_until(lambda: fault_code(rig) == "profile_observed_at_future", 40, "its word")
    with rig.browser.extension_page("pages/popup.html") as popup:
        popup.wait_for(
            "document.querySelector('#last-error-text').textContent.includes('clock')"
        )
    # The page's word of before is what Bright has; so nothing is told anew.
    rig.page.rename(chat, str(at_bright(rig)[chat][1]["name"]))


def wait_for_message(rig: Rig, text: str) -> None:
    """Say something in the page, and wait until it is confirmed."""
    posted = rig.page.post_live(text=text).message_id
    rig.proxy.wait_for(
        "observation.ack",
        timeout=60,
        where=lambda seen: any(
            (each["messageId"], each["status"]) == (posted, "confirmed")
            for each in (seen.body or {})["results"]
        ),
    )


def fault_code(rig: Rig) -> str | None:
    fault = worker_status(rig.browser)["lastFault"]
    return None if fault is None else str(fault["code"])
