"""One setting says where the database is, and never holds a secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bright_server.cli import main
from bright_server.database_address import (
    DatabaseAddress,
    Host,
    InMemory,
    PostgresqlServer,
    RedisServer,
    SqliteFile,
    database_address,
)
from bright_server.errors import ConfigurationError
from bright_server.settings import Settings

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("var/bright.db", SqliteFile(Path("var/bright.db"))),
        ("C:bright.db", SqliteFile(Path("C:bright.db"))),
        ("memory:", InMemory()),
        ("postgresql://h/db", PostgresqlServer((Host("h", 5432),), "db")),
        (
            "postgres://u%40x@h1:1,h2/db?sslmode=verify-full&sslrootcert=/ca.pem",
            PostgresqlServer(
                (Host("h1", 1), Host("h2", 5432)),
                "db",
                "u@x",
                (("sslmode", "verify-full"), ("sslrootcert", "/ca.pem")),
            ),
        ),
        (
            "postgresql:///db?host=/run/postgresql",
            PostgresqlServer((), "db", None, (("host", "/run/postgresql"),)),
        ),
        ("redis://h", RedisServer((Host("h", 6379),))),
        (
            "rediss://u@[::1]:7000/3?sslrootcert=/ca.pem",
            RedisServer(
                (Host("::1", 7000),), 3, "u", True, (("sslrootcert", "/ca.pem"),)
            ),
        ),
    ],
)
def test_an_address_is_read_and_shown_as_what_it_is(
    text: str, address: DatabaseAddress
) -> None:
    assert database_address(text) == address
    assert database_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mysql://h/db",
        "sqlite:///a.db",
        "postgresql://h",
        "postgresql:///db",
        "postgresql://h/a/b",
        "postgresql://h:0/db",
        "postgresql://h:99999/db",
        "postgresql://h h/db",
        "postgresql://h/db?sslmode=a&sslmode=b",
        "redis://",
        "redis://h/one",
        "redis://h?sslcert=/c.pem",
        "redis://h/2147483648",
        "redis:h",
        "Redis:/h/0",
        " redis://h",
        "postgresql:/h/db",
        "jdbc:postgresql://h/db",
        "MEMORY:",
        "memory:x",
        ":memory:",
        "file:bright.db",
        "sqlite:bright.db",
        "dbname=bright",
        "host=h user=u",
    ],
)
def test_what_is_no_address_is_refused_with_what_one_is(text: str) -> None:
    with pytest.raises(ValueError, match=r"give |twice"):
        database_address(text)


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://u:{SECRET}@h/db",
        f"postgresql://u:{SECRET}/x@h/db",
        f"postgresql://u:{SECRET}?x@h/db",
        f"postgresql://u:1/{SECRET}@h",
        f"postgresql://u@h/db?password={SECRET}",
        f"postgresql://u@h/db?sslpassword={SECRET}",
        f"redis://:{SECRET}@h/0",
        f"rediss://u:{SECRET}@h",
        f"mysql://u:{SECRET}@h/db",
        f"redis:{SECRET}@h",
        f"postgresql:/u:{SECRET}@h/db",
        f" postgresql://u:{SECRET}@h/db",
        f"jdbc:postgresql://u:{SECRET}@h/db",
        f"u:{SECRET}@h/db",
        f"host=h dbname=x password={SECRET}",
        f"PASSWORD = {SECRET}",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValidationError) as refused:
        Settings.model_validate({"database": text})
    assert SECRET not in str(refused.value)

    with pytest.raises(SystemExit) as ended:
        main(["store", "dump", f"--database={text}"])
    assert ended.value.code == 2
    monkeypatch.setenv("BRIGHT_DATABASE", text)
    assert main(["store", "dump"]) == 2
    words = capsys.readouterr().err
    assert "BRIGHT_DATABASE" in words
    assert SECRET not in words


def test_where_a_password_belongs_is_said() -> None:
    with pytest.raises(ValueError, match="BRIGHT_DATABASE_PASSWORD_FILE"):
        database_address(f"redis://:{SECRET}@h/0")


@given(st.text(max_size=60))
def test_whatever_is_written_behind_a_scheme_is_an_address_or_a_value_error(
    text: str,
) -> None:
    for scheme in ("postgresql", "redis", "rediss"):
        try:
            address = database_address(f"{scheme}://{text}")
        except ValueError:
            continue
        assert database_address(str(address)) == address


def test_the_environment_takes_an_address_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BRIGHT_DATABASE", "redis://h:7000/2")

    assert Settings().database == RedisServer((Host("h", 7000),), 2)


def test_settings_go_to_the_writers_process_and_come_back_whole() -> None:
    settings = Settings.model_validate({"database": "postgresql://u@h:1/db"})

    assert Settings(**settings.model_dump()).database == settings.database


def test_the_password_is_shown_in_no_dump_of_the_settings() -> None:
    settings = Settings.model_validate(
        {"database": "postgresql://u@h/db", "database_password": SECRET}
    )

    assert SECRET not in repr(settings)
    assert SECRET not in str(settings.model_dump())


def test_what_needs_a_file_says_so() -> None:
    settings = Settings.model_validate({"database": "redis://h"})

    with pytest.raises(ConfigurationError, match="redis://h:6379/0 is no file"):
        _ = settings.database_path


@pytest.mark.parametrize("command", ["store dump", "binding list", "migrate"])
def test_a_database_in_memory_is_no_other_process_s(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--database=memory:"]) == 2
    assert "ends with it" in capsys.readouterr().err
