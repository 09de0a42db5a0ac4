"""The protocol's ServiceWorker domain, used in short visits.

While that domain is enabled anywhere, service workers do not die of idleness (measured
on Chromium 156: alive after 50 s where 30 s is the rule). So each visit opens a tab of
its own, enables the domain, does one thing, disables it and closes the tab.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from extension_harness.devtools.cdp import DevTools, Subscription
from extension_harness.errors import DevToolsError, WaitTimeoutError
from extension_harness.waiting import countdown


@dataclass(frozen=True)
class Version:
    """One version of a service worker as the browser registered it."""

    version_id: str
    script_url: str
    running_status: str
    status: str


@dataclass
class Visit:
    """The domain while it is enabled; made by `visit`."""

    devtools: DevTools
    session: str
    events: Subscription

    def version(
        self,
        script_url: str,
        timeout: float = 5.0,
        where: Callable[[Version], bool] = lambda _: True,
    ) -> Version | None:
        """What is registered under this script, once ``where`` likes it.

        None when nothing was in time.
        """
        left = countdown(timeout)
        while True:
            try:
                event = self.events.get(left())
            except WaitTimeoutError:
                return None
            for entry in event.params.get("versions", ()):
                if entry["scriptURL"] == script_url and entry["status"] != "redundant":
                    found = Version(
                        entry["versionId"],
                        entry["scriptURL"],
                        entry["runningStatus"],
                        entry["status"],
                    )
                    if where(found):
                        return found

    def stop(self, version_id: str) -> None:
        """Stop one version, and no other extension's or page's."""
        self.devtools.call(
            "ServiceWorker.stopWorker", {"versionId": version_id}, session=self.session
        )

    def start(self, scope_url: str) -> None:
        """Start the worker of a scope, without any event for it to handle."""
        self.devtools.call(
            "ServiceWorker.startWorker", {"scopeURL": scope_url}, session=self.session
        )


@contextlib.contextmanager
def visit(devtools: DevTools) -> Iterator[Visit]:
    """Enable the domain while the block runs, on a blank tab of its own."""
    made = devtools.call(
        "Target.createTarget", {"url": "about:blank", "background": True}
    )
    target_id = str(made["targetId"])
    try:
        with (
            devtools.subscribe("ServiceWorker.workerVersionUpdated") as events,
            devtools.attached(target_id) as session,
        ):
            devtools.call("ServiceWorker.enable", session=session)
            try:
                yield Visit(devtools, session, events)
            finally:
                with contextlib.suppress(DevToolsError):
                    devtools.call("ServiceWorker.disable", session=session)
    finally:
        with contextlib.suppress(DevToolsError):
            devtools.call("Target.closeTarget", {"targetId": target_id})
