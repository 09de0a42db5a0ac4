"""What the commands share: options, settings, and words beside the output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Final, TypeAlias

from bright_server.database_address import (
    DatabaseAddress,
    SqliteFile,
    database_address,
)
from bright_server.errors import ConfigurationError, StoreMissing
from bright_server.settings import Settings
from bright_server.wire.text import shown

# argparse has no public name for what add_subparsers() returns.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001
Run: TypeAlias = Callable[[argparse.Namespace], int]

SETTING_OPTIONS: Final = ("database", "host", "port", "authority", "conformance_echo")
"""The settings that are options of `bright serve`, too."""


def add_database(parser: argparse.ArgumentParser) -> None:
    """Add `--database`."""
    parser.add_argument(
        "--database",
        type=address,
        metavar="ADDRESS",
        help="where the database is: the path of a file, postgresql://USER@HOST/NAME,"
        f" redis://HOST, rediss://HOST or memory: ({source('database')}); a password"
        " comes from BRIGHT_DATABASE_PASSWORD_FILE, never from here",
    )


def address(text: str) -> DatabaseAddress:
    """Return the address in an argument.

    Raises:
        ArgumentTypeError: it is none; the text is not in the words.
    """
    try:
        return database_address(text)
    except ValueError as error:  # argparse's own words for it would quote the text
        raise argparse.ArgumentTypeError(str(error)) from None


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def source(name: str) -> str:
    """Say where an option comes from when it is not given."""
    return f"BRIGHT_{name.upper()}; default {Settings.model_fields[name].default}"


def settings_of(parsed: argparse.Namespace) -> Settings:
    """Return the settings of the environment and of the options, which win."""
    given = {
        name: value
        for name in SETTING_OPTIONS
        if (value := getattr(parsed, name, None)) is not None
    }
    return refuse_folder(Settings(**given))


def settings_of_existing(parsed: argparse.Namespace) -> Settings:
    """Return the settings, whose database is there as far as a file can tell.

    Raises:
        StoreMissing: it is not.
    """
    settings = settings_of(parsed)
    refuse_missing(settings.database)
    return settings


def refuse_folder(settings: Settings) -> Settings:
    """Return the settings, unless the database's path is a folder's.

    Raises:
        ConfigurationError: it is.
    """
    database = settings.database
    if isinstance(database, SqliteFile) and database.path.is_dir():
        raise ConfigurationError(
            f"{database} is no database, it is a folder: give the path of a file with"
            " --database (or BRIGHT_DATABASE)"
        )
    return settings


def refuse_missing(database: DatabaseAddress) -> None:
    """Refuse a file that is not there: opening it would make it.

    Raises:
        StoreMissing: it is not there.
    """
    if isinstance(database, SqliteFile) and not database.path.is_file():
        raise StoreMissing(database.path)


def note(words: str) -> None:
    """Say what a person should know, apart from what was asked for."""
    print(f"bright: {shown(words)}", file=sys.stderr)
