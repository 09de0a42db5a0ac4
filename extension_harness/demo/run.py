"""The demo's course: open the page, let it sync, add live messages, judge."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from extension_harness.demo.progress import Progress, read_progress
from extension_harness.demo.stage import Stage
from extension_harness.errors import HarnessError
from extension_harness.oracle.verdict import Verdict

POLL_SECONDS = 0.5


class DemoNotSyncedError(HarnessError):
    """The sync did not come to its end in the time given."""


@dataclass(frozen=True)
class Summary:
    """The demo's result, under the names that its JSON line has."""

    conversations: int
    ledger_messages: int
    confirmed: int
    anomalies: int
    missing: int
    duplicates: int
    seconds: float
    holds: bool

    def as_dict(self) -> dict[str, int | float]:
        """Return the JSON object that scripts read."""
        return {
            "conversations": self.conversations,
            "ledgerMessages": self.ledger_messages,
            "confirmed": self.confirmed,
            "anomalies": self.anomalies,
            "missing": self.missing,
            "duplicates": self.duplicates,
            "seconds": self.seconds,
        }


def sync(stage: Stage, show: Callable[[Progress], None], timeout: float) -> float:
    """Open the page and wait until everything is confirmed and completed.

    Live messages are posted while the history is still being read. Gives the seconds
    that it took. Raises DemoNotSyncedError with what was left.
    """
    started = time.monotonic()
    stage.open_page()
    live_left = stage.plan.live_messages
    with stage.browser.extension_page() as page:
        while True:
            progress = read_progress(page, stage.page.corpus.account)
            show(progress)
            if live_left and progress.confirmed:
                stage.page.post_live()
                live_left -= 1
            elif _at_rest(stage, progress):
                return round(time.monotonic() - started, 1)
            if time.monotonic() - started > timeout:
                raise DemoNotSyncedError(
                    f"not synced after {timeout:.0f} s: {progress}; the page still has "
                    f"{len(stage.page.ledger.unserved())} messages to show"
                )
            time.sleep(POLL_SECONDS if not live_left else POLL_SECONDS / 5)


def summarise(stage: Stage, verdict: Verdict, seconds: float) -> Summary:
    """Count what the verdict says."""
    both = (verdict.server, verdict.extension)
    return Summary(
        conversations=verdict.conversations,
        ledger_messages=len(stage.page.ledger.expected()),
        confirmed=verdict.confirmed,
        anomalies=verdict.anomalies.matched + len(verdict.anomalies.unexpected),
        missing=max(len(each.missing) for each in both),
        duplicates=max(len(each.duplicates) for each in both),
        seconds=seconds,
        holds=verdict.holds,
    )


def _at_rest(stage: Stage, progress: Progress) -> bool:
    return (
        progress.pending == 0
        and progress.started > 0
        and progress.completed == progress.started
        and not stage.page.ledger.unserved()
    )
