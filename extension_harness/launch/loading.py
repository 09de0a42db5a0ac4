"""Proof that the browser runs the extension that is in the folder.

The proof is positive: a document of the extension's own origin tells its manifest, and
its service worker is registered. What fails is told with its reason, never as a
time-out of something later.
"""

import logging
import re
from collections.abc import Callable

from extension_harness.devtools.cdp import DevTools
from extension_harness.devtools.service_workers import Version, visit
from extension_harness.errors import (
    DevToolsError,
    EvaluationError,
    ExtensionNotActivatedError,
    ExtensionNotLoadedError,
    WaitTimeoutError,
)
from extension_harness.launch.unpacked import UnpackedExtension
from extension_harness.tab import open_page
from extension_harness.waiting import countdown

logger = logging.getLogger(__name__)

FIRST_SECONDS = 2.0
"""After this long without an answer the browser is asked why."""
BLAME_SECONDS = 10.0
"""So long an error in the browser's log is not yet why there is no worker.

A life that an update ended may have thrown it.
"""
WORKER_SECONDS = 30.0
"""How long a loaded extension's worker may take to be activated."""
STATES = 8
"""How many of the states that a worker's versions were in an error names."""
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

    Raises ExtensionNotLoadedError, naming Chromium's own reason and the targets seen;
    ExtensionNotActivatedError when only its worker does not become active.
    """
    left = countdown(timeout)
    asked = False
    while not _answers(devtools, extension, min(left(), FIRST_SECONDS)):
        if not asked and not is_known(devtools, extension):
            asked = True
            _ask_why(devtools, extension)
        if not left():
            raise ExtensionNotLoadedError(
                str(extension.folder),
                f"its origin {extension.origin} does not answer within {timeout:g} s",
                _seen(devtools),
            )
    if extension.service_worker is not None:
        _prove_registered(devtools, extension, log_tail, min(left(), WORKER_SECONDS))


def is_known(devtools: DevTools, extension: UnpackedExtension) -> bool:
    """Whether the browser lists the extension, though it does not answer yet."""
    try:
        answer = devtools.call("Extensions.getExtensions")
    except DevToolsError:  # older than that call
        return False
    return any(each.get("id") == extension.identifier for each in answer["extensions"])


def _ask_why(devtools: DevTools, extension: UnpackedExtension) -> None:
    """Have the browser load the folder by command, which tells what is wrong with it.

    ``--load-extension`` itself fails without a word.
    """
    try:
        devtools.call("Extensions.loadUnpacked", {"path": str(extension.folder)})
    except DevToolsError as refusal:
        raise ExtensionNotLoadedError(
            str(extension.folder), f"Chromium says: {refusal}", _seen(devtools)
        ) from refusal
    logger.warning(
        "--load-extension was late or ignored: %s was loaded by command",
        extension.folder,
    )


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
    left, early = countdown(timeout), countdown(min(timeout, BLAME_SECONDS))
    thrown = None
    states: list[str] = []

    def is_activated(version: Version) -> bool:
        states.append(f"{version.version_id} {version.status} {version.running_status}")
        return version.status == "activated"

    with visit(devtools) as domain:
        url = f"{extension.origin}/{script}"
        while left() and (thrown is None or early()):
            # Before it is activated Chromium itself starts a stopped worker once more.
            if domain.version(url, min(left(), FIRST_SECONDS), is_activated):
                return
            thrown = re.search(
                rf'"(Uncaught [^"]*)", source: {re.escape(extension.origin)}',
                log_tail(),
            )
    if thrown is not None:
        raise ExtensionNotLoadedError(
            str(extension.folder),
            f"its service worker {script} is not registered: {thrown.group(1)}",
            _seen(devtools),
        )
    raise ExtensionNotActivatedError(
        str(extension.folder),
        f"its service worker {script} is not activated within {timeout:g} s; versions "
        f"seen: {', '.join(states[-STATES:]) or 'none'}",
        _seen(devtools),
    )


def _seen(devtools: DevTools) -> list[str]:
    try:
        return [
            f"{target['type']} {target['url']}"
            + " (held by a debugger)" * bool(target["attached"])
            for target in devtools.targets()
        ]
    except DevToolsError:
        return []
