"""After an upgrade the sync goes on where the kept records say, or begins anew.

The old databases here are what a real sync has left, in the shape of an older version.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from e2e.old_builds import inert_build, old_build
from e2e.old_databases import NAME, TODAY, shape_of
from e2e.old_databases.shapes import PROFILES
from e2e.proof import open_and_prove, prove_listed
from e2e.rigs import SHORT, running_rig
from e2e.upgrading import LAST_ERROR
from e2e.workers import put_to_rest, worker_status
from extension_harness.launch.chromium import Chromium
from extension_harness.page.corpus import Corpus
from extension_harness.page.messy import DEFAULT_CODES
from extension_harness.plugin import OWN_EXTENSION
from extension_harness.rig import CANDIDATES, CHECKPOINTS, MESSAGES, Rig
from extension_harness.storage import DatabaseDump
from extension_harness.waiting import wait_until

UNSENT = 5
HOLD = """
new Promise((resolve) => {
  const request = indexedDB.open("trade-message-center");
  request.onsuccess = () => { globalThis.held = request.result; resolve(); };
})
"""


@dataclass(frozen=True)
class Synced:
    """A rig that is synced, and the build that does nothing."""

    rig: Rig
    inert: Path

    def give(self, version: int) -> None:
        """Put the present records back as an older version's database had them."""
        store = self.rig.extension_store()
        self.rig.browser.update(self.inert)
        self.rig.worker.stop()
        self.rig.storage.build_database(as_version(store, version))

    def upgrade(self) -> None:
        """The shipped build comes, and finds that database."""
        self.rig.browser.update(OWN_EXTENSION)


@pytest.fixture(scope="module")
def synced(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Synced]:
    """Each test begins and ends with everything in agreement.

    Without edited messages: of those a store that was cleared may rightly hold the
    later version, where Bright holds the first.
    """
    folder = tmp_path_factory.mktemp("rig")
    messy = DEFAULT_CODES - {"M23"}
    corpus = Corpus.generate(seed=31, conversations=4, messages=60, messy=messy)
    with running_rig(chromium, folder, corpus, updatable=True, **SHORT) as rig:
        with open_and_prove(rig):
            pass
        yield Synced(rig, inert_build(folder / "inert"))


@pytest.mark.parametrize("version", [7, 8, 9])
def test_what_was_pending_goes_up_once_and_what_was_confirmed_does_not(
    synced: Synced, version: int
) -> None:
    """OT-12 to OT-14, OT-70: with no page open, by the new build alone."""
    rig = synced.rig
    # Before the page is there: no walk begins, which the cut would leave unfinished.
    rig.proxy.refuse()
    rig.proxy.cut()
    with rig.open_page():
        unsent = {
            rig.page.post_live(text=f"not sent at version {version}: {n}").message_id
            for n in range(UNSENT)
        }
        wait_until(lambda: pending(rig) == unsent, 40, "them to be stored", every=0.2)
    synced.give(version)
    before = rig.storage.digests(NAME)
    rig.proxy.accept()
    sent_before = len(rig.proxy.seen("observation.batch"))
    synced.upgrade()
    wait_until(lambda: upgraded(rig) and not pending(rig), 40, "the ACKs", every=0.2)
    frames = rig.proxy.seen("observation.batch")[sent_before:]
    sent = Counter(
        message["messageId"] for f in frames for message in (f.body or {})["messages"]
    )
    assert sent == Counter(unsent)
    assert rig.storage.digests(NAME)[MESSAGES].records == before[MESSAGES].records
    # What a page showed before its list was read is walked once more, by a page.
    with open_and_prove(rig):
        pass


