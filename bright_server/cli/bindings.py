"""`bright binding`: who may connect, for which accounts."""

from __future__ import annotations

import argparse
import asyncio

from bright_server import backends
from bright_server.authorization.contract import Binding
from bright_server.authorization.embedded import IssuedBinding, issue_binding
from bright_server.cli.options import (
    Subparsers,
    add_database,
    add_json,
    note,
    settings_of,
    settings_of_existing,
)
from bright_server.clock import SystemClock
from bright_server.errors import ConfigurationError
from bright_server.messages import BindingId
from bright_server.wire.codec import is_identifier
from bright_server.wire.text import compact_json, shown, unstorable_path


def add_binding(subparsers: Subparsers) -> None:
    """Add `bright binding`."""
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
    create.set_defaults(run=_create)
    listing = actions.add_parser("list", help="show all bindings, without tokens")
    listing.set_defaults(run=_list)
    revoke = actions.add_parser("revoke", help="end a binding, at once and for good")
    revoke.add_argument("binding_id", metavar="BINDING_ID")
    revoke.set_defaults(run=_revoke)
    for action in (create, listing, revoke):
        add_database(action)
        add_json(action)


def _create(parsed: argparse.Namespace) -> int:
    async def create() -> IssuedBinding:
        clock = SystemClock()
        async with backends.bindings_opened(settings, clock) as bindings:
            return await issue_binding(
                bindings, parsed.account, parsed.label, clock.now_ms()
            )

    _check_texts(parsed)
    settings = settings_of(parsed)
    made = backends.make_room(settings)
    issued = asyncio.run(create())
    if made:
        note(f"made a new database at {settings.database}")
    if settings.authority is not None:
        note("warning: with BRIGHT_AUTHORITY the server asks there, not for bindings")
    for account in parsed.account:
        if not (account.isascii() and account.isdigit()):
            note(f"warning: the account {account!a} is not digits, as accounts are")
    facts = _facts(issued.binding)
    if parsed.json:
        print(compact_json({**facts, "token": issued.token}))
    else:
        accounts = shown(", ".join(parsed.account))
        print(f"binding {issued.binding.binding_id} for {accounts}")
        print(f"token   {issued.token}   (shown this once)")
    return 0


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


def _list(parsed: argparse.Namespace) -> int:
    async def read() -> list[Binding]:
        async with backends.bindings_opened(
            settings, SystemClock(), make=False
        ) as bindings:
            return await bindings.all()

    settings = settings_of_existing(parsed)
    found = asyncio.run(read())
    if parsed.json:
        print(compact_json([_facts(binding) for binding in found]))
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


def _revoke(parsed: argparse.Namespace) -> int:
    async def revoke() -> Binding | None:
        clock = SystemClock()
        async with backends.bindings_opened(settings, clock, make=False) as bindings:
            return await bindings.revoke(BindingId(parsed.binding_id), clock.now_ms())

    settings = settings_of_existing(parsed)
    binding = asyncio.run(revoke())
    if binding is None:
        raise ConfigurationError(
            f"there is no binding {parsed.binding_id}: `bright binding list` shows all"
        )
    facts = _facts(binding)
    print(compact_json(facts) if parsed.json else f"revoked {binding.binding_id}")
    return 0


def _facts(binding: Binding) -> dict[str, object]:
    return {
        "bindingId": binding.binding_id,
        "label": binding.label,
        "accounts": list(binding.accounts),
        "authorizationVersion": binding.authorization_version,
        "createdAtMs": binding.created_at_ms,
        "revokedAtMs": binding.revoked_at_ms,
    }
