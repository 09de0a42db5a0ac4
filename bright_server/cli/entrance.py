"""The command line: which commands there are, and how one ends.

Further commands are found through the entry-point group `bright.commands`: a function
that gets the subparsers, adds its own, and sets `run` to what takes the parsed
arguments and returns the exit status. Exit status 0 only when the thing asked for
holds; 2 when it was refused.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points, version
from typing import Final

from pydantic import ValidationError
from pydantic_settings import SettingsError

from bright_server.cli.bindings import add_binding
from bright_server.cli.migrating import add_migrate
from bright_server.cli.options import SETTING_OPTIONS, Run, Subparsers, note
from bright_server.cli.serving import add_serve
from bright_server.cli.stores import add_store
from bright_server.commands.cli import add_command, add_pages
from bright_server.errors import BrightError, ConfigurationError
from bright_server.wire.contract import contract_text

_BUILT_IN: Final = frozenset(
    {"serve", "binding", "command", "pages", "store", "migrate", "schema"}
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parsed = _parser(given).parse_args(given)
    run: Run = parsed.run
    try:
        status = _status(run, parsed)
        # Here, and not as the process ends: there nobody could help any more.
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has had enough
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def _status(run: Run, parsed: argparse.Namespace) -> int:
    try:
        return run(parsed)
    except (BrightError, ValidationError, SettingsError) as error:
        note(_in_words(error))
        return 2


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bright", description="Durable sync of seller chats."
    )
    parser.add_argument(
        "--version", action="version", version=f"bright {version('bright-sync')}"
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    add_serve(subparsers)
    add_binding(subparsers)
    add_command(subparsers)
    add_pages(subparsers)
    add_store(subparsers)
    add_migrate(subparsers)
    _add_schema(subparsers)
    # What others add may be slow to load: only for a command that is none of these, and
    # for the help.
    if not (_BUILT_IN | {"--version"}).intersection(given[:1]):
        _add_others(subparsers)
    return parser


def _add_schema(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("schema", help="print the contract of the wire")
    parser.add_argument(
        "--format",
        choices=("json-schema", "asyncapi"),
        default="json-schema",
        help="a JSON Schema of all frames, or an AsyncAPI document that also tells who"
        " sends which (default %(default)s)",
    )
    parser.set_defaults(run=_print_schema)


def _add_others(subparsers: Subparsers) -> None:
    for entry in entry_points(group="bright.commands"):
        if entry.name in _BUILT_IN:
            continue
        try:
            command = entry.load()
        except ImportError as error:
            # An extra is not installed: the command says so when it is asked for.
            # It takes whatever stands behind it, options too.
            parser = subparsers.add_parser(
                entry.name,
                help=f"not available: {error}",
                prefix_chars="\0",
                add_help=False,
            )
            parser.add_argument("arguments", nargs="*")
            parser.set_defaults(run=_missing(entry.name, str(error)))
        else:
            command(subparsers)


def _missing(name: str, reason: str) -> Run:
    def run(_: argparse.Namespace) -> int:
        raise ConfigurationError(
            f"`bright {name}` needs the extra `harness`:"
            f" pip install 'bright-sync[harness]' ({reason})"
        )

    return run


def _print_schema(parsed: argparse.Namespace) -> int:
    print(contract_text(parsed.format), end="")
    return 0


def _in_words(error: BrightError | ValidationError | SettingsError) -> str:
    if isinstance(error, BrightError):
        return str(error)
    if isinstance(error, SettingsError):
        return f"a setting of the environment is not JSON: {error}"
    first = error.errors(include_url=False, include_input=False)[0]
    name = "_".join(str(part) for part in first["loc"])
    option = f" (--{name.replace('_', '-')})" if name in SETTING_OPTIONS else ""
    return f"the setting BRIGHT_{name.upper()}{option} cannot be used: {first['msg']}"
