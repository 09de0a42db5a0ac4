"""Every way to version 10, on a profile that an older version left.

The old database is made by none of the extension's code, the old build is replaced in
place, and a real Chromium runs the upgrade.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from e2e.old_builds import old_build
from e2e.old_databases import OURS, TODAY, described
from e2e.old_databases.model import build_in_model, model_dump
from e2e.old_databases.shapes import BOOTSTRAPS, CARDS, FIVE, shape_of
from e2e.upgrading import (
    LAST_ERROR,
    Profile,
    check_configuration,
    check_kept,
    check_shape,
    old,
    without_records,
)
from e2e.workers import worker_status
from extension_harness.plugin import OWN_EXTENSION
from extension_harness.storage import DatabaseDump
from migrations.onetalk import StoreNewerError, open_store
from storage_schema import Factory

__all__ = ["old"]


def test_a_fresh_database_has_every_store_and_index(old: Profile) -> None:
    """OT-10, OT-16: these and no others; no index that nobody reads."""
    old.browser.update(old.inert)
    old.storage.clear_databases()
    after = old.update()
    check_shape(after)
    assert set(after.stores) == set(TODAY)
    assert old.storage.databases() == {after.name: 10}


@pytest.mark.parametrize("version", [1, 6])
def test_what_is_older_than_7_begins_anew(old: Profile, version: int) -> None:
    """OT-11, OT-15, known bug 30: nothing of the five is kept, no key and no index."""
    database = described(version)
    old.give(database)
    before, digests = old.dump(), old.digests()
    check_is_made(before, database)
    after = old.update()
    check_shape(after)
    assert {name: after.records(name) for name in OURS} == dict.fromkeys(OURS, ())
    others = {name: each for name, each in before.stores.items() if name not in OURS}
    assert {name: after.stores[name] for name in others} == others
    kept = {name: each for name, each in digests.items() if name not in OURS}
    assert check_kept(kept, old.digests()) == 8
    check_configuration(old.storage)
    assert after == upgraded_in_model(database, 10)


@pytest.mark.parametrize("version", [7, 8, 9])
def test_from_version_7_on_every_record_is_kept(old: Profile, version: int) -> None:
    """OT-12 to OT-15, known bug 30: old duplicates and odd records are no obstacle."""
    database = described(version)
    old.give(database)
    before, digests = old.dump(), old.digests()
    check_is_made(before, database)
    after = old.update()
    check_shape(after)
    check_only_added(before, after)
    assert check_kept(digests, old.digests()) == record_count(database)
    check_configuration(old.storage)
    assert after == upgraded_in_model(database, 10)


def test_version_by_version_every_record_is_kept(
    old: Profile, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """OT-12 to OT-15: 7, 8, 9, 10, each by its own build, each adds its own alone."""
    folder = tmp_path_factory.mktemp("builds")
    database = described(7)
    old.give(database)
    seen, digests = old.dump(), old.digests()
    added = {8: {BOOTSTRAPS}, 9: {CARDS}, 10: set(TODAY) - {*FIVE, BOOTSTRAPS, CARDS}}
    for version in (8, 9, 10):
        if version == 10:
            after = old.update()
        else:
            old.browser.update(old_build(folder / str(version), version))
            after = old.settled(version)
        assert after.version == version
        assert set(after.stores) - set(seen.stores) == added[version]
        check_only_added(seen, after)
        if version < 10:
            shapes = {each.name: each for each in shape_of(version)}
            found = {name: without_records(after.stores[name]) for name in shapes}
            assert found == shapes
        assert check_kept(digests, old.digests()) == record_count(database)
        assert after == upgraded_in_model(database, *range(8, version + 1))
        seen = after
    check_shape(seen)
    check_configuration(old.storage)


def test_an_older_build_touches_nothing_and_says_that_the_store_is_newer(
    old: Profile, tmp_path: Path
) -> None:
    """OT-21, known bug 46: a build of version 9 on version 10, and back."""
    old.give(described(9))
    upgraded = old.update()
    old.browser.update(old_build(tmp_path / "9", 9))
    check_refused_as_newer(old)
    assert old.dump() == upgraded
    assert old.update() == upgraded
    check_configuration(old.storage)


def test_a_version_of_the_future_is_left_alone(old: Profile) -> None:
    """OT-21, known bug 46: this build on version 11; in the model as in the browser."""
    future = replace(described(9), version=11)
    old.give(future)
    before = old.dump()
    old.browser.update(OWN_EXTENSION)
    check_refused_as_newer(old)
    assert old.dump() == before
    with pytest.raises(StoreNewerError):
        upgraded_in_model(future, 10)


def check_refused_as_newer(old: Profile) -> None:
    """The worker and the popup say it in words."""
    fault = worker_status(old.browser)["lastFault"]
    assert fault["code"] == "store_newer", fault
    with old.browser.extension_page("pages/popup.html") as popup:
        popup.wait_for(f"{LAST_ERROR}.includes('written by a newer version')")


def upgraded_in_model(database: DatabaseDump, *versions: int) -> DatabaseDump:
    """The same database after the same upgrades in the model of IndexedDB."""
    factory = Factory()
    build_in_model(factory, database)
    for version in versions:
        connection = open_store(factory, version)
        after = model_dump(connection)
        connection.close()
    return after


def check_is_made(found: DatabaseDump, wanted: DatabaseDump) -> None:
    """The profile has what is described, or the test shows nothing."""
    assert found.version == wanted.version
    for name, store in wanted.stores.items():
        assert without_records(found.stores[name]) == without_records(store)
        assert found.records(name) == wanted.records(name), name
    assert set(found.stores) == set(wanted.stores)


def check_only_added(before: DatabaseDump, after: DatabaseDump) -> None:
    """Every store, record, index and entry is as before; what is new is empty."""
    for name, store in before.stores.items():
        assert after.stores[name].records == store.records, name
        now = {index.name: index for index in after.stores[name].indexes}
        for index in store.indexes:
            assert now[index.name] == index, f"{name}.{index.name}"
    for name in set(after.stores) - set(before.stores):
        assert after.records(name) == (), name


def record_count(database: DatabaseDump) -> int:
    return sum(len(store.records) for store in database.stores.values())
