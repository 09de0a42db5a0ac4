"""`bright migrate`: the steps of a database's schema.

Exit status 0 when no step is due any more, 1 when `--check` finds some.
"""

from __future__ import annotations

import argparse
import asyncio

from bright_server import backends
from bright_server.cli.options import (
    Subparsers,
    add_database,
    add_json,
    settings_of_existing,
)
from bright_server.clock import SystemClock
from bright_server.commit.schema_steps import SchemaState
from bright_server.wire.text import compact_json


def add_migrate(subparsers: Subparsers) -> None:
    """Add `bright migrate`."""
    parser = subparsers.add_parser(
        "migrate",
        help="make the steps that a database's schema is behind; `bright serve` makes"
        " them by itself, too",
    )
    add_database(parser)
    parser.add_argument(
        "--check",
        action="store_true",
        help="make none; exit status 1 when some are due",
    )
    add_json(parser)
    parser.set_defaults(run=_migrate)


def _migrate(parsed: argparse.Namespace) -> int:
    settings = settings_of_existing(parsed)
    before = asyncio.run(backends.schema_state(settings))
    after = before
    if before.due and not parsed.check:
        # Not below a server of an older Bright.
        with backends.held(settings):
            after = asyncio.run(backends.step_forward(settings, SystemClock()))
    if parsed.json:
        print(
            compact_json({"database": str(settings.database), **_facts(before, after)})
        )
    else:
        _say(before, after)
    return 1 if after.due else 0


def _facts(before: SchemaState, after: SchemaState) -> dict[str, object]:
    return {
        "from": before.version,
        "to": after.version,
        "steps": [
            {
                "version": step.version,
                "name": step.name,
                "made": step.version <= after.version,
            }
            for step in before.due
        ],
    }


def _say(before: SchemaState, after: SchemaState) -> None:
    for step in before.due:
        what = "made" if step.version <= after.version else "due "
        print(f"{what}  {step.name}")
    if before.version == after.version:
        what = "is not the newest" if after.due else "nothing to do"
        print(f"schema {after.version}: {what}")
    else:
        print(f"schema {before.version} is {after.version} now")
