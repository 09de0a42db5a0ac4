"""The command line: what it prints, and with which exit status."""

from __future__ import annotations

import json
import socket
import sqlite3
from contextlib import closing
from importlib.metadata import EntryPoint, version
from pathlib import Path

import pytest

from bright_server.cli import main
from tests.bright_server.processes import bright, bright_status


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "bright.db"


def run(*arguments: object) -> int:
    return main([str(each) for each in arguments])


def test_a_binding_is_created_listed_and_revoked(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"--database={database}"
    assert run("binding", "create", option, "--json", "--account=a", "--account=b") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["accounts"] == ["a", "b"]
    assert made["authorizationVersion"] == 1
    assert made["token"].startswith("brt_")

    assert run("binding", "list", option, "--json") == 0
    listed = capsys.readouterr().out
    assert [each["bindingId"] for each in json.loads(listed)] == [made["bindingId"]]
    assert made["token"] not in listed

    assert run("binding", "revoke", option, made["bindingId"]) == 0
    assert run("binding", "list", option) == 0
    assert "revoked" in capsys.readouterr().out


def test_a_binding_in_words_shows_its_token_once(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"--database={database}"
    run("binding", "create", option, "--account=a", "--label=desk")
    words = capsys.readouterr().out
    run("binding", "list", option)

    assert "brt_" in words
    assert "brt_" not in (listed := capsys.readouterr().out)
    assert "desk" in listed
    assert "version 1" in listed


@pytest.mark.parametrize(
    "command",
    [
        ("store", "dump"),
        ("binding", "list"),
        ("binding", "revoke", "bnd_1"),
    ],
    ids=" ".join,
)
def test_a_missing_database_is_said_and_not_made(
    command: tuple[str, ...], database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*command, f"--database={database}") == 2

    assert "no database at" in capsys.readouterr().err
    assert not database.exists()


def test_a_new_database_is_said_once(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"--database={database}"

    run("binding", "create", option, "--json", "--account=2500000000001")
    made = capsys.readouterr()
    run("binding", "create", option, "--json", "--account=2500000000001")

    assert f"made a new database at {database}" in made.err
    json.loads(made.out)
    assert capsys.readouterr().err == ""


def test_an_account_that_is_not_digits_is_warned_of(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"--database={database}"

    assert run("binding", "create", option, "--account=1", "--account=shop") == 0
    (warning,) = [
        line for line in capsys.readouterr().err.splitlines() if "warning" in line
    ]
    assert "'shop'" in warning


@pytest.mark.parametrize(
    "command",
    ["serve", "binding create --account=1", "binding list", "store dump"],
)
def test_a_folder_or_nothing_is_no_database(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*command.split(), f"--database={tmp_path}") == 2
    assert f"{tmp_path} is no database, it is a folder" in capsys.readouterr().err

    with pytest.raises(SystemExit) as ended:
        run(*command.split(), "--database=")
    assert ended.value.code == 2
    assert "--database: it is empty" in capsys.readouterr().err


def test_a_port_that_cannot_be_names_its_option_and_its_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("serve", "--port=99999") == 2

    err = capsys.readouterr().err
    assert "--port" in err
    assert "BRIGHT_PORT" in err


def test_revoking_nothing_is_no_success(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"--database={database}"
    run("binding", "create", option, "--account=a")

    assert run("binding", "revoke", option, "bnd_nobody") == 2
    assert "bnd_nobody" in capsys.readouterr().err


def test_the_database_may_come_from_the_environment(
    database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BRIGHT_DATABASE", str(database))

    assert run("binding", "create", "--account=a") == 0
    assert run("store", "dump") == 0
    assert '"type":"store"' in capsys.readouterr().out


def test_a_setting_that_cannot_work_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BRIGHT_KEEPALIVE_INTERVAL_SECONDS", "20")

    assert run("serve", "--port=0") == 2
    assert "BRIGHT_KEEPALIVE_INTERVAL_SECONDS" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [("LOG_LEVEL", "loud"), ("ALLOWED_EXTENSION_IDS", "abc"), ("PORT", "-1")],
)
def test_no_setting_makes_a_traceback(
    name: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(f"BRIGHT_{name}", value)

    assert run("serve") == 2
    assert name in capsys.readouterr().err.upper()


@pytest.mark.parametrize(
    "account", ["", "x" * 257, "\udcff", "a\0"], ids=["empty", "long", "cut", "NUL"]
)
def test_an_account_that_no_frame_can_name_is_refused(
    account: str, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    created = run("binding", "create", f"--database={database}", f"--account={account}")

    assert created == 2
    assert "--account" in capsys.readouterr().err
    assert not database.exists()


def test_a_label_that_cannot_be_stored_is_refused(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"--database={database}"

    assert run("binding", "create", option, "--account=a", "--label=\udcff") == 2
    assert "--label" in capsys.readouterr().err


def test_what_is_shown_to_people_does_nothing_to_their_terminal(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option, account, label = f"--database={database}", "a\x1b[2J", "desk\nbnd_forged"
    made = run("binding", "create", option, f"--account={account}", f"--label={label}")
    assert made == 0
    assert "for a\\x1b[2J\n" in capsys.readouterr().out

    run("binding", "list", option)
    listed = capsys.readouterr().out
    assert listed.endswith("  a\\x1b[2J  desk\\nbnd_forged\n")
    assert listed.count("\n") == 1

    run("binding", "list", option, "--json")
    (binding,) = json.loads(capsys.readouterr().out)
    assert (binding["accounts"], binding["label"]) == ([account], label)

    assert run("binding", "revoke", option, "bnd_\x1b[2J") == 2
    assert "no binding bnd_\\x1b[2J:" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["serve", "binding create --account=a"])
def test_a_folder_that_cannot_be_made_is_said(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()

    option = f"--database={tmp_path / 'file' / 'bright.db'}"
    assert run(*command.split(), option) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("--help")

    assert ended.value.code == 0
    out = capsys.readouterr().out
    for name in ("serve", "binding", "store", "schema", "demo", "page"):
        assert name in out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("--version", f"bright {version('bright-sync')}"),
        ("serve --help", "default 8765"),
        ("serve --help", "default 127.0.0.1"),
        ("serve --help", "default var/bright.db"),
        ("binding create --help", "may be repeated"),
        ("schema --help", "AsyncAPI document"),
    ],
)
def test_the_help_says(
    command: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*command.split())

    assert ended.value.code == 0
    assert words in " ".join(capsys.readouterr().out.split())


def test_a_command_whose_extra_is_missing_says_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = EntryPoint("demo", "no_such_module:command", "bright.commands")
    monkeypatch.setattr(
        "bright_server.cli.entrance.entry_points", lambda group: [broken]
    )

    assert run("demo", "--any", "argument") == 2
    assert "bright-sync[harness]" in capsys.readouterr().err
    assert run("schema") == 0


def test_the_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("json-schema", "asyncapi"):
        assert run("schema", "--format", form) == 0
        json.loads(capsys.readouterr().out)


async def test_bug_48_a_server_that_cannot_start_says_why_and_ends_at_once(
    tmp_path: Path,
) -> None:
    newer = tmp_path / "newer.db"
    await bright("binding", "create", f"--database={newer}", "--account=a")
    with closing(sqlite3.connect(newer)) as database, database:
        database.execute("UPDATE store SET oldest_compatible_version = 99")
    text = tmp_path / "text.db"
    text.write_text("This is no database, whatever its name says. " * 50)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, reason in (
            ((f"--database={newer}", "--port=0"), "needs a server that knows"),
            ((f"--database={text}", "--port=0"), "not a SQLite database"),
            ((f"--database={tmp_path}", "--port=0"), "it is a folder"),
            ((f"--database={tmp_path}/ok.db", f"--port={port}"), "cannot listen"),
        ):
            status, out, err = await bright_status("serve", *arguments)
            assert (status, out) == (2, ""), err
            assert reason in err
            assert "Traceback" not in err
    # Nothing is put beside a file that is no database.
    assert not text.with_name("text.db.lock").exists()
