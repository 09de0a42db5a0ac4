"""The whole way of a message on real parts: page, extension, proxy, Bright.

A `Rig` is what a test of durable sync starts from: a simulated page with its ledger,
the extension in Chromium, a proxy before Bright, and a binding for the page's account
already written into the extension's configuration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from extension_harness.browser import Browser
from extension_harness.errors import WaitTimeoutError
from extension_harness.network.faults import FaultProxy
from extension_harness.page.records import Comparison
from extension_harness.page.server import SimulatedPage
from extension_harness.server import Binding, BrightServer
from extension_harness.storage import DatabaseDump, ExtensionStorage
from extension_harness.tab import Page
from extension_harness.timeline import Timeline
from extension_harness.waiting import countdown, wait_until
from extension_harness.worker import Worker

DATABASE = "trade-message-center"
MESSAGES = "onetalk_messages"
CANDIDATES = "onetalk_candidates"
CHECKPOINTS = "onetalk_checkpoints"
ANOMALIES = "onetalk_anomalies"
SETTLED = frozenset({"confirmed", "rejected", "anomaly"})
"""Candidate states that wait for nothing."""


@dataclass(frozen=True)
class SyncState:
    """How far a sync is, seen from the extension's own store and from Bright's."""

    candidates: Mapping[str, int]
    checkpoints: Mapping[str, int]
    comparison: Comparison

    @property
    def complete(self) -> bool:
        """Nothing pending, all conversations completed, the server as the ledger."""
        return (
            not set(self.candidates) - SETTLED
            and set(self.checkpoints) == {"completed"}
            and self.comparison.equal
        )

    def __str__(self) -> str:
        return (
            f"candidates {dict(self.candidates)}, "
            f"checkpoints {dict(self.checkpoints)}, "
            f"server: {self.comparison.as_text(2)}"
        )


@dataclass
class Rig:
    """The parts, wired; each can be killed and brought back by its own methods."""

    page: SimulatedPage
    server: BrightServer
    proxy: FaultProxy
    browser: Browser
    binding: Binding
    timeline: Timeline
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def worker(self) -> Worker:
        """The extension's service worker."""
        return self.browser.worker

    @property
    def storage(self) -> ExtensionStorage:
        """The extension's storage."""
        return ExtensionStorage(self.browser)

    def configure(self, **settings: object) -> None:
        """Write address, token and settings into the extension's configuration."""
        self.settings = {**self.settings, **settings}
        self.storage.set(
            {
                "serverUrl": self.proxy.url,
                "bindingToken": self.binding.token,
                "settings": dict(self.settings),
            }
        )

    def open_page(self, timeout: float = 30.0) -> Page:
        """Open the simulated page and wait until it has finished its boot."""
        page = self.browser.open(self.page.url, timeout=timeout)
        self.page.wait_for_page(1, timeout)
        return page

    def extension_store(self) -> DatabaseDump:
        """The extension's whole database."""
        return self.storage.dump(DATABASE)

    def state(self) -> SyncState:
        """How far it is now."""
        store = self.extension_store()
        if not store.present:
            return SyncState({}, {}, self.page.ledger.compare([]))
        return SyncState(
            _counted(store.records(CANDIDATES), "status"),
            _counted(store.records(CHECKPOINTS), "phase"),
            self.page.ledger.compare(self.server.dump().messages),
        )

    def wait_until_complete(self, timeout: float = 60.0) -> SyncState:
        """Wait until the sync is complete; touches neither page nor worker.

        Raises WaitTimeoutError with the last state seen.
        """
        left = countdown(timeout)
        last: list[SyncState] = []

        def probe() -> SyncState | None:
            last[:] = [self.state()]
            return last[0] if last[0].complete else None

        try:
            return wait_until(probe, left(), "the sync to complete", every=0.3)
        except WaitTimeoutError as late:
            raise WaitTimeoutError(late.what, timeout, str(last[0])) from late

    def check_agreement(self) -> None:
        """Assert that ledger, extension and server hold the same, record by record."""
        store = self.extension_store()
        local = self.page.ledger.compare(store.records(MESSAGES))
        remote = self.page.ledger.compare(self.server.dump().messages)
        anomalies = self.page.ledger.compare_anomalies(store.records(ANOMALIES))
        assert local.equal, f"extension's store: {local.as_text()}"  # noqa: S101
        assert remote.equal, f"server's store: {remote.as_text()}"  # noqa: S101
        assert anomalies.equal, f"anomalies: {anomalies}"  # noqa: S101


def _counted(records: tuple[Any, ...], name: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in records:
        value = str(record.get(name))
        counts[value] = counts.get(value, 0) + 1
    return counts
