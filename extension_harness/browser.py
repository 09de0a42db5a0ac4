"""A real Chromium with one unpacked extension in it, proven to be loaded.

`Browser.launch` starts it, `close` ends it politely, `kill` by SIGKILL to the whole
process group, `reopen` starts it on the same profile again, `update` puts another build
in the extension's place. Nothing attaches to the service worker (detached mode), so
that it lives and dies as at a user's.
"""

import atexit
import contextlib
import logging
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from extension_harness.devtools.cdp import DevTools
from extension_harness.errors import (
    AttachedMode,
    BrowserStartError,
    DevToolsClosedError,
    DevToolsError,
    ExtensionNotActivatedError,
    ExtensionUpdateError,
    HarnessError,
    TrapFiredError,
)
from extension_harness.launch.browser_process import (
    LOG_NAME,
    BrowserProcess,
    LaunchOptions,
)
from extension_harness.launch.chromium import Chromium, find
from extension_harness.launch.loading import prove_loaded
from extension_harness.launch.unpacked import UnpackedExtension
from extension_harness.launch.update import reload_extension, replaced
from extension_harness.tab import Page, open_page
from extension_harness.timeline import Timeline
from extension_harness.waiting import countdown
from extension_harness.worker import Worker

if TYPE_CHECKING:
    from playwright.sync_api import Browser as PlaywrightBrowser

logger = logging.getLogger(__name__)

START_SECONDS = 60.0


