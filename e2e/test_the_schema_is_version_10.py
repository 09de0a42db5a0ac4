"""The extension's one database: its shape, the ways to it, and what it refuses.

Older databases are made by hand, as their versions had them, before the extension
opens them; a real Chromium runs the upgrade.
"""

from __future__ import annotations

import pytest

from e2e.workers import worker_status
from extension_harness.browser import Browser
from extension_harness.rig import ANOMALIES, CANDIDATES, CHECKPOINTS, DATABASE, MESSAGES
from extension_harness.storage import DatabaseDump, ExtensionStorage
from extension_harness.traps import Trap
from extension_harness.waiting import wait_until

PROFILES = "onetalk_contact_profiles"
BOOTSTRAPS = "onetalk_conversation_bootstraps"
BUYER_FACTS = "onetalk_buyer_facts"
CARDS = "onetalk_rendered_card_ledger"
FIVE = (MESSAGES, CANDIDATES, CHECKPOINTS, ANOMALIES, PROFILES)
ACCOUNT, CONVERSATION = "channelAccountId", "conversationId"
INDEXES = {
    CHECKPOINTS: {"by_account": ACCOUNT},
    CANDIDATES: {
        "by_account_status": (ACCOUNT, "status"),
        "by_account_conversation": (ACCOUNT, CONVERSATION),
        "by_account_conversation_status": (ACCOUNT, CONVERSATION, "status"),
    },
    MESSAGES: {"by_account_conversation": (ACCOUNT, CONVERSATION)},
    ANOMALIES: {"by_account_conversation": (ACCOUNT, CONVERSATION)},
    PROFILES: {
        "by_account": ACCOUNT,
        "by_account_pending_observed_at": (ACCOUNT, "pending.observedAtMs"),
    },
    CARDS: {
        "by_account_status": (ACCOUNT, "status"),
        "by_account_conversation": (ACCOUNT, CONVERSATION),
    },
    BOOTSTRAPS: {},
    BUYER_FACTS: {},
}
KEYS = {CANDIDATES: "candidateKey"}

# Deletes the database and makes one as another version had it, with a record in each
# store.
MAKE = """
async (name, version, stores) => {
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const deleting = done(indexedDB.deleteDatabase(name));
  // Asked for at once, so that no other opening comes between.
  const opening = indexedDB.open(name, version);
  opening.onupgradeneeded = () => {
    for (const [name, keyPath, indexes] of stores) {
      const store = opening.result.createObjectStore(name, { keyPath });
      for (const index of Object.entries(indexes)) store.createIndex(...index);
      store.put({ [keyPath]: `${name} of version ${version}`, kept: [1, null, "二"] });
    }
  };
  await deleting;
  (await done(opening)).close();
}
"""


@pytest.fixture
def storage(browser: Browser) -> ExtensionStorage:
    """The storage of an extension whose worker does not run and is not woken."""
    storage = ExtensionStorage(browser)
    wait_until(lambda: DATABASE in storage.databases(), 10, "the first opening")
    worker_status(browser)  # its beginning is over: it sets no further alarm
    with browser.extension_page() as page:
        page.evaluate("chrome.alarms.clearAll()")
    browser.worker.stop()
    return storage


def made(browser: Browser, version: int, stores: tuple[str, ...]) -> None:
    """The database as this version had it: with version 9 came most indexes [OT-13]."""
    late = set(INDEXES) if version < 9 else {CARDS} if version < 10 else set()
    named = [
        [
            each,
            KEYS.get(each, "key"),
            {} if each in late else INDEXES.get(each, {}),
        ]
        for each in stores
    ]
    with browser.extension_page() as page:
        page.evaluate(MAKE, DATABASE, version, named)


def opened(browser: Browser, storage: ExtensionStorage) -> DatabaseDump:
    """What the extension makes of the database."""
    status = worker_status(browser)  # reads the store, and so waits for its opening
    # The reader that looked at the old database may still be closing its connection.
    fault = status["lastFault"]
    assert fault is None or fault["code"] == "store_blocked", fault
    return storage.dump(DATABASE)


def check_shape(dump: DatabaseDump) -> None:
    assert dump.version == 10
    shape = {
        name: {index.name: index.key_path for index in store.indexes}
        for name, store in dump.stores.items()
        if name in INDEXES
    }
    assert shape == INDEXES
    for name, store in dump.stores.items():
        assert not any(index.unique or index.multi_entry for index in store.indexes)
        if name in INDEXES:
            assert store.key_path == KEYS.get(name, "key")


def test_a_fresh_database_has_every_store_and_index(
    browser: Browser, storage: ExtensionStorage
) -> None:
    """OT-10, OT-16: these and no others; no index that nobody reads."""
    dump = opened(browser, storage)
    check_shape(dump)
    assert set(dump.stores) == set(INDEXES)
    assert storage.databases() == {DATABASE: 10}


@pytest.mark.parametrize(
    ("version", "stores"),
    [
        (7, FIVE),
        (8, (*FIVE, BOOTSTRAPS)),
        (9, (*FIVE, BOOTSTRAPS, CARDS)),
    ],
)
def test_an_upgrade_keeps_every_record(
    browser: Browser, storage: ExtensionStorage, version: int, stores: tuple[str, ...]
) -> None:
    """OT-12 to OT-15: stores and indexes are added; no record is touched."""
    kept = {"deviceId": "a device", "serverUrl": "127.0.0.1:9", "other": {"x": 1}}
    storage.set(kept)
    made(browser, version, (*stores, "another_channels_store"))
    before = storage.dump(DATABASE)
    dump = opened(browser, storage)
    check_shape(dump)
    for name in (*stores, "another_channels_store"):
        assert dump.records(name) == before.records(name), name
    assert kept.items() <= storage.get().items()


def test_what_is_older_than_7_is_cleared_and_nothing_else_is(
    browser: Browser, storage: ExtensionStorage
) -> None:
    """OT-11, OT-15: the five stores begin anew; another channel's store is not ours."""
    made(browser, 6, (*FIVE, "another_channels_store"))
    dump = opened(browser, storage)
    check_shape(dump)
    for name in FIVE:
        assert dump.records(name) == (), name
    assert len(dump.records("another_channels_store")) == 1


@pytest.mark.parametrize("store", [MESSAGES, PROFILES])
def test_a_kill_in_mid_upgrade_leaves_the_old_version_whole(
    browser: Browser, storage: ExtensionStorage, store: str
) -> None:
    """Known bugs 52, 59: an upgrade is one transaction; the next start does it all."""
    made(browser, 6, (*FIVE, "another_channels_store"))
    before = storage.dump(DATABASE)
    with browser.worker.trap(Trap.write(store, "clear")) as armed:
        browser.worker.wake()
        armed.wait()
    assert storage.dump(DATABASE) == before
    dump = opened(browser, storage)
    check_shape(dump)
    assert all(dump.records(name) == () for name in FIVE)


def test_a_newer_database_is_refused_aloud_and_left_alone(
    browser: Browser, storage: ExtensionStorage
) -> None:
    """OT-21, known bug 46: no record is touched and no lower version is made."""
    made(browser, 11, (*FIVE, BOOTSTRAPS, CARDS, BUYER_FACTS))
    before = storage.dump(DATABASE)
    assert worker_status(browser)["lastFault"]["code"] == "store_newer"
    with browser.extension_page("pages/popup.html") as popup:
        popup.wait_for(
            "document.getElementById('last-error-text').textContent"
            " === 'The messages were written by a newer version. Update the extension.'"
        )
    assert storage.dump(DATABASE) == before
