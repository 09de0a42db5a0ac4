"""`bright sim`: its words, its files, its exit status."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from extension_harness.simulation import cli


def bright_sim(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    cli.command(parser.add_subparsers())
    given = parser.parse_args(["sim", *arguments])
    status: int = given.run(given)
    return status


def test_kept_promises_are_a_success_with_a_rate(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = bright_sim("--seed", "3", "--histories", "5", "--processes", "1")

    out = capsys.readouterr().out
    assert status == 0
    assert "5 histories" in out
    assert "a second" in out
    assert "digest: " in out


def test_the_result_as_json_is_the_whole_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = bright_sim("--histories", "4", "--processes", "1", "--json")

    result = json.loads(capsys.readouterr().out)
    assert status == 0
    assert result["histories"] == 4
    assert result["failed"] == 0
    assert result["perSecond"] > 0


def test_a_broken_promise_is_told_kept_and_played_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = bright_sim(
        "--histories", "20", "--processes", "1", "--out", str(tmp_path),
        "--plant", "confirm_on_send",
    )  # fmt: skip

    told = capsys.readouterr().out
    assert status == 1
    assert "no_early_confirmation" in told
    assert "made short" in told
    (short,) = [each for each in tmp_path.iterdir() if "whole" not in each.name]

    assert bright_sim("--replay", str(short)) == 1
    assert "no_early_confirmation" in capsys.readouterr().out


def test_a_file_that_is_no_schedule_is_a_wrong_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bright_sim("--replay", str(tmp_path / "none.json")) == cli.USAGE
    assert "no schedule" in capsys.readouterr().out


def test_a_plant_that_is_none_is_a_wrong_command() -> None:
    assert bright_sim("--plant", "no_such_bug") == cli.USAGE
