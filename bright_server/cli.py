"""The command line: `serve`, `binding`, `command`, `pages`, `store`, `schema`, others'.

Further commands are found through the entry-point group `bright.commands`: a function
that gets the subparsers, adds its own, and sets `run` to what takes the parsed
arguments and returns the exit status. Exit status 0 only when the thing asked for
holds; 2 when it was refused.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import TypeAlias

from pydantic import ValidationError
from pydantic_settings import SettingsError

from bright_server import app
from bright_server.authorization.contract import Binding
from bright_server.authorization.embedded import IssuedBinding, issue_binding
from bright_server.clock import SystemClock
from bright_server.collector import ease_garbage_collection
from bright_server.commands.cli import add_command, add_pages
from bright_server.database_address import DatabaseAddress, database_address
from bright_server.errors import BrightError, ConfigurationError, StoreMissing
from bright_server.messages import BindingId
from bright_server.settings import Settings
from bright_server.stores.sqlite.connection import make_folder, refuse_foreign
from bright_server.stores.sqlite.dump import dump
from bright_server.stores.sqlite.store import bindings_opened
from bright_server.wire.codec import is_identifier
from bright_server.wire.contract import contract_text
from bright_server.wire.text import compact_json, shown, unstorable_path

# argparse has no public name for what add_subparsers() returns.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001
Run: TypeAlias = Callable[[argparse.Namespace], int]

_BUILT_IN = frozenset({"serve", "binding", "command", "pages", "store", "schema"})
# The settings that are options of `bright serve`, too.
_OPTIONS = ("database", "host", "port", "authority", "conformance_echo")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parsed = _parser(given).parse_args(given)
    run: Run = parsed.run
    try:
        return run(parsed)
    except (BrightError, ValidationError, SettingsError) as error:
        _note(_in_words(error))
        return 2
    except BrokenPipeError:  # whoever read the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bright", description="Durable sync of seller chats."
    )
    parser.add_argument(
        "--version", action="version", version=f"bright {version('bright-sync')}"
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_serve(subparsers)
    _add_binding(subparsers)
    add_command(subparsers)
    add_pages(subparsers)
    _add_store(subparsers)
    _add_schema(subparsers)
    # What others add may be slow to load: only for a command that is none of these, and
    # for the help.
    if not (_BUILT_IN | {"--version"}).intersection(given[:1]):
        _add_others(subparsers)
    return parser


def _add_serve(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("serve", help="run the server")
    _add_database(parser)
    parser.add_argument("--host", help=f"address to listen on ({_source('host')})")
    parser.add_argument(
        "--port", type=int, help=f"port, 0 for any free one ({_source('port')})"
    )
    parser.add_argument(
        "--authority",
        metavar="URL",
        help="address of the authorization service (BRIGHT_AUTHORITY; default: the"
        " bindings in the database); its credential comes from"
        " BRIGHT_AUTHORITY_CREDENTIAL_FILE, never from here",
    )
    parser.add_argument(
        "--conformance-echo",
        action="store_true",
        default=None,
        help="also serve /v1/conformance-echo, for a WebSocket conformance suite"
        " (BRIGHT_CONFORMANCE_ECHO; default off)",
    )
    _add_json(parser)
    parser.set_defaults(run=_serve)


def _add_binding(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "binding", help="who may connect, for which accounts"
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    create = actions.add_parser(
        "create", help="make a binding; its token is shown once"
    )
    create.add_argument(
        "--account",
        action="append",
        required=True,
        help="a channel account's id; may be repeated",
    )
    create.add_argument("--label", default="", help="a name for your own use")
    create.set_defaults(run=_create_binding)
    listing = actions.add_parser("list", help="show all bindings, without tokens")
    listing.set_defaults(run=_list_bindings)
    revoke = actions.add_parser("revoke", help="end a binding, at once and for good")
    revoke.add_argument("binding_id", metavar="BINDING_ID")
    revoke.set_defaults(run=_revoke_binding)
    for action in (create, listing, revoke):
        _add_database(action)
        _add_json(action)


def _add_store(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("store", help="look into the store")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    dumping = actions.add_parser("dump", help="print every record as a line of JSON")
    _add_database(dumping)
    dumping.set_defaults(run=_dump_store)


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


def _add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--database",
        type=_address,
        metavar="ADDRESS",
        help="where the database is: the path of a file, postgresql://…, redis://…,"
        f" rediss://… or memory: ({_source('database')})",
    )


def _source(name: str) -> str:
    """Say where an option comes from when it is not given."""
    return f"BRIGHT_{name.upper()}; default {Settings.model_fields[name].default}"


def _address(text: str) -> DatabaseAddress:
    try:
        return database_address(text)
    except ValueError as error:  # argparse's own words for it would quote the text
        raise argparse.ArgumentTypeError(str(error)) from None


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _settings(parsed: argparse.Namespace) -> Settings:
    given = {
        name: value
        for name in _OPTIONS
        if (value := getattr(parsed, name, None)) is not None
    }
    return Settings(**given)


def _database(settings: Settings) -> Path:
    database = settings.database_path
    if database.is_dir():
        raise ConfigurationError(
            f"{database} is no database, it is a folder: give the path of a"
            " file with --database (or BRIGHT_DATABASE)"
        )
    return database


def _existing_database(parsed: argparse.Namespace) -> Path:
    database = _database(_settings(parsed))
    if not database.is_file():
        raise StoreMissing(database)
    return database


def _serve(parsed: argparse.Namespace) -> int:
    settings = _settings(parsed)
    refuse_foreign(_database(settings))
    logging.basicConfig(
        stream=sys.stderr,
        level=settings.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    # It would log whole request lines, and a careless client may put a secret there.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)

    def listening(host: str, port: int) -> None:
        facts = {
            "event": "listening",
            "host": host,
            "port": port,
            "pid": os.getpid(),
            "database": str(settings.database),
        }
        words = (
            f"Bright listens on ws://{host}:{port}/v1/extension ({settings.database})"
        )
        print(compact_json(facts) if parsed.json else words, flush=True)

    ease_garbage_collection()
    asyncio.run(app.serve(settings, listening))
    return 0


def _create_binding(parsed: argparse.Namespace) -> int:
    async def create() -> IssuedBinding:
        clock = SystemClock()
        async with bindings_opened(database, clock) as bindings:
            return await issue_binding(
                bindings, parsed.account, parsed.label, clock.now_ms()
            )

    _check_texts(parsed)
    settings = _settings(parsed)
    database = _database(settings)
    is_new = not database.exists()
    make_folder(database)
    issued = asyncio.run(create())
    if is_new:
        _note(f"made a new database at {database}")
    if settings.authority is not None:
        _note("warning: with BRIGHT_AUTHORITY the server asks there, not for bindings")
    for account in parsed.account:
        if not (account.isascii() and account.isdigit()):
            _note(f"warning: the account {account!a} is not digits, as accounts are")
    facts = _binding_facts(issued.binding)
    if parsed.json:
        print(compact_json({**facts, "token": issued.token}))
    else:
        accounts = shown(", ".join(parsed.account))
        print(f"binding {issued.binding.binding_id} for {accounts}")
        print(f"token   {issued.token}   (shown this once)")
    return 0


def _note(words: str) -> None:
    """Say what a person should know, apart from what was asked for."""
    print(f"bright: {shown(words)}", file=sys.stderr)


def _check_texts(parsed: argparse.Namespace) -> None:
    """Refuse accounts that no frame can name, and what cannot be stored."""
    for account in parsed.account:
        if not is_identifier(account):
            raise ConfigurationError(
                f"--account {account!a} is no account's id: give 1 to 256"
                " characters of valid text"
            )
    if unstorable_path({"label": parsed.label}) is not None:
        raise ConfigurationError("--label is no valid text: give another one")


def _list_bindings(parsed: argparse.Namespace) -> int:
    async def read() -> list[Binding]:
        async with bindings_opened(database, SystemClock()) as bindings:
            return await bindings.all()

    database = _existing_database(parsed)
    found = asyncio.run(read())
    if parsed.json:
        print(compact_json([_binding_facts(binding) for binding in found]))
        return 0
    for binding in found:
        state = "valid" if binding.revoked_at_ms is None else "revoked"
        accounts = ", ".join(binding.accounts)
        version = f"version {binding.authorization_version}"
        line = (
            f"{binding.binding_id}  {state:7}  {version}  {accounts}  {binding.label}"
        )
        print(shown(line))
    return 0


def _revoke_binding(parsed: argparse.Namespace) -> int:
    async def revoke() -> Binding | None:
        clock = SystemClock()
        async with bindings_opened(database, clock) as bindings:
            return await bindings.revoke(BindingId(parsed.binding_id), clock.now_ms())

    database = _existing_database(parsed)
    binding = asyncio.run(revoke())
    if binding is None:
        raise ConfigurationError(
            f"there is no binding {parsed.binding_id}: `bright binding list` shows all"
        )
    facts = _binding_facts(binding)
    print(compact_json(facts) if parsed.json else f"revoked {binding.binding_id}")
    return 0


def _binding_facts(binding: Binding) -> dict[str, object]:
    return {
        "bindingId": binding.binding_id,
        "label": binding.label,
        "accounts": list(binding.accounts),
        "authorizationVersion": binding.authorization_version,
        "createdAtMs": binding.created_at_ms,
        "revokedAtMs": binding.revoked_at_ms,
    }


def _dump_store(parsed: argparse.Namespace) -> int:
    for record in dump(_database(_settings(parsed))):
        print(compact_json(record))
    return 0


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
    option = f" (--{name.replace('_', '-')})" if name in _OPTIONS else ""
    return f"the setting BRIGHT_{name.upper()}{option} cannot be used: {first['msg']}"
