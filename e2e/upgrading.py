"""What tests of upgrades share: an old database in a profile, and what came of it."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from e2e.old_builds import inert_build
from e2e.old_databases import CONFIGURATION, NAME, OURS, TODAY
from e2e.workers import worker_status
from extension_harness.browser import Browser
from extension_harness.launch.chromium import Chromium
from extension_harness.plugin import OWN_EXTENSION
from extension_harness.storage import (
    DatabaseDump,
    ExtensionStorage,
    Index,
    ObjectStore,
    StoreDigests,
)
from extension_harness.waiting import wait_until

LAST_ERROR = "document.getElementById('last-error-text').textContent"


@dataclass
class Profile:
    """One profile in a Chromium, and the builds that come to it one after the other."""

    browser: Browser
    folder: Path
    builds: Iterator[int] = field(default_factory=lambda: itertools.count(100))

    @property
    def inert(self) -> Path:
        """The build that does nothing, each time as another version.

        After a kill in mid update Chromium may believe that the worker of a version
        that it had before is still registered, and then registers none.
        """
        number = next(self.builds)
        return inert_build(self.folder / f"inert-{number}", number)

    @property
    def storage(self) -> ExtensionStorage:
        """The extension's storage."""
        return ExtensionStorage(self.browser)

    def give(self, database: DatabaseDump) -> None:
        """Make the profile one that an older version left, none of our code running."""
        self.browser.update(self.inert)
        self.browser.worker.stop()
        storage = self.storage
        storage.clear()
        storage.set(CONFIGURATION)
        storage.build_database(database)

    def snapshot(self, folder: Path) -> Path:
        """Copy the databases' files while no browser runs; it is started again."""
        self.browser.quit()
        shutil.copytree(self._files, folder)
        self.browser.reopen()
        return folder

    def restore(self, folder: Path) -> None:
        """Put such a copy back, the inert build in place."""
        self.browser.quit()
        shutil.rmtree(self._files)
        shutil.copytree(folder, self._files)
        self.browser.update(self.inert)
        self.browser.reopen()

    @property
    def _files(self) -> Path:
        return self.browser.profile / "Default" / "IndexedDB"

    def rest(self) -> None:
        """Stop the worker of the present build, with nothing left that wakes it."""
        self.opened()  # its beginning is over: it sets no further alarm
        with self.browser.extension_page() as page:
            page.evaluate("chrome.alarms.clearAll()")
        self.browser.worker.stop()

    def update(self, build: Path = OWN_EXTENSION) -> DatabaseDump:
        """Put a build in place; what the database is once it has opened it."""
        self.browser.update(build)
        return self.opened()

    def opened(self) -> DatabaseDump:
        """The database once the present build has opened it without a complaint."""
        status = worker_status(self.browser)  # reads the store: waits for its opening
        assert status["lastFault"] is None, status["lastFault"]
        return self.dump()

    def settled(self, version: int) -> DatabaseDump:
        """The database once an older build, which lacks some indexes, has opened it."""
        wait_until(
            lambda: self.storage.databases().get(NAME) == version,
            40,
            f"version {version}",
        )
        return self.dump()

    def dump(self) -> DatabaseDump:
        """The whole of it, with what each index holds."""
        return self.storage.dump(NAME, entries=True)

    def digests(self) -> Mapping[str, StoreDigests]:
        """All of it by digests."""
        return self.storage.digests(NAME)


@pytest.fixture(scope="module")
def old(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Profile]:
    """One profile for a module's tests: each gives it a database of its own."""
    with profile(chromium, tmp_path_factory.mktemp("old")) as made:
        yield made


@contextlib.contextmanager
def profile(chromium: Chromium, folder: Path) -> Iterator[Profile]:
    """A profile on which nothing of ours has ever run."""
    first = inert_build(folder / "inert")
    with Browser.launch(first, chromium=chromium, updatable=True) as browser:
        yield Profile(browser, folder)


def without_records(store: ObjectStore) -> ObjectStore:
    """A store's shape alone."""
    indexes = tuple(
        Index(each.name, each.key_path, each.unique, each.multi_entry)
        for each in store.indexes
    )
    return ObjectStore(store.name, store.key_path, store.auto_increment, indexes)


def check_shape(after: DatabaseDump) -> None:
    """OT-10, OT-16: version 10, and each of our stores as a fresh one has it."""
    assert after.version == 10
    shapes = {
        name: without_records(store)
        for name, store in after.stores.items()
        if name in OURS
    }
    assert shapes == TODAY


def check_kept(
    before: Mapping[str, StoreDigests], after: Mapping[str, StoreDigests]
) -> int:
    """OT-12 to OT-15: each record and each index entry is as it was; how many."""
    kept = 0
    for name, store in before.items():
        assert after[name].records == store.records, name
        assert store.indexes.items() <= after[name].indexes.items(), name
        kept += len(store.records)
    return kept


def check_configuration(storage: ExtensionStorage) -> None:
    """OT-15: configuration, device id, binding and what is not ours are as before."""
    assert storage.get().items() >= CONFIGURATION.items()
