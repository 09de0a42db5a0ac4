"""What the commands say of servers: what was wrong, where, and what to do."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bright_server import backends
from bright_server.cli import main
from bright_server.errors import StoreMissing
from bright_server.settings import Settings
from bright_server.testing.engines.postgresql import PostgresqlServer
from bright_server.testing.engines.valkey import Valkey, ValkeyOptions
from tests.bright_server.databases.conftest import Places
from tests.bright_server.databases.filling import fill
from tests.bright_server.manual_clock import ManualClock

SECRET = "hunter2hunter2"
DEADLINE_SECONDS = 60
# Nobody listens on the first port of a machine.
UNREACHABLE = [
    "redis://127.0.0.1:1/0",
    "rediss://127.0.0.1:1/0",
    "postgresql://bright@127.0.0.1:1/bright",
]
COMMANDS = {
    "dump": ["store", "dump", "--database", "{}"],
    "copy from": ["store", "copy", "{}", "{here}/new.db"],
    "copy to": ["store", "copy", "{here}/old.db", "{}"],
    "migrate": ["migrate", "--json", "--database", "{}"],
    "check": ["migrate", "--check", "--database", "{}"],
    "list": ["binding", "list", "--json", "--database", "{}"],
    "create": ["binding", "create", "--account", "1", "--database", "{}"],
    "revoke": ["binding", "revoke", "bnd_1", "--database", "{}"],
}


async def told(
    capsys: pytest.CaptureFixture[str], command: str, database: object, here: Path
) -> tuple[int, str]:
    """The exit status and the last line of a command's words; there is no output."""
    arguments = [each.format(database, here=here) for each in COMMANDS[command]]
    status = await asyncio.to_thread(main, arguments)
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    assert SECRET not in said.err
    return status, said.err.splitlines()[-1]


@pytest.mark.parametrize("database", UNREACHABLE)
@pytest.mark.parametrize("command", COMMANDS)
async def test_a_server_that_is_not_reached_is_named(
    command: str,
    database: str,
    tmp_path: Path,
    clock: ManualClock,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if command == "copy to":
        old = Settings(database=tmp_path / "old.db")
        async with backends.opened(old, clock):
            pass

    status, words = await told(capsys, command, database, tmp_path)

    assert status == 2
    assert words.startswith("bright: the store could not ")
    assert "127.0.0.1" in words
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        # With `migrate` an empty database of PostgreSQL gets its tables.
        ("redis", "check"),
        *(
            (kind, command)
            for kind in ("redis", "postgresql")
            for command in ("dump", "list", "revoke", "copy from")
        ),
    ],
)
async def test_looking_at_an_empty_database_of_a_server_makes_none(
    kind: str,
    command: str,
    places: Places,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A slip in the address would else go unseen, and a store be where none was."""
    settings = places(kind)

    status, words = await told(capsys, command, settings.database, tmp_path)

    assert status == 2
    assert f"no database at {settings.database}" in words
    if kind == "redis":
        with pytest.raises(StoreMissing):
            await backends.schema_state(settings)
    else:
        assert (await backends.schema_state(settings)).version == 0


@pytest.mark.parametrize("given", ["wrong", None])
@pytest.mark.parametrize("command", ["dump", "migrate", "create", "copy from"])
async def test_a_password_that_does_not_open_is_in_no_words(
    command: str,
    given: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Valkey(tmp_path / "valkey", ValkeyOptions(password=SECRET)) as server:
        if given is not None:
            monkeypatch.setenv("BRIGHT_DATABASE_PASSWORD", f"{given}-{SECRET}")
        database = f"redis://127.0.0.1:{server.port}/0"
        status, words = await told(capsys, command, database, tmp_path)

    assert status == 2
    assert "refused user or password" in words
    assert "BRIGHT_DATABASE_PASSWORD_FILE" in words


@pytest.fixture(scope="module")
def guarded() -> Iterator[PostgresqlServer]:
    """A server that wants a password."""
    with PostgresqlServer(password=SECRET) as server:
        yield server


# What was given, and what is said of it.
REFUSED = {
    "wrong password": "password authentication failed for user",
    "wrong password in a file": "password authentication failed for user",
    "no password": "no password supplied",
    "no such user": "password authentication failed for user",
}


@pytest.mark.parametrize("given", REFUSED)
@pytest.mark.parametrize("command", COMMANDS)
async def test_credentials_that_postgresql_refuses_are_in_no_words(
    command: str,
    given: str,
    guarded: PostgresqlServer,
    tmp_path: Path,
    clock: ManualClock,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = guarded.create_database()
    wrong = f"wrong-{SECRET}"
    if given == "no such user":
        database = database.replace("//bright@", "//stranger@")
    if given == "wrong password in a file":
        file = tmp_path / "database.secret"
        file.write_text(f"{wrong}\n")
        monkeypatch.setenv("BRIGHT_DATABASE_PASSWORD_FILE", str(file))
    elif given != "no password":
        monkeypatch.setenv("BRIGHT_DATABASE_PASSWORD", wrong)
    if command == "copy to":
        async with backends.opened(Settings(database=tmp_path / "old.db"), clock):
            pass

    status, words = await told(capsys, command, database, tmp_path)

    assert status == 2
    assert REFUSED[given] in words
    assert database in words
    assert "BRIGHT_DATABASE_PASSWORD_FILE" in words


async def test_a_server_that_postgresql_refuses_ends_and_says_why(
    guarded: PostgresqlServer, tmp_path: Path
) -> None:
    """The writer is a process of its own: neither says the password, nor its file's."""
    file = tmp_path / "database.secret"
    file.write_text(f"wrong-{SECRET}\n")
    serve = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bright_server", "serve", "--port=0", "--database"),
        guarded.create_database(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "BRIGHT_DATABASE_PASSWORD_FILE": str(file)},
    )
    async with asyncio.timeout(DEADLINE_SECONDS):
        out, words = await serve.communicate()

    assert serve.returncode == 2
    assert b"password authentication failed" in words
    assert b"BRIGHT_DATABASE_PASSWORD_FILE" in words
    assert b"Traceback" not in words
    assert SECRET.encode() not in out + words


async def test_each_side_of_a_copy_has_its_own_password(
    tmp_path: Path,
    places: Places,
    clock: ManualClock,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = places("sqlite")
    await fill(source, clock)
    files = {side: tmp_path / f"{side}.secret" for side in ("one", "two")}
    for side, file in files.items():
        file.write_text(f"{side}-{SECRET}\n")
    with (
        Valkey(tmp_path / "1", ValkeyOptions(password=f"one-{SECRET}")) as one,
        Valkey(tmp_path / "2", ValkeyOptions(password=f"two-{SECRET}")) as two,
    ):
        where = [f"redis://127.0.0.1:{each.port}/0" for each in (one, two)]
        to_one = [str(source.database), where[0], f"--to-password-file={files['one']}"]
        to_two = [
            *where,
            f"--from-password-file={files['one']}",
            f"--to-password-file={files['two']}",
        ]
        for sides in (to_one, to_two):
            status = await asyncio.to_thread(main, ["store", "copy", "--json", *sides])
            said = capsys.readouterr()
            assert status == 0, said.err
            assert SECRET not in said.out + said.err

    facts = json.loads(said.out)
    assert (facts["from"], facts["to"]) == tuple(where)
    assert facts["keepsPlaces"]
