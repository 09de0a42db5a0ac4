"""`bright store` and `bright migrate`: what an operator does with a whole database."""

from __future__ import annotations

import argparse
import asyncio

from bright_server import backends
from bright_server.cli.options import (
    Subparsers,
    add_database,
    settings_of_existing,
)
from bright_server.wire.text import compact_json


def add_store(subparsers: Subparsers) -> None:
    """Add `bright store`."""
    parser = subparsers.add_parser("store", help="look into a store")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    dumping = actions.add_parser("dump", help="print every record as a line of JSON")
    add_database(dumping)
    dumping.set_defaults(run=_dump)


def _dump(parsed: argparse.Namespace) -> int:
    async def printed() -> None:
        async for record in backends.dump(settings):
            print(compact_json(record))

    settings = settings_of_existing(parsed)
    asyncio.run(printed())
    return 0