class Browser:
    """One profile and the Chromium that runs on it; use it as a context manager."""

    def __init__(
        self,
        chromium: Chromium,
        extension: UnpackedExtension,
        profile: Path | None,
        options: LaunchOptions,
        timeline: Timeline,
    ) -> None:
        """Hold what is needed; `launch` makes and starts one."""
        self.chromium = chromium
        self.extension = extension
        self.timeline = timeline
        self._options = options
        self._updatable = False
        self._home = Path(tempfile.mkdtemp(prefix="extension-harness-"))
        self.profile = profile if profile is not None else self._home / "profile"
        self.profile.mkdir(parents=True, exist_ok=True)
        self.log = self._home / LOG_NAME
        self._process: BrowserProcess | None = None
        self._devtools: DevTools | None = None
        self.worker = Worker(self._connection, extension, timeline)
        atexit.register(self._end)

    @classmethod
    def launch(
        cls,
        extension: Path,
        *,
        profile: Path | None = None,
        chromium: Chromium | None = None,
        options: LaunchOptions | None = None,
        timeline: Timeline | None = None,
        timeout: float = START_SECONDS,
        updatable: bool = False,
    ) -> "Browser":
        """Start Chromium with the extension and prove that it is loaded.

        Args:
            extension: The unpacked folder, loaded as it is.
            updatable: Load a copy of it, which `update` may overwrite. Without a pinned
                key the copy has an id of its own, which each update keeps.
            profile: Kept afterwards; None makes one that goes with the browser.
            chromium: As `chromium.find` gives it; None looks for one.
            options: Headless and without mapped hosts unless they say otherwise.
            timeline: Where events are recorded.
            timeout: Seconds until the extension must have been proven.

        Raises ChromiumNotFoundError, ChromiumUnusableError, ProfileInUseError,
        BrowserStartError, ExtensionNotLoadedError; then nothing is left running.
        """
        browser = cls(
            chromium or find(),
            UnpackedExtension.read(extension),
            profile,
            options or LaunchOptions(),
            timeline or Timeline(),
        )
        try:
            if updatable:
                browser._load_copy()
            browser.reopen(timeout)
        except BaseException:
            browser.close()
            raise
        return browser

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def extension_id(self) -> str:
        """The id under which the extension is loaded."""
        return self.extension.identifier

    @property
    def devtools(self) -> DevTools:
        """The DevTools connection. Raises DevToolsClosedError while no browser runs."""
        return self._connection()

    @property
    def running(self) -> bool:
        """Whether Chromium is alive."""
        return self._process is not None and self._process.running

    def reopen(self, timeout: float = START_SECONDS) -> None:
        """Start Chromium on the profile and prove the extension again.

        A browser that knows the extension and does not activate its worker is started
        once more (docs/harness.md), with ``browser.again`` in the timeline.

        Raises BrowserStartError when this browser still runs, and as `launch`.
        """
        if self.running:
            raise BrowserStartError(
                f"this browser still runs on {self.profile}; close or kill it first"
            )
        left = countdown(timeout)
        try:
            process = self._start(left)
        except ExtensionNotActivatedError as failed:
            logger.warning("Chromium is started once more: %s", failed)
            self.timeline.record("browser.again", reason=str(failed))
            self.quit()
            process = self._start(countdown(timeout))
        self.timeline.record("browser.open", pid=process.pid)

    def _start(self, left: Callable[[], float]) -> BrowserProcess:
        self._release()
        switches = self._options.switches(self.profile, self.extension.folder)
        process = BrowserProcess(self.chromium, self.profile, switches, self._home)
        self._process = process
        self._devtools = DevTools(process.devtools_url(left()))
        self.worker.watch(self._devtools)
        prove_loaded(self._devtools, self.extension, process.log_tail, left())
        return process

    def update(self, extension: Path, timeout: float = START_SECONDS) -> None:
        """Put this build in the loaded one's place, keeping id, profile and data.

        A running browser unloads the old build, closes its pages and loads the new one,
        as it does for an update at a user's; of one that was ended only the files are
        replaced, and `reopen` starts with them. An older build may follow a newer one.

        Raises ExtensionUpdateError, with nothing replaced: not launched ``updatable``,
        or its id would be another. Raises as `reload_extension`.
        """
        if not self._updatable:
            raise ExtensionUpdateError(
                f"{self.extension.folder} is loaded as it lies there and is not "
                "overwritten; launch with updatable=True to load a copy"
            )
        self._take(replaced(self.extension, extension))
        self.timeline.record("extension.replaced", version=self.extension.version)
        if self.running:
            self.reload_extension(timeout)

    def reload_extension(self, timeout: float = START_SECONDS) -> None:
        """Unload the extension and load its folder again, proven; its pages close.

        Raises DevToolsClosedError, ExtensionNotLoadedError, WaitTimeoutError; and
        TrapFiredError, whatever else came of it, when a trap that is set fires before
        the worker is activated.
        """
        left = countdown(timeout)
        process, sprung_before = self._process, self.worker.sprung is not None
        failure: HarnessError | None = None
        try:
            reload_extension(self.devtools, self.extension, left())
            tail = process.log_tail if process is not None else str
            prove_loaded(self.devtools, self.extension, tail, left())
        except HarnessError as failed:
            failure = failed
        trap = self.worker.sprung
        if trap is not None and not sprung_before:
            raise TrapFiredError(str(self.extension.folder), str(trap)) from failure
        if failure is not None:
            raise failure
        self.timeline.record("extension.reloaded")

    def open(self, url: str, *, wait: bool = True, timeout: float = 30.0) -> Page:
        """Open a tab at ``url``; with ``wait``, once its load event came."""
        page = open_page(self.devtools, "about:blank" if wait else url)
        if wait:
            try:
                page.goto(url, timeout)
            except BaseException:
                page.close()
                raise
        return page

    def extension_page(self, path: str = "manifest.json") -> Page:
        """Open a document of the extension's origin, with its storage and ``chrome.*``.

        ``manifest.json`` runs none of the extension's code. Such a tab does not keep
        the worker alive (measured: it died after 30.2 s with one open).
        """
        page = open_page(
            self.devtools,
            f"{self.extension.origin}/{path}",
            background=path == "manifest.json",  # no tab in front becomes hidden by it
        )
        page.wait_for("location.protocol === 'chrome-extension:' && !!chrome.runtime")
        return page

    @contextlib.contextmanager
    def playwright(self) -> Iterator["PlaywrightBrowser"]:
        """Drive it with Playwright: attached mode, and a warning that says so."""
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - optional

        warnings.warn(
            AttachedMode("Playwright attaches to the worker: idle death cannot occur"),
            stacklevel=3,
        )
        process = self._process
        if process is None:
            raise DevToolsClosedError("no browser runs; reopen it first")
        address = process.devtools_url(1.0).removeprefix("ws://").split("/", 1)[0]
        with sync_playwright() as driver:
            connected = driver.chromium.connect_over_cdp(f"http://{address}")
            try:
                yield connected
            finally:
                connected.close()

    def kill(self) -> None:
        """SIGKILL to all of Chromium, as a crash does. Keeps the profile."""
        if self._process is not None:
            self.timeline.record("browser.kill", pid=self._process.pid)
            self._process.kill()
        self._release()

    def quit(self, timeout: float = 10.0) -> None:
        """End Chromium as a user does; by SIGKILL when late. Keeps the profile."""
        if self._process is None:
            return
        if self._process.running and self._devtools is not None:
            with contextlib.suppress(DevToolsError):
                self._devtools.call("Browser.close", timeout=timeout)
            if not self._process.wait_ended(timeout):
                self.timeline.record("browser.slow_quit", pid=self._process.pid)
        self._process.kill()  # what of its group outlived it
        self.timeline.record("browser.quit", pid=self._process.pid)
        self._release()

    def close(self) -> None:
        """Quit, and remove every folder that this browser made. Twice is no error."""
        self.quit()
        atexit.unregister(self._end)
        shutil.rmtree(self._home, ignore_errors=True)

    def _load_copy(self) -> None:
        folder = self._home / "extension"
        shutil.copytree(self.extension.folder, folder)
        self._updatable = True
        self._take(UnpackedExtension.read(folder))

    def _take(self, extension: UnpackedExtension) -> None:
        """Look for this one from now on; its worker may have another script."""
        self.extension = extension
        self.worker.follow(extension)

    def _connection(self) -> DevTools:
        if self._devtools is None:
            raise DevToolsClosedError("no browser runs; reopen it first")
        return self._devtools

    def _release(self) -> None:
        if self._devtools is not None:
            self._devtools.close()
        self._devtools = None
        self._process = None

    def _end(self) -> None:
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)
