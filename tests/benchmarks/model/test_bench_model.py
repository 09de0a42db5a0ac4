"""`bright bench model` does the same work in both and says so. No figure is judged."""

import argparse
import json
from pathlib import Path

import pytest

from benchmarks.cli import command
from benchmarks.errors import MiscountError
from benchmarks.model import rounds
from benchmarks.model.rounds import PARTS, ModelResult, ModelRound, check
from benchmarks.model.work import ModelWork
from benchmarks.options import FAILED, MISSED

WORK = ModelWork(records=2_000, reads=30)
SHAPE = ["--records=2000", "--reads=30", "--rounds=2", "--json"]


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command(parser.add_subparsers())
    parsed = parser.parse_args(["bench", "model", *arguments])
    return int(parsed.run(parsed))


def a_round(**changes: float) -> ModelRound:
    seconds = {"puts": 1.0, "reads": 1.0, "upgrade": 1.0} | changes
    counts = {"puts": 6_000, "reads": 3_000, "upgrade": 4_000}
    return ModelRound(
        seconds=seconds,
        found={part: (counts[part], "the same") for part in PARTS},
        cpu_seconds=1,
        others_share=0,
    )


def test_both_did_the_same_counted_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(*SHAPE, f"--directory={tmp_path}")
    report = json.loads(capsys.readouterr().out)
    assert status == 0
    assert set(report) == {"parts", "total", "lowestRatio", "details"}
    assert set(report["parts"]) == set(PARTS)
    for part in [*report["parts"].values(), report["total"]]:
        assert set(part) == {"model", "fakeIndexeddb", "ratio"}
        assert part["ratio"] > 0
    details = report["details"]
    assert (details["hits"], details["fakeIndexeddb"]) == (WORK.hits, "6.2.8")
    assert len(details["model"]) == len(details["fakeIndexeddbRounds"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_ratio_that_is_missed_is_an_exit_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--nested", "--rounds=1", "--at-least=1000", f"--directory={tmp_path}"]
    assert run(*SHAPE, *asked) == MISSED
    assert json.loads(capsys.readouterr().out)["lowestRatio"] < 1000


def test_the_ratio_is_theirs_over_ours_and_the_worst_part_is_judged() -> None:
    ours = (a_round(reads=4.0), a_round(reads=2.0), a_round(reads=2.0))
    theirs = (a_round(puts=3.0), a_round(puts=3.0), a_round(puts=9.0))
    result = ModelResult(ours, theirs, fake_indexeddb="6")
    assert [result.ratio(part) for part in PARTS] == [3.0, 0.5, 1.0]
    assert result.total_ratio == 5 / 4
    assert result.lowest_ratio == 0.5


def test_another_count_than_planned_is_no_figure() -> None:
    less = a_round()
    less.found["reads"] = (2_999, "the same")
    with pytest.raises(MiscountError, match="3000 entries or hits are planned"):
        check(WORK, less, less)


def test_as_many_but_not_the_same_is_no_figure() -> None:
    other = a_round()
    other.found["upgrade"] = (4_000, "another")
    with pytest.raises(MiscountError, match=r"upgrade: .* not the same"):
        check(WORK, a_round(), other)


def test_what_is_missing_on_the_machine_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(rounds, "FAKE_INDEXEDDB", tmp_path / "none")
    assert run(*SHAPE, f"--directory={tmp_path}") == FAILED
    assert "`make setup` installs it" in capsys.readouterr().err
