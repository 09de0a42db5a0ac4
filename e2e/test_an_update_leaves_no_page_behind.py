"""The extension is reloaded under open pages, as an update does it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from e2e.proof import prove
from e2e.rigs import SHORT
from extension_harness.devtools.cdp import ProtocolEvent
from extension_harness.rig import Rig
from extension_harness.waiting import wait_until

TROUBLE = frozenset(
    {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
)
NOTICE = "document.getElementById('bright-notice')?.dataset.notice"
LOADED_AGAIN = (
    "!window.beforeTheReload && document.documentElement.dataset.ready === 'true'"
)
TABS = 3


def test_open_tabs_say_that_they_need_a_reload_and_lose_nothing(rig: Rig) -> None:
    """Known bugs 31, 39: no orphan throws for ever, none claims to record, and two
    lives of the extension never hold two connections."""
    rig.configure(**SHORT)
    tabs = [rig.browser.open(rig.page.url) for _ in range(TABS)]
    rig.page.wait_for_page(TABS)
    prove(rig)
    with troubles(rig) as seen:
        for tab in tabs:
            tab.call("Runtime.enable")
            tab.call("Log.enable")
        rig.browser.reload_extension()
        for tab in tabs:
            tab.wait_for(f"{NOTICE} === 'noticeOrphan'", timeout=60)
        seen.clear()
        posted = [rig.page.post_live(text=f"to orphans {n}") for n in range(20)]
        for tab in tabs:
            tab.wait_for(
                "id => document.body.textContent.includes(id)", posted[-1].text
            )
        bad = [each for each in seen if is_trouble(each)]
        assert not bad, f"{len(bad)} complaints: {bad[0].params}"
    # The proxy hears of the former life's end after it has ended.
    wait_until(lambda: rig.proxy.open_connections <= 1, 20, "one connection at most")
    for tab in tabs:
        tab.evaluate("void (window.beforeTheReload = true)")
        tab.call("Page.reload")
        tab.wait_for(LOADED_AGAIN, timeout=60)
    rig.page.wait_for_page(TABS)
    rig.page.post_live(text="to pages that were loaded again")
    prove(rig)
    for tab in tabs:
        assert tab.evaluate(NOTICE) is None
    wait_until(lambda: rig.proxy.open_connections == 1, 40, "one connection")


@contextlib.contextmanager
def troubles(rig: Rig) -> Iterator[list[ProtocolEvent]]:
    """Everything that the tabs complain about meanwhile."""
    seen: list[ProtocolEvent] = []

    def note(event: ProtocolEvent) -> None:
        if event.method in TROUBLE:
            seen.append(event)

    remove = rig.browser.devtools.listen(note)
    try:
        yield seen
    finally:
        remove()


def is_trouble(event: ProtocolEvent) -> bool:
    kind = event.params.get("type") or event.params.get("entry", {}).get("level")
    return event.method == "Runtime.exceptionThrown" or kind in {"error", "warning"}
