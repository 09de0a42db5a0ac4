"""`bright bench scoped-reads` at a small size: real, counted, no figure judged."""

import argparse
import json
from pathlib import Path

import pytest

from benchmarks.cli import command
from benchmarks.options import MISSED
from benchmarks.scoped.work import READS


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command(parser.add_subparsers())
    parsed = parser.parse_args(["bench", "scoped-reads", *arguments])
    return int(parsed.run(parsed))


def test_verbs_bare_requests_and_model_give_the_same_in_both_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OT-17 to OT-19: others' records change nothing in what a scoped read gives."""
    small = ["--pending=20", "--others=200", "--repeats=2", "--batches=2"]
    status = run(
        *small,
        "--messages=5",
        "--rounds=2",
        "--json",
        "--at-most=0.0001",  # cannot be held: the status must say so
        f"--directory={tmp_path}",
    )
    report = json.loads(capsys.readouterr().out)
    assert status == MISSED
    assert set(report) == {"browser", "model", "highestRatio", "writes", "details"}
    for side in ("browser", "model"):
        assert set(report[side]["reads"]) == set(READS)
    assert [one["records"] for one in report["details"]["writes"]] == [22, 22]
    assert list(tmp_path.iterdir()) == []
