"""A failing history becomes short, and can be kept and played again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extension_harness.simulation.campaign import run_seeds
from extension_harness.simulation.errors import ScheduleUnreadableError
from extension_harness.simulation.history import Outcome, replay
from extension_harness.simulation.plants import planted
from extension_harness.simulation.schedule_file import read, written
from extension_harness.simulation.shrinking import shrunk


@pytest.fixture(scope="module")
def failing() -> Outcome:
    tally = run_seeds(range(300), "upload_while_waiting", first_only=True)
    return tally.failures[0]


@pytest.fixture(scope="module")
def short(failing: Outcome) -> Outcome:
    return shrunk(failing, planted("upload_while_waiting"), seconds=240)


def test_a_short_history_breaks_the_same_promise(
    failing: Outcome, short: Outcome
) -> None:
    assert failing.violation is not None
    assert short.violation is not None
    assert short.violation.promise == failing.violation.promise


def test_a_short_history_is_shorter(failing: Outcome, short: Outcome) -> None:
    assert len(short.schedule) < len(failing.schedule)


def test_nothing_that_can_be_left_out_whole_is_left(short: Outcome) -> None:
    """Not one fault more than it takes, the plant being the bug."""
    faults = [choice for choice in short.schedule if choice[0] == "fault"]
    for fault in faults:
        without = [choice for choice in short.schedule if choice is not fault]
        outcome = replay(short.scenario, without, planted("upload_while_waiting"))
        assert outcome.violation is None or outcome.violation.promise != (
            short.violation and short.violation.promise
        )


def test_a_kept_history_is_the_one_that_was_kept(
    tmp_path: Path, short: Outcome
) -> None:
    path = written(tmp_path / "deep" / "seed.json", short, "upload_while_waiting")

    saved = read(path)
    again = replay(saved.scenario, saved.schedule, planted(saved.plant))

    assert again.digest == short.digest
    assert str(again.violation) == str(short.violation)


def test_a_kept_history_says_what_it_breaks(tmp_path: Path, short: Outcome) -> None:
    path = written(tmp_path / "seed.json", short, "upload_while_waiting")

    content = json.loads(path.read_text(encoding="utf-8"))

    assert content["promise"] == "no_early_upload"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "scenario": {}}']
)
def test_what_is_no_history_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ScheduleUnreadableError, match=r"odd\.json"):
        read(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScheduleUnreadableError):
        read(tmp_path / "none.json")
