"""`bright store`: look into a whole store, or copy it."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import aclosing

from bright_server import backends
from bright_server.cli.copying import add_copy
from bright_server.cli.options import (
    Subparsers,
    add_database,
    settings_of_existing,
)
from bright_server.wire.text import compact_json


def add_store(subparsers: Subparsers) -> None:
    """Add `bright store`."""
    parser = subparsers.add_parser("store", help="look into a store, or copy it")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    dumping = actions.add_parser("dump", help="print every record as a line of JSON")
    add_database(dumping)
    dumping.set_defaults(run=_dump)
    add_copy(actions)


def _dump(parsed: argparse.Namespace) -> int:
    async def printed() -> None:
        # Closed however it ends: whoever reads may have had enough.
        async with aclosing(backends.dump(settings)) as records:
            async for record in records:
                print(compact_json(record))

    settings = settings_of_existing(parsed)
    asyncio.run(printed())
    return 0
