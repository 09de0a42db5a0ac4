"""The harness puts another build in a loaded extension's place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from e2e.conftest import FIXTURES
from extension_harness.armed_trap import Action
from extension_harness.browser import Browser
from extension_harness.errors import (
    ExtensionNotLoadedError,
    ExtensionUpdateError,
    TrapFiredError,
)
from extension_harness.launch.chromium import Chromium
from extension_harness.storage import ExtensionStorage
from extension_harness.traps import Trap

RECORDER = FIXTURES / "recorder"
# The release itself may be activated before or after the upgrade.
ACTIVATED_ONCE_UPGRADED = """
const upgraded = new Promise((resolve) => {
  indexedDB.open("notebook", 2).onsuccess = resolve;
});
self.addEventListener("install", (event) => event.waitUntil(upgraded));
"""


def build(folder: Path, version: str, **manifest: object) -> Path:
    """The recorder of another version, with a worker that says which it is."""
    shutil.copytree(RECORDER, folder)
    path = folder / "manifest.json"
    told = {**json.loads(path.read_text("utf-8")), "version": version, **manifest}
    told["background"] = {"service_worker": f"worker-{version}.js"}
    path.write_text(json.dumps(told), "utf-8")
    script = folder / f"worker-{version}.js"
    script.write_text(f"globalThis.build = {version!r};\n", "utf-8")
    return folder


def test_an_update_keeps_id_and_data_and_runs_the_new_code(
    chromium: Chromium, tmp_path: Path
) -> None:
    """While it runs, after a kill, after an end, and back to the older build."""
    old, new = build(tmp_path / "old", "1.0"), build(tmp_path / "new", "2.0")
    with Browser.launch(old, chromium=chromium, updatable=True) as browser:
        storage = ExtensionStorage(browser)
        identifier = browser.extension_id
        storage.set({"kept": True})
        browser.update(new)
        assert running_build(browser) == "2.0"
        browser.kill()
        browser.update(old)
        browser.reopen()
        assert running_build(browser) == "1.0"
        browser.quit()
        browser.update(new)
        browser.reopen()
        assert running_build(browser) == "2.0"
        assert browser.extension_id == identifier
        assert storage.get() == {"kept": True}
    assert (old / "worker-1.0.js").is_file(), "the given folder was written to"


def test_what_is_no_update_is_refused_and_nothing_is_replaced(
    chromium: Chromium, tmp_path: Path
) -> None:
    """Known bug 55: another id is another origin, whose data would only seem lost."""
    old, new = build(tmp_path / "old", "1.0"), build(tmp_path / "new", "2.0")
    other = build(tmp_path / "other", "3.0", key="AAAA")
    with Browser.launch(old, chromium=chromium, updatable=True) as browser:
        with pytest.raises(ExtensionUpdateError, match="another id"):
            browser.update(other)
        with pytest.raises(ExtensionNotLoadedError, match=r"manifest\.json"):
            browser.update(tmp_path / "nothing")
        browser.worker.wake()
        assert running_build(browser) == "1.0"
    with Browser.launch(old, chromium=chromium) as browser:
        with pytest.raises(ExtensionUpdateError, match="updatable"):
            browser.update(new)
        assert json.loads((old / "manifest.json").read_text())["version"] == "1.0"


@pytest.mark.parametrize("action", ["kill", "browser.kill"])
def test_an_update_in_which_a_trap_fires_says_so(
    chromium: Chromium, tmp_path: Path, action: str
) -> None:
    """The trap has done its work; what to do is in the words."""
    notebook = FIXTURES / "notebook"
    patient = shutil.copytree(notebook / "2", tmp_path / "patient")
    with (patient / "service-worker.js").open("a", encoding="utf-8") as script:
        script.write(ACTIVATED_ONCE_UPGRADED)
    with Browser.launch(notebook / "1", chromium=chromium, updatable=True) as browser:
        done: Action = "kill" if action == "kill" else browser.kill
        with browser.worker.trap(Trap.schema("createIndex", "notes"), done) as armed:
            with pytest.raises(TrapFiredError, match="a trap fired while"):
                browser.update(patient, timeout=20)
            assert armed.wait().kind == "createIndex"


def test_a_trap_that_fired_before_is_no_excuse(
    chromium: Chromium, tmp_path: Path
) -> None:
    notebook = FIXTURES / "notebook"
    broken = shutil.copytree(notebook / "2", tmp_path / "broken")
    (broken / "service-worker.js").write_text("throw new Error('no');\n", "utf-8")
    with Browser.launch(notebook / "1", chromium=chromium, updatable=True) as browser:
        browser.worker.stop()
        ExtensionStorage(browser).clear_databases()
        with browser.worker.trap(Trap.schema("createIndex", "notes")) as armed:
            browser.worker.wake()
            armed.wait()
            with pytest.raises(ExtensionNotLoadedError) as told:
                browser.update(broken)
        assert not isinstance(told.value, TrapFiredError)


def running_build(browser: Browser) -> str:
    browser.worker.wake()
    return str(browser.worker.evaluate("build"))
