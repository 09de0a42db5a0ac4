"""The demo's parts, started together and ended together."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from extension_harness.browser import Browser
from extension_harness.launch import chromium
from extension_harness.launch.browser_process import LaunchOptions
from extension_harness.oracle.verdict import DATABASE, Verdict, judge
from extension_harness.page.corpus import Corpus
from extension_harness.page.server import SimulatedPage
from extension_harness.server import BrightServer
from extension_harness.storage import ExtensionStorage

EXTENSION = Path(__file__).resolve().parents[1] / "extension"
PACE_MS = 20
"""Between two pages of history; a real page is asked far more gently."""


@dataclass(frozen=True)
class Plan:
    """What the demo shows."""

    seed: int = 1
    conversations: int = 200
    messages: int = 10_000
    live_messages: int = 40
    headless: bool = True
    chromium: str | None = None


@dataclass
class Stage:
    """Simulated page, Bright and browser; leaves nothing behind."""

    plan: Plan
    page: SimulatedPage = field(init=False)
    bright: BrightServer = field(init=False)
    browser: Browser = field(init=False)
    storage: ExtensionStorage = field(init=False)
    folder: Path = field(init=False)
    _closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> Self:
        """Start page and server, then the browser with the extension configured."""
        with contextlib.ExitStack() as starting:
            self._start(starting)
            self._closing = starting.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.close()

    def _start(self, starting: contextlib.ExitStack) -> None:
        plan = self.plan
        executable = chromium.find(plan.chromium)
        self.folder = Path(tempfile.mkdtemp(prefix="bright-demo-"))
        starting.callback(shutil.rmtree, self.folder, ignore_errors=True)
        corpus = Corpus.generate(
            seed=plan.seed, conversations=plan.conversations, messages=plan.messages
        )
        self.page = starting.enter_context(SimulatedPage(corpus))
        self.bright = starting.enter_context(BrightServer(self.folder / "bright.db"))
        binding = self.bright.create_binding([corpus.account])
        self.browser = starting.enter_context(
            Browser.launch(
                EXTENSION,
                chromium=executable,
                options=LaunchOptions(
                    headless=plan.headless,
                    host_rules=self.page.host_rules,
                    spki=self.page.spki,
                ),
            )
        )
        self.storage = ExtensionStorage(self.browser)
        self.storage.set(
            {
                "serverUrl": self.bright.url,
                "bindingToken": binding.token,
                "settings": {"historyPaceMs": PACE_MS},
            }
        )

    def open_page(self) -> None:
        """Open OneTalk, as the salesperson would; the sync starts by itself."""
        self.browser.open(self.page.url)
        self.page.wait_for_page()

    def verdict(self) -> Verdict:
        """Hold ledger and both stores against each other."""
        return judge(self.page.ledger, self.bright.dump(), self.storage.dump(DATABASE))
