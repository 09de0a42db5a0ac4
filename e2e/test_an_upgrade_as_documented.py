"""What docs/harness.md shows under "Testing an upgrade", word for word."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from extension_harness.browser import Browser
from extension_harness.launch.chromium import Chromium
from extension_harness.storage import (
    DatabaseDump,
    ExtensionStorage,
    Index,
    ObjectStore,
    Record,
)
from extension_harness.traps import Trap
from extension_harness.waiting import wait_until

RELEASES = Path(__file__).parents[1] / "tests/extension_harness/extensions/notebook"
MILK = Record("a", {"id": "a", "title": "Milk", "day": "friday"})
TITLES = Index("by_title", "title")
NOTES = ObjectStore("notes", key_path="id", indexes=(TITLES,), records=(MILK,))
OLD = DatabaseDump("notebook", present=True, version=1, stores={"notes": NOTES})


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Browser]:
    with Browser.launch(RELEASES / "1", chromium=chromium, updatable=True) as running:
        yield running


def wait_upgraded(storage: ExtensionStorage) -> None:
    def version() -> int:
        return storage.dump("notebook", records=False).version

    wait_until(lambda: version() == 2, 10, "the upgrade")


def test_an_upgrade_keeps_every_note(
    browser: Browser, storage: ExtensionStorage
) -> None:
    browser.worker.stop()
    storage.build_database(OLD)  # or let the old release write its data itself
    before = storage.digests("notebook")["notes"]
    browser.update(RELEASES / "2")
    wait_upgraded(storage)
    after = storage.digests("notebook")["notes"]
    assert after.records == before.records
    assert after.indexes.keys() == {"by_title", "by_day"}


def test_a_kill_in_mid_upgrade_leaves_the_old_version(
    browser: Browser, storage: ExtensionStorage
) -> None:
    browser.update(RELEASES / "2")  # first, for its worker has to come up
    browser.worker.stop()
    storage.build_database(OLD)
    before = storage.digests("notebook")
    with browser.worker.trap(Trap.schema("createIndex", "notes")) as armed:
        browser.worker.wake()
        armed.wait()  # killed before the index is made
    assert storage.dump("notebook").version == 1
    assert storage.digests("notebook") == before
    browser.worker.wake()
    wait_upgraded(storage)
