"""The harness starts, proves, kills and reopens a real Chromium."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from e2e.conftest import FIXTURES
from extension_harness.browser import Browser
from extension_harness.errors import (
    BrowserStartError,
    DevToolsClosedError,
    ExtensionNotActivatedError,
    ExtensionNotLoadedError,
    ProfileInUseError,
)
from extension_harness.launch.chromium import Chromium
from extension_harness.storage import ExtensionStorage
from extension_harness.timeline import Timeline
from extension_harness.waiting import wait_until

RECORDER = FIXTURES / "recorder"
PINNED_ID = "knodljakdhdobogleippahmnmegodcdi"


def processes_on(profile: Path) -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        if any(str(profile) in each for each in process.info["cmdline"] or ()):
            found.append(process.pid)
    return found


def copy_without_key(target: Path) -> Path:
    shutil.copytree(RECORDER, target)
    manifest = json.loads((target / "manifest.json").read_text())
    del manifest["key"]
    (target / "manifest.json").write_text(json.dumps(manifest))
    return target


@pytest.mark.extension(RECORDER)
def test_the_extension_is_loaded_under_its_pinned_id(browser: Browser) -> None:
    assert browser.extension_id == PINNED_ID
    with browser.extension_page() as page:
        assert page.evaluate("chrome.runtime.id") == PINNED_ID


def test_nothing_is_left_of_a_closed_browser(chromium: Chromium) -> None:
    with Browser.launch(RECORDER, chromium=chromium) as browser:
        profile = browser.profile
        assert processes_on(profile)
    wait_until(lambda: processes_on(profile) == [], 20, "every process to be gone")
    assert not profile.parent.exists()


def test_a_killed_browsers_temporary_folders_go_with_it(chromium: Chromium) -> None:
    with Browser.launch(RECORDER, chromium=chromium) as browser:
        socket = (browser.profile / "SingletonSocket").readlink()
        assert socket.is_relative_to(browser.profile.parent)
        browser.kill()
    assert not socket.parent.exists()


def test_sigkill_ends_the_whole_group_and_the_profile_opens_again_ten_times(
    chromium: Chromium,
) -> None:
    """Known bug 35: what a crash leaves behind must not lock anybody out."""
    with Browser.launch(RECORDER, chromium=chromium) as browser:
        storage = ExtensionStorage(browser)
        lives = set()
        for round_number in range(10):
            storage.set({"round": round_number})
            browser.kill()
            assert processes_on(browser.profile) == []
            browser.reopen()
            browser.worker.wake()
            lives.add(browser.worker.boot_id())
    assert len(lives) == 10


def test_a_profile_with_a_live_owner_is_refused_and_its_lock_left_alone(
    chromium: Chromium, tmp_path: Path
) -> None:
    """Known bug 35: deleting the lock of a live browser corrupts the profile."""
    profile = tmp_path / "profile"
    with Browser.launch(RECORDER, chromium=chromium, profile=profile) as owner:
        lock = (profile / "SingletonLock").readlink()
        with pytest.raises(ProfileInUseError, match="belongs to the running process"):
            Browser.launch(RECORDER, chromium=chromium, profile=profile)
        assert (profile / "SingletonLock").readlink() == lock
        assert owner.running
        assert owner.worker.script_url in str(owner.devtools.targets())


def test_a_browser_that_runs_is_not_opened_a_second_time(chromium: Chromium) -> None:
    with Browser.launch(RECORDER, chromium=chromium) as browser:
        with pytest.raises(BrowserStartError, match="still runs"):
            browser.reopen()
        browser.quit()
        with pytest.raises(DevToolsClosedError, match="no browser runs"):
            browser.open("about:blank")


def test_what_was_stored_survives_the_browsers_death(chromium: Chromium) -> None:
    with Browser.launch(RECORDER, chromium=chromium) as browser:
        with browser.extension_page() as page:
            page.evaluate("chrome.runtime.sendMessage({record: 'kept'})")
        browser.kill()
        browser.reopen()
        rows = ExtensionStorage(browser).dump("recorder").records("rows")
    assert rows == ({"id": "kept", "state": "pending"},)


def test_without_a_pinned_key_the_id_is_told_from_the_folder(
    chromium: Chromium, tmp_path: Path
) -> None:
    """Known bug 55: two folders, two origins, known before anything is seeded."""
    ids = []
    for name in ("first", "second"):
        folder = copy_without_key(tmp_path / name)
        with Browser.launch(folder, chromium=chromium) as browser:
            assert not browser.extension.pinned
            with browser.extension_page() as page:
                assert page.evaluate("chrome.runtime.id") == browser.extension_id
            ids.append(browser.extension_id)
    assert len(set(ids)) == 2


def test_the_same_pinned_extension_has_one_id_from_two_folders(
    chromium: Chromium, tmp_path: Path
) -> None:
    """Known bug 55."""
    shutil.copytree(RECORDER, tmp_path / "copy")
    with Browser.launch(tmp_path / "copy", chromium=chromium) as browser:
        assert browser.extension_id == PINNED_ID


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"permissions": "storage"}, "permissions", id="mistyped-field"),
        pytest.param({"version": "one"}, "version", id="bad-version"),
        pytest.param({"name": None}, "name", id="no-name"),
        pytest.param(
            {"minimum_chrome_version": "9999"}, "version", id="needs-a-newer-chrome"
        ),
    ],
)
def test_a_manifest_that_chromium_refuses_is_told_with_chromiums_reason(
    chromium: Chromium, tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    """Known bug 56: the reason long before the time is over, never a time-out."""
    folder = tmp_path / "broken"
    shutil.copytree(RECORDER, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, **change}))
    began = time.monotonic()
    with pytest.raises(ExtensionNotLoadedError) as refusal:
        Browser.launch(folder, chromium=chromium, timeout=150)
    assert time.monotonic() - began < 30
    assert reason in str(refusal.value).lower()
    assert "targets seen" in str(refusal.value)
    wait_until(lambda: processes_on(folder) == [], 20, "every process to be gone")


def test_a_worker_whose_script_does_not_start_is_told_as_such(
    chromium: Chromium, tmp_path: Path
) -> None:
    """Known bug 62: a registration that fails is named, with its script."""
    folder = tmp_path / "throws"
    shutil.copytree(RECORDER, folder)
    (folder / "service-worker.js").write_text("const value = ;\n")
    reason = r"service-worker\.js is not registered: Uncaught SyntaxError"
    with pytest.raises(ExtensionNotLoadedError, match=reason):
        Browser.launch(folder, chromium=chromium)


def test_an_error_of_a_worker_that_comes_all_the_same_is_not_blamed(
    chromium: Chromium, tmp_path: Path
) -> None:
    """It is in the browser's log before the worker is activated, and no reason."""
    folder = tmp_path / "throws later"
    shutil.copytree(RECORDER, folder)
    script = folder / "service-worker.js"
    throws = "setTimeout(() => { throw new TypeError('of no consequence'); });"
    slowly = (
        "self.addEventListener('install', e => e.waitUntil("
        "new Promise(resolve => setTimeout(resolve, 4_000))));"
    )
    script.write_text(throws + slowly + script.read_text())
    with Browser.launch(folder, chromium=chromium) as browser:
        browser.worker.wait_running()


