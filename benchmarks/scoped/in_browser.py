"""A real Chromium whose extension's store is filled and read through its own modules.

The benchmark runs in a document of the extension's origin; the service worker is
stopped, so that nothing else uses the store meanwhile.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from benchmarks.errors import ChildError, MiscountError
from benchmarks.options import Tell
from benchmarks.scoped.work import STORES, ScopedWork
from extension_harness.browser import Browser
from extension_harness.errors import HarnessError
from extension_harness.tab import Page

EXTENSION = Path(str(files("extension_harness").joinpath("extension")))
_IN_PAGE = Path(__file__).with_name("in_page.js")
_SECONDS = 600.0
_ACCOUNTS_AT_ONCE = 20


class InBrowser:
    """One Chromium on a profile of its own; made by `in_browser`."""

    def __init__(self, browser: Browser, plan: dict[str, Any]) -> None:
        self._browser = browser
        self._plan = plan
        self._page: Page | None = None

    @property
    def version(self) -> str:
        """What Chromium calls itself."""
        return str(self._browser.chromium.version)

    def fill(self, work: ScopedWork, *, others: bool, tell: Tell) -> None:
        """Store the account's records, with everybody else's if `others`, and restart.

        Raises:
            MiscountError: if not exactly these are there afterwards.
        """
        self._load()
        accounts = [self._plan["account"], *(work.others_ids if others else [])]
        for start in range(0, len(accounts), _ACCOUNTS_AT_ONCE):
            self._call("fill", accounts[start : start + _ACCOUNTS_AT_ONCE])
            if start:
                done = min(start + _ACCOUNTS_AT_ONCE, len(accounts))
                tell(f"Chromium: {done * work.pending:,} records in each store")
        self._browser.quit()  # what was just written is no warmer than the rest
        self._browser.reopen()
        self._load()
        counts = self._call("count")
        if counts != dict.fromkeys(STORES, len(accounts) * work.pending):
            raise MiscountError(f"the stores hold {counts} after they were filled")

    def reads(self, number: int) -> dict[str, Any]:
        """One round of reads: milliseconds, counts and digests by read."""
        self._browser.worker.stop()
        return dict(self._call("readRound", number))

    def writes(self, number: int) -> dict[str, Any]:
        """One round of strict writes: seconds and digests of both ways."""
        self._browser.worker.stop()
        return dict(self._call("writeRound", number))

    def _load(self) -> None:
        self._browser.worker.stop()
        self._page = self._browser.extension_page()
        self._page.evaluate(_IN_PAGE.read_text(encoding="utf-8"), timeout=_SECONDS)

    def _call(self, function: str, *arguments: object) -> dict[str, Any]:
        assert self._page is not None, "it is filled first"  # noqa: S101
        called = f"(...given) => bench.{function}(...given)"
        answer = self._page.evaluate(called, self._plan, *arguments, timeout=_SECONDS)
        return cast("dict[str, Any]", answer)


@contextmanager
def in_browser(profile: Path, work: ScopedWork) -> Iterator[InBrowser]:
    """A running one, gone afterwards; the profile's folder is the caller's.

    Raises:
        ChildError: if Chromium or the extension in it fails.
    """
    try:
        with Browser.launch(EXTENSION, profile=profile) as browser:
            yield InBrowser(browser, work.to_plan())
    except HarnessError as cause:
        raise ChildError(f"Chromium: {cause}") from cause
