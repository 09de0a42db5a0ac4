"""An update in place: a loaded folder gets another's content, and is loaded again.

The folder's path stays, and so does the id, pinned or not: the profile's data are met
by the new code.
"""

import contextlib
import shutil
from pathlib import Path

from extension_harness.devtools.cdp import DevTools
from extension_harness.errors import (
    DevToolsError,
    EvaluationError,
    ExtensionUpdateError,
    WaitTimeoutError,
)
from extension_harness.launch.loading import is_known
from extension_harness.launch.unpacked import UnpackedExtension
from extension_harness.tab import open_page
from extension_harness.waiting import countdown, wait_until

# Chromium loads an unpacked extension a second time in developer mode alone.
DEVELOPER_MODE = """
chrome.developerPrivate.updateProfileConfiguration({inDeveloperMode: true})"""
KNOWN_SECONDS = 5.0
"""How long a reloaded extension may take to be listed; an old Chromium lists none."""
RELOADABLE = "location.protocol === 'chrome-extension:' && !!chrome.runtime?.id"


def replaced(loaded: UnpackedExtension, source: Path) -> UnpackedExtension:
    """Give the loaded folder the source's content and read it anew.

    Raises ExtensionNotLoadedError (the source is no extension) and ExtensionUpdateError
    (it would have another id, and so other data), with the folder left as it was.
    """
    given = UnpackedExtension.read(source)
    if given.pinned != loaded.pinned or (
        given.pinned and given.identifier != loaded.identifier
    ):
        raise ExtensionUpdateError(
            f"{source} is no update of the loaded {loaded.name}: its key gives another "
            f"id than {loaded.identifier}, and so another origin with other data"
        )
    for old in loaded.folder.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()
    shutil.copytree(source, loaded.folder, dirs_exist_ok=True)
    return UnpackedExtension.read(loaded.folder)


def reload_extension(
    devtools: DevTools, extension: UnpackedExtension, timeout: float
) -> None:
    """Have the browser unload the extension and load its folder again.

    Everything of it goes: worker, pages, the content scripts' connections. Returns once
    its old pages are gone; that the new one is loaded is for the caller to prove.

    Raises WaitTimeoutError, DevToolsError.
    """
    left = countdown(timeout)
    with open_page(devtools, "chrome://extensions/") as settings:
        settings.wait_for("!!globalThis.chrome?.developerPrivate", timeout=left())
        settings.evaluate(DEVELOPER_MODE)
    page = open_page(devtools, f"{extension.origin}/manifest.json", background=True)
    page.wait_for(RELOADABLE, timeout=left())
    with contextlib.suppress(DevToolsError, EvaluationError):
        page.evaluate("chrome.runtime.reload()")  # the page goes with its extension
    wait_until(
        lambda: all(each["targetId"] != page.target_id for each in devtools.targets()),
        left(),
        f"{extension.origin} to be unloaded",
        every=0.01,
    )
    # A document that is asked for before the extension is back stays an error page.
    with contextlib.suppress(WaitTimeoutError):  # the proof says it in better words
        wait_until(
            lambda: is_known(devtools, extension),
            min(left(), KNOWN_SECONDS),
            f"{extension.origin} to be loaded again",
            every=0.01,
        )
