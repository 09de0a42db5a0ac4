"""What is kept of a failed test: one folder, written once, named in the report."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from extension_harness.browser import Browser
from extension_harness.errors import HarnessError
from extension_harness.server import BrightServer
from extension_harness.storage import ExtensionStorage
from extension_harness.tab import Page, attach_page

Collector = Callable[[Path], object]


class Evidence:
    """Collectors that write into the folder of a test when it has failed.

    A collector that fails leaves ``NAME.error.txt`` instead: evidence never hides the
    failure that it is about.
    """

    def __init__(self, folder: Path) -> None:
        """Use this folder; it is made, or emptied, when something is collected."""
        self.folder = folder
        self._collectors: dict[str, Collector] = {}
        self._collected = False

    def add(self, name: str, collector: Collector) -> None:
        """Call ``collector`` with the path ``folder/name`` on failure."""
        self._collectors[name] = collector

    def collect(self) -> Path:
        """Write everything, once; gives the folder."""
        if self._collected:
            return self.folder
        self._collected = True
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name, collector in self._collectors.items():
            try:
                collector(self.folder / name)
            except Exception as error:  # noqa: BLE001 - told in the folder
                (self.folder / f"{name}.error.txt").write_text(repr(error), "utf-8")
        return self.folder


def of_browser(browser: Browser) -> Collector:
    """Collects Chromium's log, its targets and a picture of each tab."""

    def collect(folder: Path) -> None:
        folder.mkdir()
        if browser.log.exists():
            shutil.copy(browser.log, folder / "chromium.log")
        if not browser.running:
            return
        targets = browser.devtools.targets()
        (folder / "targets.json").write_text(json.dumps(targets, indent=1), "utf-8")
        pages = [target for target in targets if target["type"] == "page"]
        for number, target in enumerate(pages):
            page: Page = attach_page(browser.devtools, target["targetId"])
            try:
                page.screenshot(folder / f"tab-{number}.png")
            except HarnessError as error:
                (folder / f"tab-{number}.txt").write_text(str(error), "utf-8")

    return collect


def copy_of(source: Path) -> Collector:
    """Collects a copy of a file, as it is at that moment."""
    return lambda target: shutil.copy(source, target) if source.exists() else None


def rows_of(server: BrightServer) -> Collector:
    """Collects the server's store, whether it runs or not."""

    def collect(path: Path) -> None:
        path.write_text(server.run("store", "dump"), "utf-8")

    return collect


def database_of(browser: Browser, name: str) -> Collector:
    """Collects a database of the extension, while the browser runs."""

    def collect(path: Path) -> None:
        found = asdict(ExtensionStorage(browser).dump(name))
        # Escaped: a record may hold a lone surrogate, which UTF-8 has no bytes for.
        path.write_text(json.dumps(found, indent=1), "ascii")

    return collect
