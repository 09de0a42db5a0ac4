"""`bright bench ingest` really serves and really counts. No figure is judged here."""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.cli import command
from benchmarks.errors import MiscountError, WorkloadError
from benchmarks.ingest.contenders import Bright, create_database
from benchmarks.ingest.workload import Workload
from benchmarks.options import FAILED, MISSED
from benchmarks.scratch import scratch

SMALL = Workload(connections=4, batches=6, batch_messages=20, conversations=8)
SHAPE = [
    "--connections=4",
    "--batches=6",
    "--messages=20",
    "--conversations=8",
    "--rounds=2",
    "--json",
]


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command(parser.add_subparsers())
    parsed = parser.parse_args(["bench", *arguments])
    return int(parsed.run(parsed))


def test_ingest_reports_one_json_object_with_the_promised_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run("ingest", *SHAPE, f"--directory={tmp_path}")
    report = json.loads(capsys.readouterr().out)
    assert status == 0
    assert set(report) == {
        "ackedPerSecond",
        "p50Ms",
        "p99Ms",
        "cpuSecondsPer100k",
        "bytesPerMessage",
        "yardsticks",
        "ratioToSqlite",
        "details",
    }
    assert set(report["yardsticks"]) == {"sqlite", "websocket"}
    for contender in ("bright", "sqlite", "websocket"):
        counted = [one["messages"] for one in report["details"][contender]]
        assert counted == [SMALL.sent, SMALL.sent]


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that the user of a database's server gets to, too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o711)
        yield path


@pytest.mark.parametrize("engine", ["postgresql", "redis"])
def test_ingest_on_a_server_of_a_database_tells_what_the_server_took(
    engine: str, reachable: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(
        "ingest",
        *SHAPE,
        f"--database={engine}",
        f"--directory={reachable}",
        "--rounds=1",
        "--at-least=1000",
    )
    report = json.loads(capsys.readouterr().out)
    assert status == MISSED
    assert report["database"] == engine
    assert set(report["yardsticks"]) == {engine, "websocket"}
    assert 0 < report["ratioToBare"] < 1000
    for figure in (
        "ackedPerSecond",
        "engineCpuSecondsPer100k",
        "bytesPerMessage",
        "logBytesPerMessage",
    ):
        assert report[figure] > 0, figure
    for contender in ("bright", "bare", "websocket"):
        counted = [one["messages"] for one in report["details"][contender]]
        assert counted == [SMALL.sent]
    assert list(reachable.iterdir()) == []


def test_ingest_with_memory_keeps_one_server_and_tells_its_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("ingest", *SHAPE, "--memory", f"--directory={tmp_path}")
    report = json.loads(capsys.readouterr().out)
    used = report["memory"]["residentBytes"]
    assert len(used) == 2
    assert all(one > 0 for one in used)


def test_growth_compares_two_amounts_of_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(
        "growth", *SHAPE, "--small=100", "--large=900", f"--directory={tmp_path}"
    )
    report = json.loads(capsys.readouterr().out)
    assert status == 0
    assert (report["rowsSmall"], report["rowsLarge"]) == (100, 900)
    assert report["ratio"] > 0


def test_tables_are_for_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("ingest", *SHAPE[:-1], f"--directory={tmp_path}")
    assert "of bare SQLite" in capsys.readouterr().out


def test_a_ratio_that_is_missed_is_an_exit_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--at-least=1000", f"--directory={tmp_path}"]
    assert run("ingest", *SHAPE, *asked) == MISSED
    assert json.loads(capsys.readouterr().out)["ratioToSqlite"] < 1000


def test_an_impossible_shape_is_said_and_nothing_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run("ingest", "--connections=3", "--json", f"--directory={tmp_path}")
    captured = capsys.readouterr()
    assert status == FAILED
    assert captured.out == ""
    assert "multiple" in captured.err


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    run("ingest", *SHAPE, f"--directory={tmp_path}")
    assert list(tmp_path.iterdir()) == []


def test_messages_that_are_all_there_already_are_a_miscount(tmp_path: Path) -> None:
    database = tmp_path / "bright.sqlite"
    create_database(database)
    with Bright(database, tmp_path) as server:
        server.round(SMALL)
        with pytest.raises(MiscountError, match="called duplicates"):
            server.round(SMALL)


def test_several_batches_in_flight_count_the_same(tmp_path: Path) -> None:
    database = tmp_path / "bright.sqlite"
    create_database(database)
    with Bright(database, tmp_path, in_flight=4) as server:
        assert server.round(SMALL).messages == SMALL.sent


def test_a_folder_that_cannot_be_made_is_told_in_a_line(
    tmp_path: Path,
) -> None:
    taken = tmp_path / "a file"
    taken.write_text("")

    with (
        pytest.raises(WorkloadError, match="no files of a run in"),
        scratch(taken / "x"),
    ):
        pass


def test_less_than_one_round_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    command(parser.add_subparsers())

    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["bench", "ingest", "--rounds", "-1"])

    assert ended.value.code == FAILED
    assert "-1 is less than 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://u:hunter2@127.0.0.1:1/x", "a password does not belong into"),
        ("redis://u:hunter2@127.0.0.1:1/0", "a password does not belong into"),
        ("redis://hunter2@127.0.0.1:1/0", "of Redis give redis://HOST:PORT/NUMBER"),
        ("rediss://127.0.0.1:1/0", "of Redis give redis://HOST:PORT/NUMBER"),
        ("redis://127.0.0.1:1/0", "Redis: "),
        ("hunter2.sqlite", "no engine has this name"),
    ],
)
def test_a_database_that_cannot_be_used_is_said_and_not_repeated(
    address: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("ingest", "--database", address) == FAILED
    said = capsys.readouterr()
    assert words in said.err
    assert "hunter2" not in said.err + said.out
