"""Proof that the browser runs the extension that is in the folder.

The proof is positive: a document of the extension's own origin tells its manifest, and
its service worker is registered. What fails is told with its reason, never as a
time-out of something later.
"""

import re
from collections.abc import Callable

from extension_harness.cdp import DevTools
from extension_harness.errors import (
    DevToolsError,
    EvaluationError,
    ExtensionNotLoadedError,
    WaitTimeoutError,
)
from extension_harness.service_workers import visit
from extension_harness.tab import open_page
from extension_harness.unpacked import UnpackedExtension
from extension_harness.waiting import countdown

REFUSALS = re.compile(
    r"(Failed to load extension from.*|Loading of unpacked extensions.*|"
    r"--load-extension is not allowed.*|Service worker registration failed.*)"
)
# Runs in the document: null until the origin is the extension's and the API is there.
MANIFEST = """
location.protocol === "chrome-extension:" && globalThis.chrome?.runtime?.id
  ? {id: chrome.runtime.id, version: chrome.runtime.getManifest().version} : null"""


def prove_loaded(
    devtools: DevTools,
    extension: UnpackedExtension,
    log_tail: Callable[[], str],
    timeout: float,
) -> None:
    """Prove that the extension is loaded and its worker registered.

    Raises ExtensionNotLoadedError, naming Chromium's own reason and the targets seen.
    """
    left = countdown(timeout)
    while not _answers(devtools, extension, min(left(), 2.0)):
        refusal = REFUSALS.search(log_tail())
        if refusal is not None:
            raise ExtensionNotLoadedError(
                str(extension.folder), refusal.group(0).strip(), _seen(devtools)
            )
        if not left():
            raise ExtensionNotLoadedError(
                str(extension.folder),
                f"its origin {extension.origin} does not answer within {timeout:g} s",
                _seen(devtools),
            )
    if extension.service_worker is not None:
        _prove_registered(devtools, extension, log_tail, max(left(), 5.0))


def _answers(devtools: DevTools, extension: UnpackedExtension, timeout: float) -> bool:
    url = f"{extension.origin}/manifest.json"
    with open_page(devtools, url, background=True) as page:
        try:
            said = page.wait_for(MANIFEST, timeout=timeout)
        except (WaitTimeoutError, EvaluationError):
            return False
    if said["version"] != extension.version:
        raise ExtensionNotLoadedError(
            str(extension.folder),
            f"another version is loaded: {said['version']}, not {extension.version}",
        )
    return True


def _prove_registered(
    devtools: DevTools,
    extension: UnpackedExtension,
    log_tail: Callable[[], str],
    timeout: float,
) -> None:
    script = (extension.service_worker or "").lstrip("/").removeprefix("./")
    with visit(devtools) as domain:
        url = f"{extension.origin}/{script}"
        # Before it is activated Chromium itself starts a stopped worker once more.
        if domain.version(url, timeout, lambda it: it.status == "activated"):
            return
    refusal = REFUSALS.search(log_tail())
    reason = refusal.group(0) if refusal else "Chromium gave no reason"
    raise ExtensionNotLoadedError(
        str(extension.folder),
        f"its service worker {script} is not registered: {reason}",
        _seen(devtools),
    )


def _seen(devtools: DevTools) -> list[str]:
    try:
        return [f"{target['type']} {target['url']}" for target in devtools.targets()]
    except DevToolsError:
        return []
