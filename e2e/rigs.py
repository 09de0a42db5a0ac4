"""Rigs for these tests: short times, and one that outlives a single test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from extension_harness.browser import Browser
from extension_harness.launch.browser_process import LaunchOptions
from extension_harness.launch.chromium import Chromium
from extension_harness.network.faults import FaultProxy
from extension_harness.page.corpus import Corpus
from extension_harness.page.server import SimulatedPage
from extension_harness.plugin import OWN_EXTENSION
from extension_harness.rig import Rig
from extension_harness.server import BrightServer
from extension_harness.timeline import Timeline

SHORT: Mapping[str, Any] = {
    "historyPaceMs": 0,
    "ackTimeoutMs": 2_000,
    "openTimeoutMs": 3_000,
    "backoffBaseMs": 50,
    "backoffCapMs": 1_000,
    "retryCoolMs": 100,
    "claimRetryMs": 2_000,
}
"""The extension's own settings, so that a fault is noticed in seconds."""
ALARM = "bright.wake"
ALARM_SECONDS = 2


def shorten_alarm(rig: Rig, seconds: float = ALARM_SECONDS) -> None:
    """Let the extension's own alarm ring more often than every 30 s.

    An unpacked extension may; a test that kills the worker once need not wait for half
    a minute to see that the alarm brings it back. Tests of the real period do not call
    this.
    """
    with rig.browser.extension_page() as page:
        page.evaluate(
            "(name, minutes) => chrome.alarms.create(name, {periodInMinutes: minutes})",
            ALARM,
            seconds / 60,
        )


@contextlib.contextmanager
def running_rig(
    chromium: Chromium,
    folder: Path,
    corpus: Corpus,
    *,
    extension: Path = OWN_EXTENSION,
    headless: bool = True,
    updatable: bool = False,
    environment: Mapping[str, str] | None = None,
    **settings: object,
) -> Iterator[Rig]:
    """A rig as the ``rig`` fixture makes it, for as long as the block runs.

    ``environment`` is Bright's.
    """
    timeline = Timeline()
    with contextlib.ExitStack() as parts:
        page = parts.enter_context(SimulatedPage(corpus))
        server = parts.enter_context(
            BrightServer(
                folder / "bright.sqlite", environment=environment, timeline=timeline
            )
        )
        proxy = parts.enter_context(
            FaultProxy(server.host, server.port, timeline=timeline)
        )
        browser = parts.enter_context(
            Browser.launch(
                extension,
                chromium=chromium,
                options=LaunchOptions(
                    headless=headless, host_rules=page.host_rules, spki=page.spki
                ),
                timeline=timeline,
                updatable=updatable,
            )
        )
        rig = Rig(
            page=page,
            server=server,
            proxy=proxy,
            browser=browser,
            binding=server.create_binding([corpus.account]),
            timeline=timeline,
        )
        rig.configure(**settings)
        yield rig