def test_a_worker_that_is_not_activated_is_told_after_another_start(
    chromium: Chromium, timeline: Timeline, tmp_path: Path
) -> None:
    """The fault may be the browser's: it is started once more; then it is told."""
    folder = tmp_path / "installs for ever"
    shutil.copytree(RECORDER, folder)
    script = folder / "service-worker.js"
    forever = (
        "self.addEventListener('install', e => e.waitUntil(new Promise(() => 0)));"
    )
    script.write_text(forever + script.read_text())
    with pytest.raises(ExtensionNotActivatedError, match="installing running"):
        Browser.launch(folder, chromium=chromium, timeline=timeline, timeout=16)
    (again,) = timeline.events("browser.again")
    assert "installing running" in str(again.facts["reason"])


@pytest.mark.timeout(600)
def test_every_launch_finds_the_worker_while_the_processors_are_busy(
    chromium: Chromium,
) -> None:
    """Known bug 25, reduced to eight launches: none starts too early to be seen."""
    spin = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(spin) for _ in range(psutil.cpu_count() or 2)]
    try:
        for _ in range(8):
            with Browser.launch(RECORDER, chromium=chromium, timeout=60) as browser:
                browser.worker.wake(timeout=30)
                assert browser.worker.boot_id(timeout=30)
    finally:
        for each in busy:
            each.kill()
            each.wait()
