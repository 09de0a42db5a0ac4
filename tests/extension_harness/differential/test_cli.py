"""`bright differ` refuses a command that would prove nothing, before any browser."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

import pytest
from rich.console import Console

from extension_harness.differential import cli
from extension_harness.errors import HarnessError


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    cli.command(parser.add_subparsers())
    return parser.parse_args(["differ", *words])


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("it went on to a browser")

    monkeypatch.setattr(cli, "find", refuse)


def test_a_file_that_was_named_has_to_be_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = tmp_path / "nope.toml"

    assert cli.run(parsed("--known", str(named))) == 2
    assert "nope.toml: there is no such file" in capsys.readouterr().out.replace(
        "\n", ""
    )


def test_nothing_to_run_is_no_agreement(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(parsed("--scripts", "0", "--histories", "0")) == 2
    assert "nothing to run" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["--scripts", "--histories"])
def test_a_count_below_0_is_refused(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        parsed(name, "-1")

    assert left.value.code == 2
    assert "-1 is below 0" in capsys.readouterr().err


def test_the_known_differences_are_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    read: list[Path] = []

    def refuse(path: Path) -> None:
        read.append(path)
        raise HarnessError("seen enough")

    monkeypatch.setattr(cli, "read_known", refuse)

    assert cli.run(parsed()) == 1
    assert [(path.name, path.is_file()) for path in read] == [
        ("known_differences.toml", True)
    ]


def test_each_stale_entry_is_a_line() -> None:
    written = io.StringIO()
    console = Console(file=written)

    cli._tell_stale(console, ["one: stale", None, "two: stale"])

    assert written.getvalue() == "one: stale\ntwo: stale\n"