def test_after_a_version_before_7_everything_is_collected_anew(synced: Synced) -> None:
    """OT-11, OT-40: profiles, activity times and a full sync, from the page alone.

    The old records say that everything is completed and confirmed: none is believed.
    """
    rig = synced.rig
    before = rig.extension_store()
    sequences = {
        row["messageId"]: row["sequence"] for row in rig.server.dump().messages
    }
    synced.give(6)
    synced.upgrade()
    assert worker_status(rig.browser)["accounts"] == []
    store = rig.extension_store()
    assert {name: store.records(name) for name in TODAY} == dict.fromkeys(TODAY, ())
    walked = len(rig.proxy.seen("history.progress"))
    sent = len(rig.proxy.seen("observation.batch"))
    since_ms = int(time.time() * 1000)
    with rig.open_page():
        prove_listed(rig, since_ms)
        after = rig.extension_store()
        conversations = {row["conversationId"] for row in before.records(CHECKPOINTS)}
        again = {
            (frame.body or {})["conversationId"]
            for frame in rig.proxy.seen("history.progress")[walked:]
        }
        assert again == conversations
        # Once completed, a conversation may be looked at again as an increment.
        first_modes: dict[str, str] = {}
        for frame in rig.proxy.seen("observation.batch")[sent:]:
            body = frame.body or {}
            first_modes.setdefault(body["conversationId"], body["mode"])
        assert set(first_modes.values()) == {"full"}, first_modes
        told, told_before = activity(after), activity(before)
        assert told.keys() == told_before.keys()
        assert all(told[each] >= told_before[each] > 0 for each in told)
        assert profiles(after) == set(rig.page.ledger.profiles()) != set()
    server = rig.server.dump()
    assert {row["messageId"]: row["sequence"] for row in server.messages} == sequences


def test_a_blocked_upgrade_loses_nothing_says_so_and_goes_on_by_itself(
    synced: Synced,
) -> None:
    """OT-31, known bugs 47, 52: an old page holds the database and will not let go."""
    rig = synced.rig
    store = rig.extension_store()
    put_to_rest(rig.browser)
    rig.storage.build_database(as_version(store, 9))
    sent = len(rig.proxy.seen("observation.batch"))
    holder = rig.browser.extension_page()
    holder.evaluate(HOLD)
    with rig.open_page():
        posted = {
            rig.page.post_live(text=f"while it is blocked: {n}").message_id
            for n in range(UNSENT)
        }
        with rig.browser.extension_page("pages/popup.html") as popup:
            popup.wait_for(f"{LAST_ERROR}.startsWith('Another window holds an old')")
            assert holder.evaluate("held.version") == 9
            assert len(rig.proxy.seen("observation.batch")) == sent, "sent, not stored"
            since_ms = int(time.time() * 1000)
            holder.close()
            popup.wait_for("document.getElementById('last-error').hidden", timeout=60)
        prove_listed(rig, since_ms)
    assert rig.extension_store().version == 10
    assert posted <= stored(rig)


def test_an_update_under_an_old_worker_a_popup_and_a_tab_is_not_held_up(
    synced: Synced, tmp_path: Path
) -> None:
    """OT-14, OT-15, known bugs 31, 52: all of the old build lives meanwhile."""
    rig = synced.rig
    synced.give(9)
    rig.browser.update(old_build(tmp_path / "9", 9))
    with rig.open_page() as tab, rig.browser.extension_page("pages/popup.html") as old:
        old.wait_for("document.getElementById('worker').dataset.bootId")
        held = rig.page.post_live(text="seen by the old build")
        wait_until(lambda: held.message_id in stored(rig), 40, "it", every=0.2)
        assert rig.extension_store().version == 9
        synced.upgrade()
        assert worker_status(rig.browser)["lastFault"] is None
        assert rig.extension_store().version == 10
        rig.page.post_live(text="shown to an orphan")
        since_ms = int(time.time() * 1000)
        tab.call("Page.reload")
        prove_listed(rig, since_ms)


def as_version(store: DatabaseDump, version: int) -> DatabaseDump:
    """The same records in the shape of an older version; what it lacked is left out.

    As version 6 it has version 7's keys: nothing but the number tells that it is old.
    """
    shapes = shape_of(max(version, 7))
    stores = {
        each.name: replace(each, records=store.stores[each.name].records)
        for each in shapes
    }
    return replace(store, version=version, stores=stores)


def upgraded(rig: Rig) -> bool:
    return rig.storage.databases() == {NAME: 10}


def stored(rig: Rig) -> set[str]:
    return {row["messageId"] for row in rig.extension_store().records(MESSAGES)}


def pending(rig: Rig) -> set[str]:
    """The messages that wait for their ACK."""
    rows = rig.extension_store().records(CANDIDATES)
    return {row["messageId"] for row in rows if row["status"] == "pending_ack"}


def activity(store: DatabaseDump) -> dict[str, int]:
    """Each conversation's activity time, which the conversation list alone gives."""
    rows = store.records(CHECKPOINTS)
    return {row["conversationId"]: row["latestMessageAtMs"] for row in rows}


def profiles(store: DatabaseDump) -> set[str]:
    """The conversations whose contact's profile is there, uploaded or waiting."""
    rows = store.records(PROFILES)
    return {r["conversationId"] for r in rows if (r.get("pending") or r)["profile"]}
