"""IndexedDB's model and a real Chromium do the same, script after script.

A difference fails with its seed and a short case; the case is kept beside the evidence.
docs/storage-model.md says how to run one seed again, and many more of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from extension_harness.browser import Browser
from extension_harness.differential.browser_side import BrowserSide
from extension_harness.differential.campaign import Report, run_campaign
from extension_harness.differential.forms import Outcome, Script
from extension_harness.differential.known import read_known
from extension_harness.differential.model_side import ModelSide
from extension_harness.differential.sides import Sides, history_sides, script_sides

KNOWN = Path(__file__).with_name("known_differences.toml")
FINDINGS = Path("var/differences")
SCRIPTS, HISTORIES = 2_000, 500


@pytest.fixture
def side(browser: Browser) -> Iterator[BrowserSide]:
    with BrowserSide(browser) as opened:
        yield opened


def said(report: Report) -> str:
    kept = [str(finding.write(FINDINGS)) for finding in report.findings]
    return "\n".join([*map(str, report.findings), *kept])


@pytest.mark.timeout(900)
def test_2000_random_scripts_have_the_same_outcomes_and_records(
    side: BrowserSide,
) -> None:
    """Known bug 51: what stands in for a browser in other tests behaves as one."""
    sides = script_sides(side, ModelSide())

    report = run_campaign(sides, range(SCRIPTS), read_known(KNOWN))

    assert not report.findings, said(report)
    assert report.cases == SCRIPTS


@pytest.mark.timeout(900)
def test_500_random_histories_leave_the_same_store(side: BrowserSide) -> None:
    """OT-17 to OT-20, OT-80 to OT-84, OT-90 to OT-92, and OT-11 to OT-15 before them.

    Results of each verb, every record and every index entry after it; a third of the
    histories begins in a database of version 6 to 9.
    """
    sides = history_sides(side, ModelSide())

    report = run_campaign(sides, range(HISTORIES))

    assert not report.findings, said(report)
    assert report.cases == HISTORIES


def test_every_known_difference_is_still_one(side: BrowserSide) -> None:
    sides = script_sides(side, ModelSide())

    stale = [entry.staleness(sides) for entry in read_known(KNOWN)]

    assert [text for text in stale if text is not None] == []


def test_a_model_that_forgets_an_index_entry_is_found_and_shown_short(
    side: BrowserSide,
) -> None:
    """The machine can fail: one planted fault, a short script, and its seed."""

    def forgetful(scripts: list[Script]) -> list[Outcome]:
        outcomes = ModelSide().run_scripts(scripts)
        for outcome in outcomes:
            forget(outcome)
        return outcomes

    def forget(found: object) -> None:
        if isinstance(found, dict):
            if found.get("multiEntry") is True:
                found["entries"] = found["entries"][:1]
            for inner in found.values():
                forget(inner)
        elif isinstance(found, list):
            for inner in found:
                forget(inner)

    whole = script_sides(side, ModelSide())
    sides = Sides(whole.kind, whole.generate, whole.browser, forgetful)  # type: ignore[arg-type]

    report = run_campaign(sides, range(60))

    assert report.findings
    shortest = min((finding.case for finding in report.findings), key=operations)
    assert operations(shortest) <= 4


def operations(script: Script) -> int:
    return sum(
        len(step.get("ops", [])) + len(step.get("upgrade", [])) for step in script
    )
