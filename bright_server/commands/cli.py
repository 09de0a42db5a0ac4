"""`bright command send|profile|sync`, `bright pages`: asks a running server.

Of a command: exit status 0 when it is done, 1 for every other outcome, 2 when nothing
was asked. Of the pages: 0 when no page is in trouble, 1 when one is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from bright_server.commands.client import order, read_pages
from bright_server.credentials import read_credential
from bright_server.errors import ConfigurationError
from bright_server.settings import Settings, service_url
from bright_server.wire.text import compact_json, shown, unstorable_path

# argparse has no public name for what add_subparsers() returns.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001
ArgumentsOf: TypeAlias = Callable[[argparse.Namespace], dict[str, object]]

_DEADLINE_SECONDS = 30.0


def add_command(subparsers: Subparsers) -> None:
    """Add `bright command`."""
    parser = subparsers.add_parser("command", help="ask a connected page for something")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    send = actions.add_parser(
        "send", help="send a message, once; the account has to allow it"
    )
    send.add_argument("--text", help="what to send; without it, standard input is read")
    profile = actions.add_parser("profile", help="observe the contact's profile")
    sync = actions.add_parser("sync", help="read a conversation's history again")
    sync.add_argument(
        "--rebuild",
        action="store_true",
        help="first forget what the extension has recorded of it",
    )
    _finish(send, "message.send", _message)
    _finish(profile, "profile.snapshot", _scope)
    _finish(sync, "conversation.sync", _conversation)


def _finish(
    parser: argparse.ArgumentParser, name: str, arguments_of: ArgumentsOf
) -> None:
    is_sync = name == "conversation.sync"
    parser.add_argument("--account", required=True, help="the channel account's id")
    parser.add_argument(
        "--conversation",
        required=not is_sync,
        help="the conversation's id"
        + ("; without it, the one that the page's route names" if is_sync else ""),
    )
    parser.add_argument(
        "--deadline",
        type=float,
        default=_DEADLINE_SECONDS,
        metavar="SECONDS",
        help="after which it is not begun any more (default %(default)g)",
    )
    _add_server(parser)
    parser.set_defaults(run=_run, command_name=name, arguments_of=arguments_of)


def add_pages(subparsers: Subparsers) -> None:
    """Add `bright pages`."""
    parser = subparsers.add_parser(
        "pages", help="show the pages that are open, and what is wrong with each"
    )
    _add_server(parser)
    parser.set_defaults(run=_show_pages)


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server",
        metavar="URL",
        help="the running server (default: BRIGHT_HOST and BRIGHT_PORT); the"
        " credential comes from BRIGHT_OPERATOR_CREDENTIAL_FILE, never from here",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(parsed: argparse.Namespace) -> int:
    settings = Settings()
    credential = _credential(settings)
    if not 0.001 <= parsed.deadline <= settings.max_command_seconds:
        most = settings.max_command_seconds
        raise ConfigurationError(f"--deadline takes up to {most} seconds")
    arguments: dict[str, object] = parsed.arguments_of(parsed)
    if (path := unstorable_path(arguments)) is not None:
        raise ConfigurationError(f"{path} is no valid text: it can be sent nowhere")
    told = order(
        _address(parsed, settings),
        credential,
        parsed.command_name,
        arguments,
        round(parsed.deadline * 1000),
    )
    facts = {
        "commandId": told.command_id,
        "outcome": told.outcome,
        "reason": told.reason,
    }
    because = "" if told.reason is None else f": {told.reason}"
    print(compact_json(facts) if parsed.json else shown(f"{told.outcome}{because}"))
    return 0 if told.outcome == "done" else 1


def _show_pages(parsed: argparse.Namespace) -> int:
    settings = Settings()
    told = read_pages(_address(parsed, settings), _credential(settings))
    pages: list[dict[str, Any]] = told["pages"]
    if parsed.json:
        print(compact_json(told))
    else:
        for page in pages:
            codes = ", ".join(each["code"] for each in page["troubles"]) or "well"
            account = page["channelAccountId"] or "account unknown"
            line = f"{account}  {codes}  {page['deviceId']}  {page['pageId']}"
            print(shown(line))
        if told["total"] > len(pages):
            print(f"and {told['total'] - len(pages)} more")
    return 1 if any(page["troubles"] for page in pages) else 0


def _credential(settings: Settings) -> str:
    credential = read_credential(
        "BRIGHT_OPERATOR_CREDENTIAL",
        settings.operator_credential,
        settings.operator_credential_file,
    )
    if credential is None:
        raise ConfigurationError(
            "set BRIGHT_OPERATOR_CREDENTIAL_FILE, here and where `bright serve` runs"
        )
    return credential


def _address(parsed: argparse.Namespace, settings: Settings) -> str:
    try:
        return service_url(parsed.server or _own_address(settings))
    except ValueError as error:
        raise ConfigurationError(f"--server cannot be used: {error}") from error


def _own_address(settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def _scope(parsed: argparse.Namespace) -> dict[str, object]:
    return {
        "channelAccountId": parsed.account,
        "conversationId": parsed.conversation,
    }


def _message(parsed: argparse.Namespace) -> dict[str, object]:
    try:
        text = sys.stdin.read() if parsed.text is None else parsed.text
    except UnicodeDecodeError:  # it quotes the text: not even as a cause
        raise ConfigurationError("standard input is no valid text") from None
    return {**_scope(parsed), "text": text}


def _conversation(parsed: argparse.Namespace) -> dict[str, object]:
    return {**_scope(parsed), "rebuild": parsed.rebuild}
