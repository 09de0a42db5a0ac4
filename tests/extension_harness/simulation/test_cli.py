"""`bright sim`: its words, its files, its exit status."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extension_harness.simulation import cli
from extension_harness.simulation.course import Course
from extension_harness.simulation.history import run
from extension_harness.simulation.scenario import drawn
from extension_harness.simulation.schedule_file import _ARITIES, read, written


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


def _edited(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["scenario"].update(changes)


def _with(*choice: object) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["schedule"].insert(0, list(choice))


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (_with("fly"), "schedule[0] is of no known kind: 'fly'"),
        (_with(), "schedule[0] is [], not a list with something in it"),
        (_with(["step"]), "schedule[0] is of no known kind: ['step']"),
        (_with("step", 0), "schedule[0] has 1 numbers, step takes 2"),
        (_with("calm", 0), "schedule[0] has 1 numbers, calm takes 0"),
        (_with("up", -1), "schedule[0] has -1, not 0 to"),
        (_with("say", 0, 0, 0), "schedule[0] has 0, not 1 to"),
        (_with("up", 0.5), "schedule[0] has 0.5, not a whole number"),
        (_with("up", "0"), "schedule[0] has '0', not a whole number"),
        (_with("fault"), "schedule[0] is a fault of no kind"),
        (_with("fault", "strike", 0, 0), "a fault of no known kind: 'strike'"),
        (_with("fault", "half_open", 0), "schedule[0] has 1 numbers, fault takes 2"),
        (_edited(conversations=0), "scenario.conversations has 0, not 1 to"),
        (_edited(steps="many"), "scenario.steps has 'many', not a whole number"),
        (_edited(device_accounts=[]), "scenario.device_accounts is [], not a list"),
        (_edited(device_accounts=[[]]), "scenario.device_accounts is [], not a list"),
        (_edited(device_accounts=[[1]]), "has 1, which is no account"),
        (_edited(blocked=5), "scenario.blocked is 5, not a list"),
        (_edited(faults=["rain"]), "a fault of no known kind: 'rain'"),
        (_edited(is_page_shuffled=1), "is 1, not true or false"),
        (lambda content: content.pop("scenario"), "it has no 'scenario'"),
        (lambda content: content.update(schedule={}), "schedule is {}, not a list"),
        (lambda content: content.update(plant=None), "plant is None, not a text"),
    ],
)
def test_a_schedule_edited_into_nonsense_is_a_wrong_command(
    edit: Callable[[dict[str, Any]], None],
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = written(tmp_path / "history.json", run(drawn(1)), "")
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))

    assert bright_sim("--replay", str(path)) == cli.USAGE
    assert told in capsys.readouterr().out


@pytest.mark.parametrize("text", ["[]", "[" * 100_000, '"a"', ""])
def test_a_file_that_is_no_object_is_a_wrong_command(text: str, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text(text)
    assert bright_sim("--replay", str(path)) == cli.USAGE


def test_what_was_written_can_be_read(tmp_path: Path) -> None:
    """Every kind of choice is known, and all that are drawn are taken."""
    kinds = {name.removeprefix("_do_") for name in vars(Course) if "_do_" in name}
    assert {*_ARITIES, "fault"} == kinds | {"calm"}
    for seed in range(40):
        outcome = run(drawn(seed))
        saved = read(written(tmp_path / "history.json", outcome, ""))
        assert saved.scenario == outcome.scenario
        assert saved.schedule == outcome.schedule


def test_a_planted_bug_is_played_again_from_both_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = bright_sim(
        "--histories", "20", "--processes", "1", "--out", str(tmp_path),
        "--plant", "ack_before_commit",
    )  # fmt: skip
    assert status == 1
    files = sorted(tmp_path.iterdir())
    assert len(files) >= 2
    capsys.readouterr()
    for file in files:
        assert bright_sim("--replay", str(file)) == 1
        assert "ack_means_disk" in capsys.readouterr().out


def test_a_folder_that_cannot_be_made_is_said_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    for out in (file, file / "below"):
        assert bright_sim("--histories", "1", "--out", str(out)) == cli.USAGE
        said = capsys.readouterr().out
        assert f"{out} cannot be used" in said
        assert "histories" not in said
