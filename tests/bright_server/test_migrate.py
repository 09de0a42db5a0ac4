"""`bright migrate`: what is due, what was made, what is refused."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bright_server import backends
from bright_server.cli import main
from bright_server.settings import Settings
from bright_server.stores.sqlite.schema import SCHEMA_VERSION, steps
from bright_server.testing.engines.postgresql import postgresql_databases
from tests.bright_server.stores.sqlite.version_1 import write_version_1


def run(*arguments: object) -> int:
    return main(["migrate", *map(str, arguments)])


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_due_steps_are_named_and_then_made(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_version_1(database)
    option = f"--database={database}"
    due = [step.name.removesuffix(".sql") for step in steps() if step.version > 1]
    expected = [
        {"version": number, "name": name} for number, name in enumerate(due, start=2)
    ]

    assert run(option, "--check", "--json") == 1
    checked = told(capsys)
    assert run(option, "--json") == 0
    made = told(capsys)
    assert run(option, "--check", "--json") == 0
    again = told(capsys)

    assert checked == {
        "database": str(database),
        "from": 1,
        "to": 1,
        "steps": [{**each, "made": False} for each in expected],
    }
    assert (made["from"], made["to"]) == (1, SCHEMA_VERSION)
    assert made["steps"] == [{**each, "made": True} for each in expected]
    assert (again["to"], again["steps"]) == (SCHEMA_VERSION, [])


def test_in_words_each_step_has_a_line(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_version_1(database)
    option = f"--database={database}"

    run(option, "--check")
    words = capsys.readouterr().out
    run(option)
    done = capsys.readouterr().out

    assert "due   0002_the_other_ledgers" in words
    assert "schema 1: is not the newest" in words
    assert "made  0002_the_other_ledgers" in done
    assert f"schema 1 is {SCHEMA_VERSION} now" in done


def test_a_database_of_a_newer_bright_is_refused(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["binding", "create", f"--database={database}", "--account=1"])
    with closing(sqlite3.connect(database)) as file, file:
        file.execute("UPDATE store SET schema_version = 98")
        file.execute("UPDATE store SET oldest_compatible_version = 97")

    assert run(f"--database={database}") == 2

    assert "needs a server that knows schema 97" in capsys.readouterr().err


def test_no_step_is_made_below_a_server(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_version_1(database)
    settings = Settings(database=database)

    with backends.held(settings):
        assert run(f"--database={database}", "--check") == 1
        assert run(f"--database={database}") == 2

    assert "already serves" in capsys.readouterr().err
    assert run(f"--database={database}", "--check") == 1


def test_an_empty_postgresql_is_made_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    with postgresql_databases() as server:
        option = f"--database={server.create_database()}"
        assert run(option, "--check", "--json") == 1
        checked = told(capsys)
        assert run(option, "--json") == 0
        made = told(capsys)

    assert (checked["from"], checked["to"]) == (0, 0)
    assert made["from"] == 0
    assert all(step["made"] for step in made["steps"])  # type: ignore[attr-defined]
    assert made["steps"]
